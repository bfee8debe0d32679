/**
 * Field sets of creates, remembered by the outline of the object: the names in it, without its values. Controllers create objects of few
 * outlines over and over, and finding out anew who owns what was an eighth of the cost of a create.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import type { FieldSet } from "./field-set.ts";
import { isSystemMetadata } from "./system-fields.ts";
import {
  deducedType,
  type ListType,
  type MapType,
  memberType,
  shapeOf,
  type TypeSchema,
  typeOfMember,
} from "./type-schema.ts";

/** Outlines that are remembered, of all kinds and tenants together. */
export const outlinesMax = 1000;
/** Longer ones are not worth remembering. */
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
 * What `make` gives for an object of this outline, sorted and frozen; it is called once per outline. Undefined for an object whose fields are not worth
 * remembering.
 */
export function cachedFieldSet(
  object: JsonObject,
  wish: FieldSetRequest,
  make: () => FieldSet,
): FieldSet | undefined {
  const outline = objectOutline(object, wish.schema);
  if (outline === undefined || outline.length > outlineLengthMax) return undefined;
  const known = remembered.get(outline);
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
  remembered.set(outline, { schema, resetFields, unowned, fields });
  return fields;
}

/**
 * The names of an object, each with its length before it, so that no name can pass for two. Undefined when it is long, or has lists whose
 * items are owned one by one: what these are called depends on values.
 */
function objectOutline(object: JsonObject, type: TypeSchema): string | undefined {
  let outline = "";
  for (const name in object) {
    if (name === "apiVersion" || name === "kind") continue;
    const value = object[name] as JsonValue;
    const valueType = typeOfMember(type, name);
    const inside =
      name === "metadata" && isJsonObject(value)
        ? metadataOutline(value, valueType)
        : outlineOf(value, valueType);
    if (inside === undefined || outline.length > outlineLengthMax) return undefined;
    outline += `${name.length}:${name}${inside}`;
  }
  return outline;
}

function metadataOutline(metadata: JsonObject, type: TypeSchema): string | undefined {
  let outline = "(";
  for (const name in metadata) {
    if (isSystemMetadata(name)) continue;
    const inside = outlineOf(metadata[name] as JsonValue, typeOfMember(type, name));
    if (inside === undefined || outline.length > outlineLengthMax) return undefined;
    outline += `${name.length}:${name}${inside}`;
  }
  return `${outline})`;
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
  let outline = "";
  for (const name in value) {
    const inside = outlineOf(value[name] as JsonValue, memberType(type, name) ?? deducedType);
    if (inside === undefined || outline.length > outlineLengthMax) return undefined;
    outline += `${name.length}:${name}${inside}`;
  }
  return outline === "" ? leaf : `(${outline})`;
}

function listOutline(value: JsonValue, type: ListType): string | undefined {
  const isLeaf = type.relationship === "atomic" || !Array.isArray(value) || value.length === 0;
  return isLeaf ? leaf : undefined;
}

function frozen(fields: FieldSet): FieldSet {
  for (const element in fields) frozen(fields[element] as FieldSet);
  return Object.freeze(fields);
}
