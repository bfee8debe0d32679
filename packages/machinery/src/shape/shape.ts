/**
 * Shapes: what a built-in kind looks like. Those of Kubernetes' own kinds are generated
 * (`shape-table.ts`); others are written in a compact notation.
 *
 *     const configMap = message("io.k8s.api.core.v1.ConfigMap", {
 *       metadata: [1, objectMeta],
 *       data: [2, map(string)],
 *     });
 *
 * A field is its protobuf number and its type. From this one table come decoding with type errors
 * and unknown fields, the protobuf codec, patch merge keys, list types for apply, and the OpenAPI
 * documents.
 */
export type Shape =
  | ScalarShape
  | { readonly kind: "list"; readonly items: Shape; readonly list: ListTraits }
  | MapShape
  | MessageShape;

export interface MapShape {
  readonly kind: "map";
  readonly values: Shape;
  /** The value has one owner, and apply replaces it completely. */
  readonly isAtomic?: boolean;
}

export interface ScalarShape {
  readonly kind: "scalar";
  readonly scalar: ScalarType;
  /**
   * Zero means absent: a Go field that is no pointer and has `omitempty`. Protobuf clients send
   * such zeros, JSON never contains them.
   */
  readonly isZeroless?: boolean;
  /** The protobuf form of a value that JSON has as one of several. */
  readonly union?: WireUnion;
}

/**
 * A message of which one member is set: a schema, several, words, or yes and no. Left out is what
 * it cannot be.
 */
export interface WireUnion {
  readonly shape: MessageShape;
  readonly one: number;
  readonly many?: number;
  readonly words?: number;
  readonly flag?: number;
}

/**
 * - `bytes`: base64 in JSON. `time`: RFC 3339 seconds; `microTime`: six fractional digits.
 * - `quantity`, `intOrString`: their own messages in protobuf, a string (or number) in JSON.
 * - `fields`: FieldsV1, JSON in both. `raw`: any JSON object. `json`: any JSON value.
 */
export type ScalarType =
  | "string"
  | "bool"
  | "int32"
  | "int64"
  | "double"
  | "bytes"
  | "time"
  | "microTime"
  | "quantity"
  | "intOrString"
  | "fields"
  | "raw"
  | "json";

export interface ListTraits {
  /** The list type for apply and strategic merge. */
  readonly type: "atomic" | "set" | "map";
  readonly keys?: readonly string[];
  /**
   * Strategic merge patch replaces the list although apply merges it: the type has no patch
   * strategy upstream.
   */
  readonly isReplacedByPatch?: boolean;
  /** Strategic merge patch merges by this key although apply knows no key, or another. */
  readonly mergeKey?: string;
}

export interface MessageShape {
  readonly kind: "message";
  /** The OpenAPI definition name. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  readonly byNumber: ReadonlyMap<number, Field>;
  readonly description: string;
  /**
   * The members that a client must send, for documentation and for the validation of old kubectls.
   */
  readonly required: readonly string[];
  /**
   * Lists and maps that are written even when they are empty, the required ones among them. Others
   * are omitted then.
   */
  readonly keepsEmpty: ReadonlySet<string>;
  /** The object is atomic for apply: a manager that sets one member sets them all. */
  readonly isAtomic: boolean;
}

export interface Field {
  readonly name: string;
  readonly number: number;
  readonly shape: Shape;
  readonly description: string;
  /** A message of its own in protobuf, whose members JSON has in the outer object. */
  readonly isInlined?: boolean;
  /** A Go struct that is no pointer: every object has it. Unknown where shapes are hand-made. */
  readonly isValue?: boolean;
  /** Apply merges the members of this field although the message is atomic elsewhere. */
  readonly isGranular?: boolean;
}

export type FieldNotation = readonly [number: number, shape: Shape, description?: string];

export interface MessageTraits {
  readonly required?: readonly string[];
  readonly isAtomic?: boolean;
}

export function message(
  name: string,
  fields: Readonly<Record<string, FieldNotation>>,
  description = "",
  { required = [], isAtomic = false }: MessageTraits = {},
): MessageShape {
  const members = Object.entries(fields).map(
    ([fieldName, [number, shape, text]]): Field => ({
      name: fieldName,
      number,
      shape,
      description: text ?? "",
    }),
  );
  return {
    kind: "message",
    name,
    description,
    fields: new Map(members.map((field) => [field.name, field])),
    byNumber: new Map(members.map((field) => [field.number, field])),
    required,
    keepsEmpty: new Set(required),
    isAtomic,
  };
}

function scalar(type: ScalarType): ScalarShape {
  return { kind: "scalar", scalar: type };
}

export const string = scalar("string");
export const bool = scalar("bool");
export const int32 = scalar("int32");
export const int64 = scalar("int64");
export const double = scalar("double");
export const bytes = scalar("bytes");
export const time = scalar("time");
export const microTime = scalar("microTime");
export const quantity = scalar("quantity");
export const intOrString = scalar("intOrString");
export const fields = scalar("fields");
export const raw = scalar("raw");
export const json = scalar("json");

export function jsonUnion(union: WireUnion): ScalarShape {
  return { kind: "scalar", scalar: "json", union };
}

export function zeroless(shape: ScalarShape): ScalarShape {
  return { ...shape, isZeroless: true };
}

export function map(values: Shape): Shape {
  return { kind: "map", values };
}

/** A list that is replaced completely. */
export function list(items: Shape): Shape {
  return { kind: "list", items, list: { type: "atomic" } };
}

/** A list of scalars without repeats. */
export function set(items: Shape): Shape {
  return { kind: "list", items, list: { type: "set" } };
}

/** A list of objects with keys. */
export function listMap(items: Shape, ...keys: readonly string[]): Shape {
  return { kind: "list", items, list: { type: "map", keys } };
}
