/**
 * A schema of a CRD version (`openAPIV3Schema`), parsed but not validated.
 *
 * Keywords that Kubernetes rejects (`$ref`, `definitions`, …) are kept as flags, so that validation
 * can name them. Names from tenants (properties, definitions) are in a `Map`. Absent text keywords
 * are `""` and absent flags `false`, as in Kubernetes' own types: the rules are written in terms of
 * emptiness.
 */
import type { JsonValue } from "../json/index.ts";

export interface SchemaProps {
  readonly type: string;
  readonly format: string;
  readonly title: string;
  readonly description: string;
  readonly nullable: boolean;
  /** Never null: `default: null` is no default. */
  readonly default: JsonValue | undefined;
  readonly example: JsonValue | undefined;
  readonly externalDocs: JsonValue | undefined;

  readonly properties: ReadonlyMap<string, SchemaProps> | undefined;
  readonly additionalProperties: SchemaProps | boolean | undefined;
  readonly items: SchemaProps | readonly SchemaProps[] | undefined;

  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly multipleOf: number | undefined;
  readonly maxLength: number | undefined;
  readonly minLength: number | undefined;
  readonly pattern: string;
  readonly maxItems: number | undefined;
  readonly minItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly maxProperties: number | undefined;
  readonly minProperties: number | undefined;
  readonly required: readonly string[];
  readonly enum: readonly JsonValue[] | undefined;

  readonly allOf: readonly SchemaProps[];
  readonly anyOf: readonly SchemaProps[];
  readonly oneOf: readonly SchemaProps[];
  readonly not: SchemaProps | undefined;

  readonly preserveUnknownFields: boolean | undefined;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: string | undefined;
  readonly validations: readonly ValidationRule[];

  /** Keywords that are read only to be rejected. */
  readonly unsupported: UnsupportedKeywords | undefined;
}

export interface UnsupportedKeywords {
  readonly id: string;
  readonly schema: string;
  readonly ref: string | undefined;
  readonly additionalItems: boolean;
  readonly patternProperties: boolean;
  readonly dependencies: boolean;
  readonly definitions: boolean;
}

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}

export function isSchema(value: unknown): value is SchemaProps {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The item schema, where `items` is one schema and not a tuple. */
export function itemSchema(schema: SchemaProps): SchemaProps | undefined {
  return isSchema(schema.items) ? schema.items : undefined;
}

export function additionalSchema(schema: SchemaProps): SchemaProps | undefined {
  return isSchema(schema.additionalProperties) ? schema.additionalProperties : undefined;
}

/** Whether the schema has no sub-schemas, as most have. */
export function isLeaf(schema: SchemaProps): boolean {
  return (
    schema.properties === undefined &&
    schema.additionalProperties === undefined &&
    schema.items === undefined &&
    schema.not === undefined &&
    schema.allOf.length + schema.anyOf.length + schema.oneOf.length === 0
  );
}
