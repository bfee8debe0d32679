/** Kubernetes' functions for resource quantities. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { fixedEstimate, traversalEstimate } from "../cost/call-estimate.ts";
import { firstArgumentCost } from "../cost/sizes.ts";
import { BOOL, DOUBLE, INT, STRING, structType } from "../types/type.ts";
import { parseQuantity, Quantity } from "../values/quantity.ts";
import { CelError, CelObject, type CelResult } from "../values/value.ts";

export const QUANTITY_TYPE = structType("kubernetes.Quantity");

export class CelQuantity extends CelObject {
  readonly typeName = QUANTITY_TYPE.name;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  equals(other: CelObject): boolean {
    return other instanceof CelQuantity && this.quantity.compare(other.quantity) === 0;
  }
}

const Q = QUANTITY_TYPE;
const parsing = { cost: firstArgumentCost, estimate: traversalEstimate() };
const flat = { cost: 1, estimate: fixedEstimate(1) };

export const quantityLibrary: Library = {
  types: [Q],
  functions: [
    fn("quantity", global("string_to_quantity", [STRING], Q, toQuantity, parsing)),
    fn(
      "isQuantity",
      global(
        "is_quantity_string",
        [STRING],
        BOOL,
        (text: string) => typeof parseQuantity(text) !== "string",
        parsing,
      ),
    ),
    // A global function upstream, though documented as a member.
    fn(
      "sign",
      global("quantity_sign", [Q], INT, ({ quantity }: CelQuantity) => quantity.sign(), flat),
    ),
    fn(
      "isGreaterThan",
      member(
        "quantity_is_greater_than",
        [Q, Q],
        BOOL,
        (a: CelQuantity, b: CelQuantity) => a.quantity.compare(b.quantity) > 0,
        flat,
      ),
    ),
    fn(
      "isLessThan",
      member(
        "quantity_is_less_than",
        [Q, Q],
        BOOL,
        (a: CelQuantity, b: CelQuantity) => a.quantity.compare(b.quantity) < 0,
        flat,
      ),
    ),
    fn(
      "compareTo",
      member(
        "quantity_compare_to",
        [Q, Q],
        INT,
        (a: CelQuantity, b: CelQuantity) => BigInt(a.quantity.compare(b.quantity)),
        flat,
      ),
    ),
    fn(
      "asApproximateFloat",
      member(
        "quantity_get_float",
        [Q],
        DOUBLE,
        ({ quantity }: CelQuantity) => quantity.asFloat(),
        flat,
      ),
    ),
    fn("asInteger", member("quantity_get_int", [Q], INT, asInteger, flat)),
    fn(
      "isInteger",
      member(
        "quantity_is_integer",
        [Q],
        BOOL,
        ({ quantity }: CelQuantity) => quantity.asInt() !== undefined,
        flat,
      ),
    ),
    fn(
      "add",
      member(
        "quantity_add",
        [Q, Q],
        Q,
        (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.quantity.add(b.quantity)),
        flat,
      ),
      member(
        "quantity_add_int",
        [Q, INT],
        Q,
        (a: CelQuantity, b: bigint) => new CelQuantity(a.quantity.add(Quantity.ofInt(b))),
        flat,
      ),
    ),
    fn(
      "sub",
      member(
        "quantity_sub",
        [Q, Q],
        Q,
        (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.quantity.add(b.quantity.negate())),
        flat,
      ),
      member(
        "quantity_sub_int",
        [Q, INT],
        Q,
        (a: CelQuantity, b: bigint) => new CelQuantity(a.quantity.add(Quantity.ofInt(-b))),
        flat,
      ),
    ),
  ],
};

function toQuantity(text: string): CelResult {
  const quantity = parseQuantity(text);
  return typeof quantity === "string" ? new CelError(quantity) : new CelQuantity(quantity);
}

function asInteger({ quantity }: CelQuantity): CelResult {
  return quantity.asInt() ?? new CelError("cannot convert value to integer");
}
