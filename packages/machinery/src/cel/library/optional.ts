/** Optional values: `optional.of`, `value`, `orValue` and the syntax `a.?b`. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { Operator } from "../syntax/ast.ts";
import { optionalMacros } from "../syntax/binding-macros.ts";
import {
  BOOL,
  DYN,
  INT,
  listOf,
  mapOf,
  opaqueType,
  optionalOf,
  STRING,
  typeParam,
} from "../types/type.ts";
import { ArrayList, elementsOf } from "../values/collections.ts";
import { chargeSteps } from "../values/step-counter.ts";
import { CelDuration, CelTimestamp } from "../values/time.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelUint,
  type CelValue,
} from "../values/value.ts";

const K = typeParam("K");
const V = typeParam("V");
const OPTIONAL_V = optionalOf(V);
const LIST_V = listOf(V);
const MAP_KV = mapOf(K, V);
const LIST_OPTIONAL_V = listOf(OPTIONAL_V);

const NONE_DEREFERENCED = new CelError("optional.none() dereference");

export const optionalLibrary: Library = {
  optionalSyntax: true,
  macros: optionalMacros,
  types: [opaqueType("optional_type")],
  functions: [
    fn(
      "optional.of",
      global("optional_of", [V], OPTIONAL_V, (value: CelValue) => CelOptional.of(value)),
    ),
    fn(
      "optional.ofNonZeroValue",
      global("optional_ofNonZeroValue", [V], OPTIONAL_V, ofNonZeroValue),
    ),
    fn(
      "optional.none",
      global("optional_none", [], OPTIONAL_V, () => CelOptional.none),
    ),
    fn("value", member("optional_value", [OPTIONAL_V], V, contentOf)),
    fn(
      "hasValue",
      member("optional_hasValue", [OPTIONAL_V], BOOL, (o: CelOptional) => o.value !== undefined),
    ),
    // The planner implements these two, since they evaluate their argument only if needed.
    fn("or", member("optional_or_optional", [OPTIONAL_V, OPTIONAL_V], OPTIONAL_V)),
    fn("orValue", member("optional_orValue_value", [OPTIONAL_V, V], V)),
    fn(Operator.optSelect, global("select_optional_field", [DYN, STRING], OPTIONAL_V)),
    fn(
      Operator.optIndex,
      global("list_optindex_optional_int", [LIST_V, INT], OPTIONAL_V),
      global("optional_list_optindex_optional_int", [optionalOf(LIST_V), INT], OPTIONAL_V),
      global("map_optindex_optional_value", [MAP_KV, K], OPTIONAL_V),
      global("optional_map_optindex_optional_value", [optionalOf(MAP_KV), K], OPTIONAL_V),
    ),
    fn(
      Operator.index,
      global("optional_list_index_int", [optionalOf(LIST_V), INT], OPTIONAL_V),
      global("optional_map_index_value", [optionalOf(MAP_KV), K], OPTIONAL_V),
    ),
    fn(
      "first",
      member("list_first", [LIST_V], OPTIONAL_V, (list: CelList) => elementAt(list, 0)),
    ),
    fn(
      "last",
      member("list_last", [LIST_V], OPTIONAL_V, (list: CelList) => elementAt(list, list.size - 1)),
    ),
    fn("optional.unwrap", global("optional_unwrap", [LIST_OPTIONAL_V], LIST_V, unwrap)),
    fn("unwrapOpt", member("optional_unwrapOpt", [LIST_OPTIONAL_V], LIST_V, unwrap)),
  ],
};

function contentOf(optional: CelOptional): CelResult {
  return optional.value === undefined ? NONE_DEREFERENCED : optional.value;
}

function elementAt(list: CelList, index: number): CelResult {
  if (list.size === 0) return CelOptional.none;
  const value = list.get(index);
  return value instanceof CelError ? value : CelOptional.of(value);
}

function ofNonZeroValue(value: CelValue): CelResult {
  return isZero(value) ? CelOptional.none : CelOptional.of(value);
}

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === "") return true;
  if (value instanceof CelUint) return value.value === 0n;
  if (value instanceof CelDuration) return value.nanos === 0n;
  if (value instanceof CelTimestamp) return value.nanos === -62_135_596_800_000_000_000n;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  return value instanceof CelOptional && value.value === undefined;
}

function unwrap(list: CelList): CelResult {
  chargeSteps(list.size);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  const values: CelValue[] = [];
  for (const element of elements) {
    if (!(element instanceof CelOptional)) return new CelError("value is not optional");
    if (element.value !== undefined) values.push(element.value);
  }
  return new ArrayList(values);
}
