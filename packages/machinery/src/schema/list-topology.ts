/** x-kubernetes-list-type, -list-map-keys and -map-type: their requirements on their schema. */
import { type FieldError, fieldError } from "../status/index.ts";
import { itemSchema, type SchemaProps } from "./schema-props.ts";
import type { SchemaRuleOptions } from "./schema-rules.ts";

export function validateMapTopology(schema: SchemaProps, path: string, errors: FieldError[]): void {
  const { mapType } = schema;
  if (mapType === undefined) return;
  requireType(schema, "object", "x-kubernetes-map-type", path, errors);
  if (mapType !== "atomic" && mapType !== "granular") {
    const at = `${path}.x-kubernetes-map-type`;
    errors.push(fieldError.notSupported(at, mapType, ["atomic", "granular"]));
  }
}

export function validateListTopology(
  schema: SchemaProps,
  path: string,
  options: SchemaRuleOptions,
  errors: FieldError[],
): void {
  const { listType } = schema;
  const items = itemSchema(schema);
  if (listType !== undefined) {
    if (requireType(schema, "array", "x-kubernetes-list-type", path, errors)) {
      if (options.requireAtomicSetType && listType === "set" && items !== undefined)
        requireAtomicItems(items, path, errors);
    }
    if (listType !== "atomic" && listType !== "set" && listType !== "map") {
      const at = `${path}.x-kubernetes-list-type`;
      errors.push(fieldError.notSupported(at, listType, ["atomic", "set", "map"]));
    }
  }
  if (schema.listMapKeys.length > 0 && listType !== "map") {
    const at = `${path}.x-kubernetes-list-type`;
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    errors.push(
      listType === undefined
        ? fieldError.required(at, detail)
        : fieldError.invalid(at, listType, detail),
    );
  }
  if (listType === "map") validateMapList(schema, items, path, errors);
  if (options.requireMapListKeys) errors.push(...mapListKeyErrors(schema, path));
}

/** Items of sets and maps are never null, and map keys always have a value. */
export function mapListKeyErrors(schema: SchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const items = itemSchema(schema);
  if (items === undefined || (schema.listType !== "set" && schema.listType !== "map"))
    return errors;
  if (items.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${schema.listType}`;
    errors.push(fieldError.forbidden(`${path}.items.nullable`, detail));
  }
  if (schema.listType !== "map") return errors;
  for (const key of schema.listMapKeys) {
    const property = items.properties?.get(key);
    if (property === undefined) continue;
    const at = `${path}.items.properties[${key}]`;
    if (!items.required.includes(key) && property.default === undefined) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      errors.push(fieldError.required(`${at}.default`, detail));
    }
    if (property.nullable) {
      const detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      errors.push(fieldError.forbidden(`${at}.nullable`, detail));
    }
  }
  return errors;
}

/** Items of a set that are merged granularly would lose their identity. */
export function hasNonAtomicItems(schema: SchemaProps): boolean {
  const items = itemSchema(schema);
  if (schema.listType !== "set" || items === undefined) return false;
  if (items.type === "array") return items.listType !== undefined && items.listType !== "atomic";
  return items.type === "object" && items.mapType !== "atomic";
}

function requireType(
  schema: SchemaProps,
  type: string,
  keyword: string,
  path: string,
  errors: FieldError[],
): boolean {
  if (schema.type === type) return true;
  const detail = `must be ${type} if ${keyword} is specified`;
  errors.push(
    schema.type === ""
      ? fieldError.required(`${path}.type`, detail)
      : fieldError.invalid(`${path}.type`, schema.type, detail),
  );
  return false;
}

function requireAtomicItems(items: SchemaProps, path: string, errors: FieldError[]): void {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  if (items.type === "array" && items.listType !== undefined && items.listType !== "atomic") {
    const at = `${path}.items.x-kubernetes-list-type`;
    errors.push(fieldError.invalid(at, items.listType, detail));
  }
  if (items.type === "object" && items.mapType !== "atomic") {
    // The value shown is the list type of the items, a bug of upstream that clients see.
    const at = `${path}.items.x-kubernetes-map-type`;
    errors.push(fieldError.invalid(at, items.listType ?? null, detail));
  }
}

function validateMapList(
  schema: SchemaProps,
  items: SchemaProps | undefined,
  path: string,
  errors: FieldError[],
): void {
  if (schema.listMapKeys.length === 0) {
    const detail = "must not be empty if x-kubernetes-list-type is map";
    errors.push(fieldError.required(`${path}.x-kubernetes-list-map-keys`, detail));
  }
  if (schema.items === undefined) {
    const detail = "must have a schema if x-kubernetes-list-type is map";
    errors.push(fieldError.required(`${path}.items`, detail));
  } else if (items === undefined) {
    const detail = "must only have a single schema if x-kubernetes-list-type is map";
    errors.push(fieldError.invalid(`${path}.items`, null, detail));
  } else if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.push(fieldError.invalid(`${path}.items.type`, items.type, detail));
  } else {
    validateMapKeys(schema.listMapKeys, items, path, errors);
  }
}

function validateMapKeys(
  keys: readonly string[],
  items: SchemaProps,
  path: string,
  errors: FieldError[],
): void {
  const at = `${path}.x-kubernetes-list-map-keys`;
  const seen = new Set<string>();
  for (const key of keys) {
    const property = items.properties?.get(key);
    if (property === undefined) {
      errors.push(fieldError.invalid(at, keys, "entries must all be names of item properties"));
    } else if (property.type === "array" || property.type === "object") {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(fieldError.invalid(`${path}.items.properties[${key}].type`, items.type, detail));
    }
    if (seen.has(key))
      errors.push(fieldError.invalid(at, keys, "must not contain duplicate entries"));
    seen.add(key);
  }
}
