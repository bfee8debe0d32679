/** The apply type of a shape: which parts are granular, and which are atomic. */
import {
  atomicType,
  booleanType,
  type FieldPath,
  type FieldSet,
  fieldElement,
  fieldSetOf,
  keyedListType,
  listType,
  mapType,
  numericType,
  objectType,
  scalarType,
  setType,
  stringType,
  structType,
  type TypeSchema,
  untypedType,
} from "../apply/index.ts";
import type { JsonValue } from "../json/index.ts";
import type { Field, MessageShape, ScalarType, Shape } from "./shape.ts";

const known = new WeakMap<MessageShape, TypeSchema>();

/** The type of a complete object of this shape; its metadata has the type of all objects. */
export function applyTypeOf(shape: MessageShape): TypeSchema {
  let type = known.get(shape);
  if (type === undefined) {
    type = objectType(fieldTypes(shape, (name) => name !== "metadata"));
    known.set(shape, type);
  }
  return type;
}

function fieldTypes(
  shape: MessageShape,
  isWanted: (name: string) => boolean,
): { [name: string]: TypeSchema } {
  const types: { [name: string]: TypeSchema } = {};
  for (const field of shape.fields.values())
    if (isWanted(field.name)) types[field.name] = typeOfField(field);
  return types;
}

function typeOfField({ shape, isGranular }: Field): TypeSchema {
  return isGranular === true && shape.kind === "message"
    ? structType(fieldTypes(shape, () => true))
    : typeOf(shape);
}

function typeOf(shape: Shape): TypeSchema {
  switch (shape.kind) {
    case "message":
      return shape.isAtomic
        ? atomicType(structType(fieldTypes(shape, () => true)))
        : structType(fieldTypes(shape, () => true));
    case "map":
      return shape.isAtomic === true
        ? atomicType(mapType(typeOf(shape.values)))
        : mapType(typeOf(shape.values));
    case "list":
      return listTypeOf(shape);
    case "scalar":
      return scalarTypeOf(shape.scalar);
  }
}

function listTypeOf({ items, list }: Extract<Shape, { kind: "list" }>): TypeSchema {
  switch (list.type) {
    case "atomic":
      return listType(typeOf(items));
    case "set":
      return setType(typeOf(items));
    case "map":
      return keyedListType(list.keys ?? [], keyedItemType(items, list.keys ?? []));
  }
}

/** An item whose keys have the values that they have in Go when they are left out. */
function keyedItemType(items: Shape, keys: readonly string[]): TypeSchema {
  const type = typeOf(items);
  if (type.map === undefined || items.kind !== "message") return type;
  const fields = new Map(type.map.fields);
  for (const key of keys) {
    const field = fields.get(key);
    const zero = zeroKey(items, key);
    if (field !== undefined && zero !== undefined) fields.set(key, { ...field, default: zero });
  }
  return { ...type, map: { ...type.map, fields } };
}

function zeroKey({ required, fields }: MessageShape, key: string): JsonValue | undefined {
  // Ports and references to objects by name have defaults of their own.
  if (key === "protocol") return "TCP";
  if (key !== "name" && !required.includes(key)) return undefined;
  const shape = fields.get(key)?.shape;
  if (shape?.kind !== "scalar") return undefined;
  return shape.scalar === "int32" || shape.scalar === "int64" ? 0 : "";
}

function scalarTypeOf(scalar: ScalarType): TypeSchema {
  switch (scalar) {
    case "string":
    case "bytes":
    case "time":
    case "microTime":
      return stringType;
    case "bool":
      return booleanType;
    case "int32":
    case "int64":
    case "double":
      return numericType;
    case "quantity":
    case "intOrString":
      return scalarType;
    case "fields":
    case "raw":
    case "json":
      return untypedType;
  }
}

const unowned = new WeakMap<MessageShape, FieldSet | "none">();

/**
 * Go has these structs by value, so that they exist in every object, empty or not: no manager gets
 * ownership of them by setting them.
 */
export function unownedFieldsOf(shape: MessageShape): FieldSet | undefined {
  let fields = unowned.get(shape);
  if (fields === undefined) {
    const paths = alwaysThere(shape);
    fields = paths.length === 0 ? "none" : fieldSetOf(...paths);
    unowned.set(shape, fields);
  }
  return fields === "none" ? undefined : fields;
}

/** Of hand-made shapes, whose Go types are unknown, the structs of the first level count. */
function alwaysThere(shape: MessageShape, isFirstLevel = true): FieldPath[] {
  const paths: FieldPath[] = [];
  for (const field of shape.fields.values()) {
    if (isRequiredList(shape, field)) paths.push([fieldElement(field.name)]);
    if (!isStruct(field) || !(field.isValue ?? isFirstLevel)) continue;
    // Of an object's own metadata, only members are owned anyway.
    if (isFirstLevel && field.name === "metadata") continue;
    const element = fieldElement(field.name);
    paths.push([element], ...alwaysThere(field.shape, false).map((path) => [element, ...path]));
  }
  return paths;
}

/** Go writes an empty list of this field as null, so that it exists, too. */
function isRequiredList({ required }: MessageShape, { name, shape }: Field): boolean {
  return shape.kind === "list" && shape.list.type === "map" && required.includes(name);
}

function isStruct(field: Field): field is Field & { readonly shape: MessageShape } {
  return field.shape.kind === "message" && !field.shape.isAtomic;
}
