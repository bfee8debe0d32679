/**
 * A schema in OpenAPI v2: without nullable and alternatives. Where such a keyword had a meaning,
 * the type is removed, too, because kubectl would otherwise reject values that the server accepts.
 */
import { isSchema, type SchemaProps } from "./schema-props.ts";

export function degradeForV2(schema: SchemaProps): SchemaProps {
  const required = degradedRequired(schema);
  let { type, items, properties } = schema;
  if (schema.nullable) {
    type = "";
    items = undefined;
    properties = undefined;
  }
  if (schema.preserveUnknownFields === true) {
    items = undefined;
    properties = undefined;
    if (type === "object") type = "";
  }
  if (type === "array" && items === undefined) type = "";
  const additional = schema.additionalProperties;
  return {
    ...schema,
    type,
    required,
    nullable: false,
    allOf: [],
    anyOf: [],
    oneOf: [],
    not: undefined,
    items: isSchema(items) ? degradeForV2(items) : items,
    properties:
      properties === undefined
        ? undefined
        : new Map([...properties].map(([name, property]) => [name, degradeForV2(property)])),
    additionalProperties: isSchema(additional) ? degradeForV2(additional) : additional,
  };
}

/**
 * A nullable field without its type looks like any value, null included, which kubectl would treat
 * as missing.
 */
function degradedRequired(schema: SchemaProps): readonly string[] {
  const additional = schema.additionalProperties;
  if (isSchema(additional) && additional.nullable) return [];
  if (schema.nullable || schema.preserveUnknownFields === true) return schema.required;
  return schema.required.filter((name) => schema.properties?.get(name)?.nullable !== true);
}
