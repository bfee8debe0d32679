/**
 * The type of a CEL rule's `self`: a structural schema as CEL declarations, by the rules of
 * Kubernetes' SchemaDeclType.
 *
 * Each sub-schema is declared once, however many rules refer to it.
 */
import {
  type DeclaredType,
  declaredBool,
  declaredBytes,
  declaredDate,
  declaredDateTime,
  declaredDouble,
  declaredDuration,
  declaredInt,
  declaredIntOrString,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
  nullable,
  type PropertyDeclaration,
} from "@kcp-ts/machinery/cel";
import { additionalSchema, itemSchema, type SchemaProps } from "@kcp-ts/machinery/schema";

const declared = new WeakMap<SchemaProps, DeclaredType | "none">();
const declaredRoots = new WeakMap<SchemaProps, DeclaredType | "none">();
let objectTypes = 0;

/** Undefined when the schema is too unspecific for rules. */
export function declareSchema(schema: SchemaProps, isResource: boolean): DeclaredType | undefined {
  const known = isResource ? declaredRoots : declared;
  let type = known.get(schema);
  if (type === undefined) {
    type = declare(schema, isResource) ?? "none";
    if (type !== "none" && schema.nullable) type = nullable(type);
    known.set(schema, type);
  }
  return type === "none" ? undefined : type;
}

function declare(schema: SchemaProps, isResource: boolean): DeclaredType | undefined {
  if (schema.intOrString) return declaredIntOrString();
  switch (schema.type) {
    case "array":
      return declareList(schema);
    case "object":
      return declareObject(schema, isResource);
    case "string":
      return declareText(schema);
    case "boolean":
      return declaredBool;
    case "number":
      return declaredDouble;
    case "integer":
      return declaredInt;
    default:
      return isResource ? declareObject(schema, true) : undefined;
  }
}

function declareChild(schema: SchemaProps): DeclaredType | undefined {
  return declareSchema(schema, schema.embeddedResource);
}

function declareList(schema: SchemaProps): DeclaredType | undefined {
  const items = itemSchema(schema);
  const item = items === undefined ? undefined : declareChild(items);
  if (item === undefined) return undefined;
  const { maxItems, listType, listMapKeys } = schema;
  return declaredList(item, {
    ...(maxItems === undefined ? {} : { maxItems }),
    ...(listType === "set" || listType === "map" ? { listType } : {}),
    mapKeys: listMapKeys,
  });
}

function declareObject(schema: SchemaProps, isResource: boolean): DeclaredType | undefined {
  const additional = additionalSchema(schema);
  if (additional !== undefined) {
    const value = declareChild(additional);
    const { maxProperties } = schema;
    return value === undefined
      ? undefined
      : declaredMap(value, maxProperties === undefined ? {} : { maxProperties });
  }
  const properties = new Map<string, PropertyDeclaration>();
  const required = new Set(schema.required);
  for (const [name, property] of schema.properties ?? []) {
    const type = declareChild(property);
    if (type === undefined) continue;
    const alwaysPresent = required.has(name) && property.default === undefined;
    properties.set(name, { declared: type, alwaysPresent });
  }
  if (isResource) {
    properties.set("apiVersion", { declared: declaredString() });
    properties.set("kind", { declared: declaredString() });
    properties.set("metadata", { declared: objectMetaType });
  }
  return declaredObject(`object${++objectTypes}`, properties);
}

/** Rules see the metadata that a client chooses: name and generateName. */
const objectMetaType = declaredObject("objectMeta", [
  ["name", { declared: declaredString() }],
  ["generateName", { declared: declaredString() }],
]);

function declareText({ format, maxLength, enum: values }: SchemaProps): DeclaredType {
  const bounds = maxLength === undefined ? {} : { maxLength };
  switch (format) {
    case "byte":
      return declaredBytes(bounds);
    case "duration":
      return declaredDuration;
    case "date":
      return declaredDate;
    case "date-time":
      return declaredDateTime;
    default:
      return declaredString(values === undefined ? bounds : { ...bounds, enumValues: values });
  }
}
