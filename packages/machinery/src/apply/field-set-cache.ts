/**
 * Caches the field sets of creates by the outline of the object: its names and the keys of its list
 * items, without its values. Controllers create objects of few outlines again and again, and
 * computing ownership was an eighth of the cost of a create.
 */
import { isJsonObject, type JsonObject, type JsonValue, stringifyJson } from "../json/index.ts";
import type { FieldSet } from "./field-set.ts";
import { itemElement } from "./list-item.ts";
import { systemMetadata } from "./system-fields.ts";
import {
  deducedType,
  type ListType,
  type MapType,
  memberType,
  shapeOf,
  type TypeSchema,
  typeOfMember,
} from "./type-schema.ts";

/** Cached outlines, of all kinds and tenants together. */
export const outlinesMax = 1000;
/** Longer outlines are not worth caching. A Deployment with two containers has half of it. */
export const outlineLengthMax = 4000;
/** All cached outlines together; their field sets are some times as large. */
export const outlineCharactersMax = 1_000_000;

export interface FieldSetRequest {
  readonly schema: TypeSchema;
  readonly resetFields?: FieldSet | undefined;
  readonly unowned?: FieldSet | undefined;
}

interface Remembered extends FieldSetRequest {
  /** Frozen: it becomes a part of every object of this outline. */
  readonly fields: FieldSet;
}

const remembered = new Map<string, Remembered>();
const texts = new WeakMap<object, string>();
/** The JSON texts of the field sets that `cachedFieldSet` returned; no other object has one. */
export const cachedFieldSetTexts: Pick<WeakMap<object, string>, "get"> = texts;
let rememberedCharacters = 0;

/**
 * The result of `make` for an object of this outline, sorted and frozen; `make` is called once per
 * outline. Undefined for an object whose fields are not cached.
 */
export function cachedFieldSet(
  object: JsonObject,
  wish: FieldSetRequest,
  make: () => FieldSet,
): FieldSet | undefined {
  const node = objectOutline(object, wish.schema);
  if (node === undefined || node.length > outlineLengthMax) return undefined;
  const known = remembered.get(node);
  if (known !== undefined) {
    const { schema, resetFields, unowned } = known;
    const isOfThis =
      schema === wish.schema && resetFields === wish.resetFields && unowned === wish.unowned;
    if (isOfThis) return known.fields;
  }
  const fields = frozen(make());
  texts.set(fields, stringifyJson(fields as JsonObject));
  if (known === undefined) makeRoomFor(node);
  const { schema, resetFields, unowned } = wish;
  remembered.set(node, { schema, resetFields, unowned, fields });
  return fields;
}

function makeRoomFor(node: string): void {
  rememberedCharacters += node.length;
  for (const oldest of remembered.keys()) {
    if (remembered.size < outlinesMax && rememberedCharacters <= outlineCharactersMax) break;
    remembered.delete(oldest);
    rememberedCharacters -= oldest.length;
  }
}

/**
 * The names of an object and the path elements of its list items, each with its length as a prefix,
 * so that different ones never have the same outline. Undefined when the outline is long.
 */
function objectOutline(object: JsonObject, type: TypeSchema): string | undefined {
  let node = "";
  for (const name in object) {
    if (name === "apiVersion" || name === "kind") continue;
    const value = object[name] as JsonValue;
    const valueType = typeOfMember(type, name);
    const inside =
      name === "metadata" && isJsonObject(value)
        ? metadataOutline(value, valueType)
        : outlineOf(value, valueType);
    if (inside === undefined || node.length > outlineLengthMax) return undefined;
    node += `${name.length}:${name}${inside}`;
  }
  return node;
}

function metadataOutline(metadata: JsonObject, type: TypeSchema): string | undefined {
  let node = "(";
  for (const name in metadata) {
    if (systemMetadata.has(name)) continue;
    const inside = outlineOf(metadata[name] as JsonValue, typeOfMember(type, name));
    if (inside === undefined || node.length > outlineLengthMax) return undefined;
    node += `${name.length}:${name}${inside}`;
  }
  return `${node})`;
}

const leaf = ".";

function outlineOf(value: JsonValue, type: TypeSchema): string | undefined {
  switch (shapeOf(type, value)) {
    case "map":
      return mapOutline(value, type.map as MapType);
    case "list":
      return listOutline(value, type.list as ListType);
    default:
      return leaf;
  }
}

function mapOutline(value: JsonValue, type: MapType): string | undefined {
  if (type.relationship === "atomic" || !isJsonObject(value)) return leaf;
  let node = "";
  for (const name in value) {
    const inside = outlineOf(value[name] as JsonValue, memberType(type, name) ?? deducedType);
    if (inside === undefined || node.length > outlineLengthMax) return undefined;
    node += `${name.length}:${name}${inside}`;
  }
  return node === "" ? leaf : `(${node})`;
}

function listOutline(value: JsonValue, type: ListType): string | undefined {
  if (type.relationship === "atomic" || !Array.isArray(value) || value.length === 0) return leaf;
  let node = "";
  for (const item of value as readonly JsonValue[]) {
    const { element } = itemElement(type, item);
    // A list with such an item is one value.
    if (element === undefined) return leaf;
    const inside = outlineOf(item, type.item);
    if (inside === undefined || node.length > outlineLengthMax) return undefined;
    node += `${element.length}:${element}${inside}`;
  }
  return `[${node}]`;
}

function frozen(fields: FieldSet): FieldSet {
  for (const element in fields) frozen(fields[element] as FieldSet);
  return Object.freeze(fields);
}
