/**
 * The type information of server-side apply: which values are leaves, how lists identify their
 * items, which names a map declares.
 *
 * A type allows up to three shapes. Most allow one; `deducedType` allows all, and the value
 * decides. Types may be recursive.
 */
import type { JsonValue } from "../json/index.ts";

export interface TypeSchema {
  readonly scalar?: ScalarKind;
  readonly list?: ListType;
  readonly map?: MapType;
}

export type ScalarKind = "string" | "numeric" | "boolean" | "untyped";

export interface ListType {
  /**
   * An atomic list has one owner; the items of other lists are owned individually, identified by
   * value or by keys.
   */
  readonly relationship: "atomic" | "set" | "keyed";
  /** The key fields of a keyed list, sorted by name. */
  readonly keys: readonly string[];
  readonly item: TypeSchema;
}

export interface MapType {
  readonly relationship: "granular" | "atomic";
  readonly fields: ReadonlyMap<string, StructField>;
  /** The type of members that `fields` does not declare; absent if there may be none. */
  readonly additional?: TypeSchema;
}

export interface StructField {
  readonly type: TypeSchema;
  /** The default of an absent key of a keyed list's item. */
  readonly default?: JsonValue;
}

export const stringType: TypeSchema = { scalar: "string" };
export const numericType: TypeSchema = { scalar: "numeric" };
export const booleanType: TypeSchema = { scalar: "boolean" };
/** Any scalar: int-or-string, quantities, timestamps. */
export const scalarType: TypeSchema = { scalar: "untyped" };

/** Any value, with one owner. */
export const untypedType: TypeSchema = recursive((type) => ({
  scalar: "untyped",
  list: { relationship: "atomic", keys: [], item: type },
  map: { relationship: "atomic", fields: new Map(), additional: type },
}));

/** Any value: maps are granular, lists are atomic. The type of objects without a schema. */
export const deducedType: TypeSchema = recursive((type) => ({
  scalar: "untyped",
  list: { relationship: "atomic", keys: [], item: untypedType },
  map: { relationship: "granular", fields: new Map(), additional: type },
}));

/** A map with declared fields and no others. */
export function structType(fields: {
  readonly [name: string]: TypeSchema | StructField;
}): TypeSchema {
  return {
    map: {
      relationship: "granular",
      fields: new Map(
        Object.entries(fields).map(([name, field]) => [
          name,
          "type" in field ? field : { type: field },
        ]),
      ),
    },
  };
}

/** A map with any names, each owned individually. */
export function mapType(value: TypeSchema): TypeSchema {
  return { map: { relationship: "granular", fields: new Map(), additional: value } };
}

/** The same map or struct, with one owner. */
export function atomicType(type: TypeSchema): TypeSchema {
  return type.map === undefined ? type : { ...type, map: { ...type.map, relationship: "atomic" } };
}

/** A list with one owner. */
export function listType(item: TypeSchema): TypeSchema {
  return { list: { relationship: "atomic", keys: [], item } };
}

export function setType(item: TypeSchema): TypeSchema {
  return { list: { relationship: "set", keys: [], item } };
}

export function keyedListType(keys: readonly string[], item: TypeSchema): TypeSchema {
  return { list: { relationship: "keyed", keys: keys.toSorted(), item } };
}

/** A type that is created with a reference to itself. */
export function recursive(make: (type: TypeSchema) => TypeSchema): TypeSchema {
  const type = {};
  return Object.assign(type, make(type));
}

/** The type of a member of a map, or undefined if the map must not have it. */
export function memberType(map: MapType, name: string): TypeSchema | undefined {
  return map.fields.get(name)?.type ?? map.additional;
}

/** The same for a value of any type; a value without type information is deduced. */
export function typeOfMember(type: TypeSchema, name: string): TypeSchema {
  return (type.map === undefined ? undefined : memberType(type.map, name)) ?? deducedType;
}

export type Shape = "map" | "scalar" | "list";

/** The shape of a value: its own if the type allows it, else the first one that the type allows. */
export function shapeOf(type: TypeSchema, value: JsonValue | undefined): Shape {
  if (Array.isArray(value)) {
    if (type.list !== undefined) return "list";
  } else if (typeof value === "object") {
    if (value !== null && type.map !== undefined) return "map";
  } else if (value !== undefined && type.scalar !== undefined) {
    return "scalar";
  }
  if (type.map !== undefined) return "map";
  return type.scalar !== undefined ? "scalar" : "list";
}
