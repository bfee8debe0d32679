/** From shapes to OpenAPI v3 component schemas. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { MessageShape, ScalarType, Shape } from "@kcp-ts/machinery/shape";

/** Adds the schema of a message, and of every message it refers to, under its definition name. */
export function addSchemas(shape: MessageShape, schemas: { [name: string]: JsonValue }): void {
  if (Object.hasOwn(schemas, shape.name)) return;
  const properties: { [name: string]: JsonValue } = {};
  schemas[shape.name] = { type: "object", ...described(shape.description), properties };
  for (const field of shape.fields.values()) {
    properties[field.name] = property(field.shape, field.description, schemas);
  }
}

function property(
  shape: Shape,
  description: string,
  schemas: { [name: string]: JsonValue },
): JsonObject {
  switch (shape.kind) {
    case "message":
      addSchemas(shape, schemas);
      return { ...described(description), default: {}, allOf: [{ $ref: reference(shape) }] };
    case "list":
      return {
        ...described(description),
        type: "array",
        items: item(shape.items, schemas),
        ...listExtensions(shape),
      };
    case "map":
      return {
        ...described(description),
        type: "object",
        additionalProperties: item(shape.values, schemas),
      };
    case "scalar":
      return { ...described(description), ...scalarSchema(shape.scalar) };
  }
}

function item(shape: Shape, schemas: { [name: string]: JsonValue }): JsonObject {
  const { default: _, ...schema } = property(shape, "", schemas);
  return shape.kind === "message" ? { ...schema, default: {} } : schema;
}

/** kubectl computes its patches from these; without them it would replace whole lists. */
function listExtensions({ items, list }: Extract<Shape, { kind: "list" }>): JsonObject {
  const type = { "x-kubernetes-list-type": list.type };
  if (list.type === "map") {
    const keys = list.keys ?? [];
    return {
      ...type,
      "x-kubernetes-list-map-keys": keys,
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": keys[0] ?? "",
    };
  }
  if (list.type === "set" && items.kind === "scalar")
    return { ...type, "x-kubernetes-patch-strategy": "merge" };
  return type;
}

function scalarSchema(scalar: ScalarType): JsonObject {
  switch (scalar) {
    case "string":
    case "quantity":
      return { type: "string" };
    case "bool":
      return { type: "boolean" };
    case "int32":
    case "int64":
      return { type: "integer", format: scalar };
    case "double":
      return { type: "number", format: "double" };
    case "bytes":
      return { type: "string", format: "byte" };
    case "time":
    case "microTime":
      return { type: "string", format: "date-time" };
    case "intOrString":
      return { oneOf: [{ type: "integer" }, { type: "string" }], format: "int-or-string" };
    case "fields":
    case "raw":
      return { type: "object" };
    case "json":
      return {};
  }
}

export function reference(shape: MessageShape): string {
  return `#/components/schemas/${shape.name}`;
}

function described(description: string): JsonObject {
  return description === "" ? {} : { description };
}
