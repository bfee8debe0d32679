/**
 * The permitted keywords inside allOf, anyOf, oneOf and not: value validations, and items and
 * properties to reach their fields; no structure of their own.
 */
import { type FieldError, fieldError } from "../status/index.ts";
import { compilePattern } from "./pattern.ts";
import { itemSchema, type SchemaProps } from "./schema-props.ts";

export interface SkippedPatterns {
  /** `anyOf: [{type: integer}, {type: string}]` of an int-or-string is allowed as it stands. */
  readonly skipAnyOf: boolean;
  /** The same, as the first entry of allOf. */
  readonly skipFirstAllOfAnyOf: boolean;
}

const nothingSkipped: SkippedPatterns = { skipAnyOf: false, skipFirstAllOfAnyOf: false };

export function validateValueKeywords(
  schema: SchemaProps,
  path: string,
  errors: FieldError[],
  skipped: SkippedPatterns = nothingSkipped,
): void {
  if (!skipped.skipAnyOf) {
    for (const [i, branch] of schema.anyOf.entries())
      validateNested(branch, `${path}.anyOf[${i}]`, errors);
  }
  for (const [i, branch] of schema.allOf.entries()) {
    const skipAnyOf = skipped.skipFirstAllOfAnyOf && i === 0;
    validateNested(branch, `${path}.allOf[${i}]`, errors, { ...nothingSkipped, skipAnyOf });
  }
  for (const [i, branch] of schema.oneOf.entries())
    validateNested(branch, `${path}.oneOf[${i}]`, errors);
  if (schema.not !== undefined) validateNested(schema.not, `${path}.not`, errors);
  if (schema.pattern !== "") {
    const compiled = compilePattern(schema.pattern);
    if (compiled instanceof Error) {
      const detail = `must be a valid regular expression, but isn't: ${compiled.message}`;
      errors.push(fieldError.invalid(`${path}.pattern`, schema.pattern, detail));
    }
  }
}

const mustBeEmpty = "must be empty to be structural";
const mustBeUndefined = "must be undefined to be structural";
const mustBeFalse = "must be false to be structural";

/** Keyword, whether it is set, and what is wrong with that. */
const forbidden: readonly (readonly [string, (schema: SchemaProps) => boolean, string])[] = [
  ["type", (schema) => schema.type !== "", mustBeEmpty],
  [
    "additionalProperties",
    // `false` allows nothing, and upstream accepts it.
    ({ additionalProperties }) =>
      additionalProperties !== undefined && additionalProperties !== false,
    mustBeUndefined,
  ],
  ["default", (schema) => schema.default !== undefined, mustBeUndefined],
  ["title", (schema) => schema.title !== "", mustBeEmpty],
  ["description", (schema) => schema.description !== "", mustBeEmpty],
  ["nullable", (schema) => schema.nullable, mustBeFalse],
  [
    "x-kubernetes-preserve-unknown-fields",
    (schema) => schema.preserveUnknownFields === true,
    mustBeFalse,
  ],
  ["x-kubernetes-embedded-resource", (schema) => schema.embeddedResource, mustBeFalse],
  ["x-kubernetes-int-or-string", (schema) => schema.intOrString, mustBeFalse],
  ["x-kubernetes-list-map-keys", (schema) => schema.listMapKeys.length > 0, mustBeEmpty],
  ["x-kubernetes-list-type", (schema) => schema.listType !== undefined, mustBeUndefined],
  ["x-kubernetes-map-type", (schema) => schema.mapType !== undefined, mustBeUndefined],
  ["x-kubernetes-validations", (schema) => schema.validations.length > 0, mustBeEmpty],
];

function validateNested(
  schema: SchemaProps,
  path: string,
  errors: FieldError[],
  skipped: SkippedPatterns = nothingSkipped,
): void {
  validateValueKeywords(schema, path, errors, skipped);
  const items = itemSchema(schema);
  if (items !== undefined) validateNested(items, `${path}.items`, errors);
  if (schema.properties !== undefined) {
    for (const [name, property] of schema.properties)
      validateNested(property, `${path}.properties[${name}]`, errors);
  }
  for (const [keyword, isSet, detail] of forbidden) {
    if (isSet(schema)) errors.push(fieldError.forbidden(`${path}.${keyword}`, detail));
  }
  if (schema.properties?.has("metadata") === true) {
    const detail = "must not be specified in a nested context";
    errors.push(fieldError.forbidden(`${path}.properties[metadata]`, detail));
  }
}
