/**
 * The complete validation of one version's schema when a CRD is written, in upstream's order: the
 * root, structure, defaults, keywords, rules, costs. Later steps are skipped where earlier ones
 * fail.
 */
import { type Resumable, runSync } from "../base/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { NodeCompiler } from "./compile-node.ts";
import { hasUnprunedDefaults, validateDefaults } from "./default-validation.ts";
import { isRecognizedFormat } from "./formats.ts";
import { hasNonAtomicItems, mapListKeyErrors } from "./list-topology.ts";
import { RuleChecker } from "./rule-checks.ts";
import type { RuleEvaluator } from "./rule-evaluator.ts";
import type { SchemaProps } from "./schema-props.ts";
import {
  type SchemaRuleOptions,
  schemaTypes,
  strictSchemaRules,
  validateSchemaRules,
} from "./schema-rules.ts";
import {
  childSchemas,
  unsupportedKeyword,
  validateStructural,
  validateStructuralResumable,
} from "./structural.ts";

export interface SchemaValidationOptions extends SchemaRuleOptions {
  readonly requireStructural: boolean;
  readonly requirePrunedDefaults: boolean;
  /**
   * The status subresource is enabled: some keywords may not be at the root, because the status is
   * validated separately.
   */
  readonly statusEnabled: boolean;
  readonly suppressRuleCost: boolean;
  /** Without one, only the texts of rules are checked. */
  readonly evaluator: RuleEvaluator | undefined;
}

export const strictSchemaValidation: SchemaValidationOptions = {
  ...strictSchemaRules,
  requireStructural: true,
  requirePrunedDefaults: true,
  statusEnabled: false,
  suppressRuleCost: false,
  evaluator: undefined,
};

/** `path` is the path of the schema, such as `spec.versions[0].schema.openAPIV3Schema`. */
export function validateSchema(
  schema: SchemaProps,
  path: string,
  options: SchemaValidationOptions = strictSchemaValidation,
): FieldError[] {
  return runSync(validateSchemaResumable(schema, path, options));
}

/** The same, resumably: each step visits every sub-schema once or twice. */
export function* validateSchemaResumable(
  schema: SchemaProps,
  path: string,
  options: SchemaValidationOptions,
): Resumable<FieldError[]> {
  const errors: FieldError[] = [];
  if (options.statusEnabled) errors.push(...validateStatusRoot(schema, path));
  if (schema.nullable)
    errors.push(fieldError.forbidden(`${path}.nullable`, "nullable cannot be true at the root"));
  const structure = options.requireStructural
    ? yield* judgeStructure(schema, path, options)
    : undefined;
  if (structure !== undefined) errors.push(...structure.errors);
  yield;
  const isSound =
    structure !== undefined && structure.problem === undefined && structure.errors.length === 0;
  const checker =
    isSound && options.evaluator !== undefined
      ? new RuleChecker(options.evaluator, { suppressRuleCost: options.suppressRuleCost })
      : undefined;
  errors.push(...(yield* validateSchemaRules(schema, path, options, checker)));
  if (errors.length === 0 && structure?.problem !== undefined)
    errors.push(fieldError.invalid(path, "", structure.problem));
  if (checker !== undefined) errors.push(...checker.totalErrors(path));
  return errors;
}

/** The violations that an update may keep, because the stored schema already has them. */
export function ratchetedOptions(old: SchemaProps): Partial<SchemaValidationOptions> {
  const isStructural =
    unsupportedKeyword(old) === undefined && validateStructural(old, "").length === 0;
  return {
    requireStructural: isStructural,
    requireValidPropertyType: !anySchema(old, ({ type }) => type !== "" && !schemaTypes.has(type)),
    requireAtomicSetType: !anySchema(old, hasNonAtomicItems),
    requireMapListKeys: !anySchema(old, (schema) => mapListKeyErrors(schema, "").length > 0),
    requirePrunedDefaults: !(isStructural && hasUnprunedDefaults(old, new NodeCompiler())),
  };
}

export function anySchema(schema: SchemaProps, test: (schema: SchemaProps) => boolean): boolean {
  if (test(schema)) return true;
  for (const child of childSchemas(schema)) if (anySchema(child, test)) return true;
  return false;
}

/** Formats without a meaning on their types, each once: for a warning `unrecognized format "x"`. */
export function unrecognizedFormats(schema: SchemaProps): readonly string[] {
  const found = new Set<string>();
  anySchema(schema, ({ type, format, intOrString }) => {
    if (format !== "" && !isRecognizedFormat(intOrString ? "" : type, format)) found.add(format);
    return false;
  });
  return [...found];
}

interface Structure {
  readonly errors: readonly FieldError[];
  /** A keyword that structural schemas must not have; reported only without a better error. */
  readonly problem: string | undefined;
}

function* judgeStructure(
  schema: SchemaProps,
  path: string,
  options: SchemaValidationOptions,
): Resumable<Structure> {
  const problem = unsupportedKeyword(schema);
  yield;
  if (problem !== undefined) return { errors: [], problem };
  const errors = yield* validateStructuralResumable(schema, path);
  if (errors.length > 0) return { errors, problem };
  if (options.evaluator !== undefined && anySchema(schema, hasRules))
    yield* prepareRules(schema, options.evaluator);
  if (!anySchema(schema, hasDefault)) return { errors, problem };
  const defaults = yield* validateDefaults(schema, path, {
    compiler: new NodeCompiler(),
    requirePruned: options.requirePrunedDefaults,
    evaluator: options.evaluator,
  });
  return { errors: defaults, problem };
}

function hasRules({ validations }: SchemaProps): boolean {
  return validations.length > 0;
}

function hasDefault({ default: value }: SchemaProps): boolean {
  return value !== undefined;
}

/** Compiles in advance what the validation of defaults and rules needs. */
function* prepareRules(
  schema: SchemaProps,
  evaluator: RuleEvaluator,
  isRoot = true,
): Resumable<void> {
  const isResourceRoot = isRoot || schema.embeddedResource;
  if (schema.validations.length > 0)
    yield* evaluator.prepare?.(schema.validations, { schema, isResourceRoot }) ?? [];
  for (const child of childSchemas(schema)) yield* prepareRules(child, evaluator, false);
}

/** Upstream names them by its Go fields. */
const allowedAtStatusRoot =
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";

function validateStatusRoot(schema: SchemaProps, path: string): FieldError[] {
  if (schema.type !== "" && schema.type !== "object") {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [fieldError.invalid(`${path}.type`, schema.type, detail)];
  }
  const { unsupported } = schema;
  const hasMore =
    schema.nullable ||
    schema.default !== undefined ||
    schema.enum !== undefined ||
    schema.maxProperties !== undefined ||
    schema.minProperties !== undefined ||
    schema.additionalProperties !== undefined ||
    schema.allOf.length + schema.anyOf.length + schema.oneOf.length > 0 ||
    schema.not !== undefined ||
    schema.embeddedResource ||
    schema.intOrString ||
    schema.listType !== undefined ||
    schema.listMapKeys.length > 0 ||
    schema.mapType !== undefined ||
    unsupported !== undefined;
  if (!hasMore) return [];
  const detail = `only [${allowedAtStatusRoot}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [fieldError.invalid(path, { type: schema.type }, detail)];
}
