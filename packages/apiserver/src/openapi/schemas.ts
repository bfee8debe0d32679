/**
 * Converts shapes to schemas, in the dialects of OpenAPI v3 and of v2 (Swagger).
 *
 * A message becomes a schema of its own, with upstream's name; other schemas refer to it by name.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  type JsonObject,
  type JsonValue,
  parseResumable,
  stringifyResumable,
} from "@kcp-ts/machinery/json";
import type { MessageShape, ScalarType, Shape } from "@kcp-ts/machinery/shape";

export type Dialect = "v2" | "v3";

/** Schemas by name. */
export type Schemas = { [name: string]: JsonObject | EncodedSchema };

/** A schema as JSON text: that of a custom kind may be large. */
export class EncodedSchema {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export function* schemaText(schema: JsonObject | EncodedSchema): Resumable<string> {
  return schema instanceof EncodedSchema ? schema.text : yield* stringifyResumable(schema);
}

export function* schemaValue(schema: JsonObject | EncodedSchema): Resumable<JsonObject> {
  if (!(schema instanceof EncodedSchema)) return schema;
  return (yield* parseResumable(schema.text)).value as JsonObject;
}

/** A member of a JSON object. */
export function memberBytes(name: string, text: string): Buffer {
  const head = `${JSON.stringify(name)}:`;
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(head) + Buffer.byteLength(text));
  bytes.write(text, bytes.write(head));
  return bytes;
}

/** Adds the schema of a message, and of every message it refers to. */
export function addSchemas(shape: MessageShape, schemas: Schemas, dialect: Dialect): void {
  if (Object.hasOwn(schemas, shape.name)) return;
  const properties: { [name: string]: JsonValue } = {};
  schemas[shape.name] = {
    ...described(shape.description),
    type: "object",
    ...(shape.required.length === 0 ? {} : { required: shape.required }),
    properties,
    ...(shape.isAtomic ? { "x-kubernetes-map-type": "atomic" } : {}),
  };
  for (const field of shape.fields.values()) {
    properties[field.name] = {
      ...property(field.shape, field.description, schemas, dialect),
      ...(field.isGranular === true ? { "x-kubernetes-map-type": "granular" } : {}),
    };
  }
}

/** A reference to a schema. */
export function reference(name: string, dialect: Dialect): JsonObject {
  return { $ref: `${dialect === "v3" ? "#/components/schemas/" : "#/definitions/"}${name}` };
}

/** A property with that schema: v3 cannot add a description to a reference, only to a wrapper. */
export function referringProperty(name: string, description: string, dialect: Dialect): JsonObject {
  const target = reference(name, dialect);
  return dialect === "v3"
    ? { ...described(description), default: {}, allOf: [target] }
    : { ...described(description), ...target };
}

function property(
  shape: Shape,
  description: string,
  schemas: Schemas,
  dialect: Dialect,
): JsonObject {
  switch (shape.kind) {
    case "message":
      addSchemas(shape, schemas, dialect);
      return referringProperty(shape.name, description, dialect);
    case "list":
      return {
        ...described(description),
        type: "array",
        items: property(shape.items, "", schemas, dialect),
        ...listExtensions(shape),
      };
    case "map":
      return {
        ...described(description),
        type: "object",
        additionalProperties: property(shape.values, "", schemas, dialect),
        ...(shape.isAtomic === true ? { "x-kubernetes-map-type": "atomic" } : {}),
      };
    case "scalar":
      return { ...described(description), ...scalarSchema(shape.scalar, dialect) };
  }
}

/** kubectl computes its patches from these; without them it would replace whole lists. */
function listExtensions({ list }: Extract<Shape, { kind: "list" }>): JsonObject {
  const keys = list.keys ?? [];
  const isMerged = list.type !== "atomic" && list.isReplacedByPatch !== true;
  const mergeKey = list.mergeKey ?? (isMerged && list.type === "map" ? keys[0] : undefined);
  return {
    "x-kubernetes-list-type": list.type,
    ...(list.type === "map" ? { "x-kubernetes-list-map-keys": keys } : {}),
    ...(isMerged || mergeKey !== undefined ? { "x-kubernetes-patch-strategy": "merge" } : {}),
    ...(mergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": mergeKey }),
  };
}

function scalarSchema(scalar: ScalarType, dialect: Dialect): JsonObject {
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
      return dialect === "v3"
        ? { oneOf: [{ type: "integer" }, { type: "string" }], format: "int-or-string" }
        : { type: "string", format: "int-or-string" };
    case "fields":
    case "raw":
      return { type: "object" };
    case "json":
      return {};
  }
}

export function described(description: string): JsonObject {
  return description === "" ? {} : { description };
}
