/**
 * Caches the field sets of creates by the outline of the object: its names, without its values.
 * Controllers create objects of few outlines again and again, and computing ownership was an eighth
 * of the cost of a create.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import type { FieldSet } from "./field-set.ts";
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
/** Longer outlines are not worth caching. */
export const outlineLengthMax = 1000;

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
  if (remembered.size >= outlinesMax && known === undefined) {
    for (const oldest of remembered.keys()) {
      remembered.delete(oldest);
      break;
    }
  }
  const { schema, resetFields, unowned } = wish;
  remembered.set(node, { schema, resetFields, unowned, fields });
  return fields;
}

/**
 * The names of an object, each with its length as a prefix, so that different names never have the
 * same outline. Undefined when the outline is long, or the object has lists whose items are owned
 * individually: the items' path elements depend on values.
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
  const isLeaf = type.relationship === "atomic" || !Array.isArray(value) || value.length === 0;
  return isLeaf ? leaf : undefined;
}

function frozen(fields: FieldSet): FieldSet {
  for (const element in fields) frozen(fields[element] as FieldSet);
  return Object.freeze(fields);
}
