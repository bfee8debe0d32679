/**
 * The empty schema, to start from. All schemas have all keywords, so that engines see objects of
 * one shape.
 */
import type { SchemaProps, ValidationRule } from "./schema-props.ts";

export type MutableSchema = { -readonly [Keyword in keyof SchemaProps]: SchemaProps[Keyword] };

const noStrings: readonly string[] = [];
const noSchemas: readonly SchemaProps[] = [];
const noRules: readonly ValidationRule[] = [];

export function emptySchema(): MutableSchema {
  return {
    type: "",
    format: "",
    title: "",
    description: "",
    nullable: false,
    default: undefined,
    example: undefined,
    externalDocs: undefined,
    properties: undefined,
    additionalProperties: undefined,
    items: undefined,
    maximum: undefined,
    exclusiveMaximum: false,
    minimum: undefined,
    exclusiveMinimum: false,
    multipleOf: undefined,
    maxLength: undefined,
    minLength: undefined,
    pattern: "",
    maxItems: undefined,
    minItems: undefined,
    uniqueItems: false,
    maxProperties: undefined,
    minProperties: undefined,
    required: noStrings,
    enum: undefined,
    allOf: noSchemas,
    anyOf: noSchemas,
    oneOf: noSchemas,
    not: undefined,
    preserveUnknownFields: undefined,
    embeddedResource: false,
    intOrString: false,
    listType: undefined,
    listMapKeys: noStrings,
    mapType: undefined,
    validations: noRules,
    unsupported: undefined,
  };
}
