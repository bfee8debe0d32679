/**
 * Declarations of data: what the embedder (a structural schema, a policy) says about a variable.
 *
 * A declaration holds the type for the checker, how raw JSON becomes a value of it, and how large
 * it can get, which is what static cost estimates are made of. Bounds that are not given follow
 * from the largest request, as in Kubernetes.
 */
import { isJsonObject } from "../../json/index.ts";
import { REQUEST_BYTES_MAX } from "../limits.ts";
import { decodeBase64 } from "../values/base64.ts";
import {
  type Adapter,
  adaptDynamic,
  JsonKeyedListView,
  JsonListView,
  JsonMapView,
  JsonObjectView,
  type ObjectField,
  toInt,
} from "../values/json-view.ts";
import { mapElementKey, setElementKey } from "../values/keyed-list.ts";
import { chargeSteps, chargeText } from "../values/step-counter.ts";
import { parseDate, parseDuration, parseTimestamp } from "../values/time.ts";
import { CelError, CelOptional, type CelResult } from "../values/value.ts";
import { escapeProperty, isReservedWord } from "./identifier.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  optionalOf,
  STRING,
  structType,
  TIMESTAMP,
  type Type,
} from "./type.ts";

export interface DeclaredType {
  readonly type: Type;
  readonly adapt: Adapter;
  /**
   * Most characters of a string, elements of a list or entries of a map; 0 of what has none;
   * undefined if unknown.
   */
  readonly elementsMax: number | undefined;
  /** Fewest bytes that a value takes in JSON. */
  readonly serializedBytesMin: number;
  /** Of a list's items or a map's values. */
  readonly element?: DeclaredType;
  /** Fields are computed when they are first asked for, which may take long. */
  readonly isLazy?: boolean;
  /** Of an object, by identifier. */
  readonly fields?: ReadonlyMap<string, DeclaredField>;
}

export interface DeclaredField {
  readonly property: string;
  readonly declared: DeclaredType;
}

/** A value that is null where the schema does not allow it. */
const NULL_REFUSED = "invalid data, got null for schema with nullable=false";

export const declaredBool: DeclaredType = simple(BOOL, adaptBool, 0, 4);
export const declaredInt: DeclaredType = simple(INT, adaptInt, 0, 1);
export const declaredDouble: DeclaredType = simple(DOUBLE, adaptDouble, 0, 1);
/** JSON of any shape, checked at evaluation only. */
export const declaredDynamic: DeclaredType = simple(DYN, adaptDynamic, undefined, 1);

/** A CelLazyObject. */
export const declaredLazy: DeclaredType = { ...declaredDynamic, isLazy: true };

/** Bounds of a text. `enumValues` bound it when `maxLength` does not. */
export interface TextBounds {
  readonly maxLength?: number;
  readonly enumValues?: readonly unknown[];
}

const TEXT_LENGTH_MAX = REQUEST_BYTES_MAX - 2;

export function declaredString({ maxLength, enumValues }: TextBounds = {}): DeclaredType {
  let elementsMax = TEXT_LENGTH_MAX;
  // maxLength counts code points, requests are measured in bytes: up to four for one.
  if (maxLength !== undefined) elementsMax = Math.max(0, maxLength) * 4;
  else if (enumValues !== undefined && enumValues.length > 0) {
    elementsMax = Math.max(0, ...enumValues.map((value) => utf8Length(value)));
  }
  return simple(STRING, adaptString, elementsMax, 2);
}

function utf8Length(value: unknown): number {
  return typeof value === "string" ? new TextEncoder().encode(value).length : 0;
}

/** `format: byte`: base64 text that is bytes in CEL. */
export function declaredBytes({ maxLength }: TextBounds = {}): DeclaredType {
  const elementsMax = maxLength === undefined ? TEXT_LENGTH_MAX : Math.max(0, maxLength);
  return simple(BYTES, adaptBytes, elementsMax, 2);
}

/** `format: duration` */
export const declaredDuration: DeclaredType = simple(DURATION, adaptDuration, 32, 3);
/** `format: date` */
export const declaredDate: DeclaredType = simple(TIMESTAMP, adaptDate, 12, 12);
/** `format: date-time` */
export const declaredDateTime: DeclaredType = simple(TIMESTAMP, adaptDateTime, 32, 21);

/** `x-kubernetes-int-or-string` */
export function declaredIntOrString({ maxLength }: TextBounds = {}): DeclaredType {
  const elementsMax = maxLength === undefined ? TEXT_LENGTH_MAX : Math.max(0, maxLength) * 4;
  return simple(DYN, adaptIntOrString, elementsMax, 1);
}

/** The same data, where null is a value. */
export function nullable(declared: DeclaredType): DeclaredType {
  const { adapt } = declared;
  return { ...declared, adapt: (raw) => (raw === null ? null : adapt(raw)) };
}

export interface ListOptions {
  readonly maxItems?: number;
  /** `x-kubernetes-list-type`; sets and maps are equal in any order. */
  readonly listType?: "atomic" | "set" | "map";
  /** `x-kubernetes-list-map-keys` */
  readonly mapKeys?: readonly string[];
}

export function declaredList(element: DeclaredType, options: ListOptions = {}): DeclaredType {
  const { maxItems, listType = "atomic", mapKeys = [] } = options;
  const fitting = Math.floor((REQUEST_BYTES_MAX - 2) / (element.serializedBytesMin + 1));
  const keyOf =
    listType === "set"
      ? setElementKey
      : mapElementKey(mapKeys.map((key) => escapeProperty(key) ?? key));
  const adaptElement = refusingNull(element.adapt);
  const adapt: Adapter = (raw) => {
    if (!Array.isArray(raw)) {
      return new CelError(
        "invalid data, expected an array for the provided schema with type=array",
      );
    }
    if (listType === "atomic") return new JsonListView(raw, adaptElement);
    return new JsonKeyedListView(raw, adaptElement, keyOf);
  };
  return {
    type: listOf(element.type),
    adapt: refusingNull(adapt),
    elementsMax: maxItems === undefined ? fitting : Math.max(0, maxItems),
    serializedBytesMin: 2,
    element,
  };
}

