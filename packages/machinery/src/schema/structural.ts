/**
 * Whether a schema is structural: every field and item has a type outside of allOf, anyOf, oneOf
 * and not, so that pruning and defaulting know the structure.
 */
import { type Resumable, runSync } from "../base/index.ts";
import { type FieldError, fieldError, formatFieldError } from "../status/index.ts";
import { additionalSchema, isLeaf, itemSchema, type SchemaProps } from "./schema-props.ts";
import { validateCompleteness } from "./structural-completeness.ts";
import { validateValueKeywords } from "./structural-nested.ts";

/** The errors in the order of their texts, as Kubernetes sorts them. */
export function validateStructural(schema: SchemaProps, path: string): FieldError[] {
  return runSync(validateStructuralResumable(schema, path));
}

export function* validateStructuralResumable(
  schema: SchemaProps,
  path: string,
): Resumable<FieldError[]> {
  const errors: FieldError[] = [];
  validateInvariants(schema, "root", path, errors);
  yield;
  validateCompleteness(schema, path, errors);
  yield;
  return errors
    .map((error) => ({ error, text: formatFieldError(error) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ error }) => error);
}

/** The first keyword that prevents a schema from being structural at all, with upstream's text. */
export function unsupportedKeyword(schema: SchemaProps): string | undefined {
  const marks = schema.unsupported;
  if (marks !== undefined) {
    if (marks.id !== "") return "OpenAPIV3Schema 'id' is not supported";
    if (marks.schema !== "") return "OpenAPIV3Schema 'schema' is not supported";
    if (marks.ref !== undefined && marks.ref !== "")
      return "OpenAPIV3Schema '$ref' is not supported";
    if (marks.patternProperties) return "OpenAPIV3Schema 'patternProperties' is not supported";
    if (marks.dependencies) return "OpenAPIV3Schema 'dependencies' is not supported";
    if (marks.additionalItems) return "OpenAPIV3Schema 'additionalItems' is not supported";
    if (marks.definitions) return "OpenAPIV3Schema 'definitions' is not supported";
  }
  if (schema.preserveUnknownFields === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  if (Array.isArray(schema.items))
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const child of childSchemas(schema)) {
    const found = unsupportedKeyword(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** All direct sub-schemas, junctors included. */
export function childSchemas(schema: SchemaProps): readonly SchemaProps[] {
  if (isLeaf(schema)) return noSchemas;
  const children: SchemaProps[] = [...(schema.properties?.values() ?? [])];
  const additional = additionalSchema(schema);
  if (additional !== undefined) children.push(additional);
  const items = itemSchema(schema);
  if (items !== undefined) children.push(items);
  else if (Array.isArray(schema.items)) children.push(...schema.items);
  children.push(...schema.allOf, ...schema.anyOf, ...schema.oneOf);
  if (schema.not !== undefined) children.push(schema.not);
  return children;
}

const noSchemas: readonly SchemaProps[] = [];

type Level = "root" | "item" | "field";

const typeMissing: Record<Level, string> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function validateInvariants(
  schema: SchemaProps,
  level: Level,
  path: string,
  errors: FieldError[],
): void {
  const items = itemSchema(schema);
  if (schema.type === "array" && items === undefined)
    errors.push(fieldError.required(`${path}.items`, "must be specified"));
  if (items !== undefined) validateInvariants(items, "item", `${path}.items`, errors);
  if (schema.properties !== undefined) {
    for (const [name, property] of schema.properties)
      validateInvariants(property, "field", `${path}.properties[${name}]`, errors);
  }
  if (schema.additionalProperties !== undefined) {
    const at = `${path}.additionalProperties`;
    if (level === "root") errors.push(fieldError.forbidden(at, "must not be used at the root"));
    const additional = additionalSchema(schema);
    if (additional !== undefined) validateInvariants(additional, "field", at, errors);
  }
  validateExtensions(schema, path, errors);
  validateValueKeywords(schema, path, errors, {
    skipAnyOf: isIntOrStringAnyOf(schema.anyOf),
    skipFirstAllOfAnyOf: isIntOrStringAnyOf(schema.allOf[0]?.anyOf ?? []),
  });
  validateTypeKeyword(schema, level, path, errors);
  validateMetaProperties(schema, level, path, errors);
  if (
    schema.embeddedResource &&
    schema.preserveUnknownFields !== true &&
    (schema.properties?.size ?? 0) === 0
  ) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    errors.push(fieldError.required(`${path}.properties`, detail));
  }
}

function validateExtensions(schema: SchemaProps, path: string, errors: FieldError[]): void {
  if (!schema.intOrString) return;
  const detail = "must be false if x-kubernetes-int-or-string is true";
  if (schema.preserveUnknownFields === true)
    errors.push(fieldError.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, detail));
  if (schema.embeddedResource)
    errors.push(fieldError.invalid(`${path}.x-kubernetes-embedded-resource`, true, detail));
}

function validateTypeKeyword(
  schema: SchemaProps,
  level: Level,
  path: string,
  errors: FieldError[],
): void {
  const at = `${path}.type`;
  if (schema.embeddedResource && schema.type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    errors.push(
      schema.type === ""
        ? fieldError.required(at, detail)
        : fieldError.invalid(at, schema.type, detail),
    );
  } else if (schema.type === "" && !schema.intOrString && schema.preserveUnknownFields !== true) {
    errors.push(fieldError.required(at, typeMissing[level]));
  }
  if (schema.embeddedResource && schema.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    errors.push(fieldError.forbidden(`${path}.additionalProperties`, detail));
  }
  if (level === "root" && schema.type !== "" && schema.type !== "object")
    errors.push(fieldError.invalid(at, schema.type, "must be object at the root"));
}

/** apiVersion, kind and metadata are Kubernetes' own; a schema may only narrow the names. */
function validateMetaProperties(
  schema: SchemaProps,
  level: Level,
  path: string,
  errors: FieldError[],
): void {
  const isResource = level === "root" || schema.embeddedResource;
  if (isResource) {
    for (const name of ["kind", "apiVersion"]) {
      const property = schema.properties?.get(name);
      if (property !== undefined && property.type !== "string") {
        const at = `${path}.properties[${name}].type`;
        errors.push(fieldError.invalid(at, property.type, "must be string"));
      }
    }
  }
  const metadata = schema.properties?.get("metadata");
  if (metadata === undefined) return;
  const at = `${path}.properties[metadata]`;
  if (isResource && metadata.type !== "object")
    errors.push(fieldError.invalid(`${at}.type`, metadata.type, "must be object"));
  if (level === "root" && !narrowsOnlyNames(metadata)) {
    const detail =
      "must not specify anything other than name and generateName, but metadata is implicitly specified";
    errors.push(fieldError.forbidden(at, detail));
  }
}

/** Type and default are checked elsewhere; any other keyword is rejected. */
function narrowsOnlyNames(metadata: SchemaProps): boolean {
  const names = [...(metadata.properties?.keys() ?? [])];
  if (!names.every((name) => name === "name" || name === "generateName")) return false;
  return Object.entries(metadata).every(([keyword, value]) => {
    if (keyword === "type" || keyword === "default" || keyword === "properties") return true;
    if (Array.isArray(value)) return value.length === 0;
    return value === undefined || value === "" || value === false;
  });
}

function isIntOrStringAnyOf(branches: readonly SchemaProps[]): boolean {
  return (
    branches.length === 2 &&
    isBareType(branches[0] as SchemaProps, "integer") &&
    isBareType(branches[1] as SchemaProps, "string")
  );
}

function isBareType(schema: SchemaProps, type: string): boolean {
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === "type") return value === type;
    if (Array.isArray(value)) return value.length === 0;
    return value === undefined || value === "" || value === false;
  });
}
