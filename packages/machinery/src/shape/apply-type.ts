/** What server-side apply needs to know of a shape: which parts are owned one by one, and which as a whole. */
import {
  atomicType,
  booleanType,
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
import type { MessageShape, ScalarType, Shape } from "./shape.ts";

const known = new WeakMap<MessageShape, TypeSchema>();

/** The type of a whole object of this shape; its metadata is typed as that of all objects. */
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
    if (isWanted(field.name)) types[field.name] = typeOf(field.shape);
  return types;
}

function typeOf(shape: Shape): TypeSchema {
  switch (shape.kind) {
    case "message":
      return shape.isAtomic
        ? atomicType(structType(fieldTypes(shape, () => true)))
        : structType(fieldTypes(shape, () => true));
    case "map":
      return mapType(typeOf(shape.values));
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
      return keyedListType(list.keys ?? [], typeOf(items));
  }
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