/** An object with `additionalProperties`. */
export function declaredMap(
  value: DeclaredType,
  options: { maxProperties?: number } = {},
): DeclaredType {
  const { maxProperties } = options;
  const fitting = Math.floor((REQUEST_BYTES_MAX - 2) / (value.serializedBytesMin + 6));
  const adaptValue = refusingNull(value.adapt);
  return {
    type: mapOf(STRING, value.type),
    adapt: refusingNull((raw) =>
      isJsonObject(raw) ? new JsonMapView(raw, adaptValue) : notAnObject(),
    ),
    elementsMax: maxProperties === undefined ? fitting : Math.max(0, maxProperties),
    serializedBytesMin: 2,
    element: value,
  };
}

export interface PropertyDeclaration {
  readonly declared: DeclaredType;
  /** Required and without a default: then it is always there and counts in the smallest size. */
  readonly alwaysPresent?: boolean;
}

/**
 * An object with declared `properties`. `name` identifies the type in messages and in comparisons,
 * so it is unique within an environment. Properties without an identifier stay invisible to
 * expressions.
 */
export function declaredObject(
  name: string,
  properties: Iterable<readonly [string, PropertyDeclaration]>,
): DeclaredType {
  const fields = new Map<string, DeclaredField & ObjectField>();
  let serializedBytesMin = 2;
  for (const [property, { declared, alwaysPresent = false }] of properties) {
    const identifier = escapeProperty(property);
    if (identifier !== undefined) {
      const field = { property, declared, adapt: refusingNull(declared.adapt) };
      fields.set(identifier, field);
      // After a dot, most reserved words may be written as they are.
      if (isReservedWord(property)) fields.set(property, field);
    }
    if (alwaysPresent) serializedBytesMin += property.length + declared.serializedBytesMin + 4;
  }
  return {
    type: structType(name, (field) => fields.get(field)?.declared.type),
    adapt: refusingNull((raw) =>
      isJsonObject(raw) ? new JsonObjectView(raw, fields) : notAnObject(),
    ),
    elementsMax: 0,
    serializedBytesMin,
    fields,
  };
}

/**
 * A value that may be missing, such as `oldSelf` with `optionalOldSelf`; null stands for nothing.
 */
export function declaredOptional(content: DeclaredType): DeclaredType {
  const adapt: Adapter = (raw) => {
    if (raw === null) return CelOptional.none;
    const value = content.adapt(raw);
    return value instanceof CelError ? value : CelOptional.of(value);
  };
  return simple(optionalOf(content.type), adapt, content.elementsMax, content.serializedBytesMin);
}

/** A variable whose values are CEL's already, such as an authorizer. */
export function declaredValue(type: Type): DeclaredType {
  return simple(type, adaptDynamic, undefined, 1);
}

function notAnObject(): CelError {
  return new CelError("invalid data, expected a map for the provided schema with type=object");
}

function refusingNull(adapt: Adapter): Adapter {
  return (raw) => (raw === null ? refuseNull(adapt) : adapt(raw));
}

/** A nullable declaration turns null into null; all others into something else. */
function refuseNull(adapt: Adapter) {
  return adapt(null) === null ? null : new CelError(NULL_REFUSED);
}

function simple(
  type: Type,
  adapt: Adapter,
  elementsMax: number | undefined,
  serializedBytesMin: number,
): DeclaredType {
  return { type, adapt, elementsMax, serializedBytesMin };
}

// Scalars of JSON as values of their declared types.

function adaptBool(raw: unknown): CelResult {
  return typeof raw === "boolean" ? raw : unexpected("bool", raw);
}

function adaptInt(raw: unknown): CelResult {
  if (typeof raw === "number" && Number.isInteger(raw)) return toInt(raw);
  return typeof raw === "bigint" ? raw : unexpected("int", raw);
}

function adaptDouble(raw: unknown): CelResult {
  if (typeof raw === "number") return raw;
  return typeof raw === "bigint" ? Number(raw) : unexpected("float", raw);
}

function adaptString(raw: unknown): CelResult {
  return typeof raw === "string" ? raw : unexpected("string", raw);
}

function adaptBytes(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  // Decoded each time that an expression reads the field.
  chargeSteps(raw.length >> 1);
  return (
    decodeBase64(raw) ?? new CelError(`Invalid byte formatted string ${raw}: illegal base64 data`)
  );
}

function adaptDuration(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  chargeText(raw.length);
  return parseDuration(raw) ?? new CelError(`Invalid duration ${raw}`);
}

function adaptDate(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  chargeText(raw.length);
  return parseDate(raw) ?? new CelError(`Invalid date formatted string ${raw}`);
}

function adaptDateTime(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  chargeText(raw.length);
  return parseTimestamp(raw) ?? new CelError(`Invalid date-time formatted string ${raw}`);
}

function adaptIntOrString(raw: unknown): CelResult {
  if (typeof raw === "string") return raw;
  if (typeof raw === "number" && Number.isInteger(raw)) return toInt(raw);
  if (typeof raw === "bigint") return raw;
  return new CelError("invalid data, expected XIntOrString value to be either a string or integer");
}

function unexpected(wanted: string, raw: unknown): CelError {
  return new CelError(
    `invalid data, expected ${wanted}, got ${raw === null ? "null" : typeof raw}`,
  );
}
