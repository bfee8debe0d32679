/**
 * The embedder's JSON as CEL values, in place: a view adapts an element when it is asked for, by
 * the declared type, and copies nothing. Data that does not fit its type comes out as an error.
 *
 * Keys come from tenants, so presence is always an own property, never one of a prototype.
 */
import { escapeProperty } from "../types/identifier.ts";
import { equalValues } from "./compare.ts";
import { INT_MAX, INT_MIN } from "./int-ranges.ts";
import { type ElementKey, equalKeyed, type KeyedElements } from "./keyed-list.ts";
import { ownKeys } from "./object-keys.ts";
import type { StepCounter } from "./step-counter.ts";
import { CelError, CelList, CelMap, type CelResult, type CelValue } from "./value.ts";

/** Turns a piece of JSON into a value of one declared type. */
export type Adapter = (raw: unknown) => CelResult;

export type JsonObject = Readonly<Record<string, unknown>>;

/** JSON without a declared type: whole numbers are ints, as in Kubernetes' own decoding. */
export function adaptDynamic(raw: unknown): CelResult {
  switch (typeof raw) {
    case "string":
    case "boolean":
      return raw;
    case "number":
      return Number.isSafeInteger(raw) ? toInt(raw) : raw;
    case "bigint":
      return raw >= INT_MIN && raw <= INT_MAX ? raw : Number(raw);
    case "object":
      if (raw === null) return null;
      return adaptDynamicObject(raw);
    default:
      return new CelError(`unsupported conversion to ref.Val: (${typeof raw})`);
  }
}

function adaptDynamicObject(raw: object): CelResult {
  if (Array.isArray(raw)) return new JsonListView(raw, adaptDynamic);
  if (isCelObject(raw)) return raw;
  return new JsonMapView(raw as JsonObject, adaptDynamic);
}

/** Values that are CEL's already pass through, so that embedders may mix them into JSON. */
function isCelObject(raw: object): raw is Extract<CelValue, object> {
  const prototype = Object.getPrototypeOf(raw);
  return prototype !== Object.prototype && prototype !== null;
}

export class JsonListView extends CelList {
  readonly raw: readonly unknown[];
  readonly adapt: Adapter;

  constructor(raw: readonly unknown[], adapt: Adapter) {
    super();
    this.raw = raw;
    this.adapt = adapt;
  }

  get size(): number {
    return this.raw.length;
  }

  get(index: number): CelResult {
    return this.adapt(this.raw[index]);
  }
}

/**
 * A list with `x-kubernetes-list-type: set` or `map`: its elements have keys, and their order does
 * not matter.
 */
export class JsonKeyedListView extends JsonListView implements KeyedElements {
  readonly keyOf: ElementKey;

  constructor(raw: readonly unknown[], adapt: Adapter, keyOf: ElementKey) {
    super(raw, adapt);
    this.keyOf = keyOf;
  }

  equalTo(other: CelList, steps: StepCounter): boolean | CelError {
    return equalKeyed(this, other, steps);
  }
}

/** A JSON object with free keys and values of one type. */
export class JsonMapView extends CelMap {
  readonly raw: JsonObject;
  readonly adapt: Adapter;

  constructor(raw: JsonObject, adapt: Adapter) {
    super();
    this.raw = raw;
    this.adapt = adapt;
  }

  get size(): number {
    return ownKeys(this.raw).length;
  }

  find(key: CelValue): CelResult | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.raw, key)) return undefined;
    return this.adapt(this.raw[key]);
  }

  keys(): readonly string[] {
    return ownKeys(this.raw);
  }
}

export interface ObjectField {
  /** The property's name in JSON. */
  readonly property: string;
  readonly adapt: Adapter;
}

/** Declared fields by their identifier. */
export type ObjectFields = ReadonlyMap<string, ObjectField>;

/** A JSON object with declared properties; a null property is the same as an absent one. */
export class JsonObjectView extends CelMap {
  readonly raw: JsonObject;
  readonly fields: ObjectFields;

  constructor(raw: JsonObject, fields: ObjectFields) {
    super();
    this.raw = raw;
    this.fields = fields;
  }

  /** As in Kubernetes, undeclared properties count. */
  get size(): number {
    return ownKeys(this.raw).length;
  }

  find(key: CelValue): CelResult | undefined {
    const field = typeof key === "string" ? this.fields.get(key) : undefined;
    return field === undefined ? undefined : this.field(field);
  }

  field(field: ObjectField): CelResult | undefined {
    if (!Object.hasOwn(this.raw, field.property)) return undefined;
    const raw = this.raw[field.property];
    return raw === null || raw === undefined ? undefined : field.adapt(raw);
  }

  /** Undeclared properties count as well, though expressions cannot see them. */
  equalTo(other: CelMap, steps: StepCounter): boolean | CelError {
    const properties = ownKeys(this.raw);
    if (properties.length !== other.size) return false;
    steps.step(properties.length + 1);
    for (const property of properties) {
      const ours = this.#property(property);
      const theirs =
        other instanceof JsonObjectView ? other.#property(property) : other.find(property);
      if (ours instanceof CelError) return ours;
      if (theirs instanceof CelError) return theirs;
      if (ours === undefined || theirs === undefined) {
        if (ours !== theirs) return false;
        continue;
      }
      const equal = equalValues(ours, theirs, steps);
      if (equal !== true) return equal;
    }
    return true;
  }

  #property(property: string): CelResult | undefined {
    const field = this.fields.get(escapeProperty(property) ?? property);
    if (field !== undefined) return this.field(field);
    return Object.hasOwn(this.raw, property) ? adaptDynamic(this.raw[property]) : undefined;
  }

  keys(): readonly string[] {
    const keys: string[] = [];
    for (const property of ownKeys(this.raw)) {
      const identifier = escapeProperty(property);
      if (identifier !== undefined && this.fields.has(identifier)) keys.push(identifier);
    }
    return keys;
  }
}

const SMALLEST = -128;
const LARGEST = 1023;
/** Most integers are small, and a table look-up is cheaper than making a bigint. */
const TABLE: readonly bigint[] = Array.from({ length: LARGEST - SMALLEST + 1 }, (_, i) =>
  BigInt(i + SMALLEST),
);

/** An integer of JSON as a CEL int. */
export function toInt(integer: number): bigint {
  return TABLE[integer - SMALLEST] ?? BigInt(integer);
}
