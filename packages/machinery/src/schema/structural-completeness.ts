/**
 * Every field of a value validation inside allOf, anyOf, oneOf or not must also be specified
 * outside.
 */
import { type FieldError, fieldError } from "../status/index.ts";
import { itemSchema, type SchemaProps } from "./schema-props.ts";

/** Checks the junctors of the root, as upstream: deeper ones are reached through them. */
export function validateCompleteness(
  schema: SchemaProps,
  path: string,
  errors: FieldError[],
): void {
  completeJunctors(schema, { schema, path }, path, errors);
}

/** The structural schema at the path of a nested validation; undefined when it is not specified. */
interface Counterpart {
  readonly schema: SchemaProps | undefined;
  readonly path: string;
}

function completeJunctors(
  checks: SchemaProps,
  counterpart: Counterpart,
  path: string,
  errors: FieldError[],
): void {
  if (checks.not !== undefined) complete(checks.not, counterpart, `${path}.not`, errors);
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [i, branch] of checks[keyword].entries())
      complete(branch, counterpart, `${path}.${keyword}[${i}]`, errors);
  }
}

function complete(
  checks: SchemaProps,
  counterpart: Counterpart,
  path: string,
  errors: FieldError[],
): void {
  const { schema } = counterpart;
  if (schema === undefined) {
    errors.push(fieldError.required(counterpart.path, `because it is defined in ${path}`));
    return;
  }
  completeJunctors(checks, counterpart, path, errors);
  const items = itemSchema(checks);
  if (items !== undefined) {
    const outside = { schema: itemSchema(schema), path: `${counterpart.path}.items` };
    complete(items, outside, `${path}.items`, errors);
  }
  for (const [name, property] of checks.properties ?? []) {
    const outside = {
      schema: schema.properties?.get(name),
      path: `${counterpart.path}.properties[${name}]`,
    };
    complete(property, outside, `${path}.properties[${name}]`, errors);
  }
}
