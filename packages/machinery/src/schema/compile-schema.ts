/**
 * The door to serving: a schema, compiled once, that shapes and validates objects.
 *
 *     const schema = compileSchema(crdVersion.schema.openAPIV3Schema, { evaluator });
 *     const { value, unknownFields, error } = schema.admit(body);
 *     const errors = schema.validate(value, { old });
 *
 * One compiled schema serves any number of tenants; it holds no state of a request.
 */
import { assert, type Resumable, runSync } from "../base/index.ts";
import { isJsonObject, type JsonValue } from "../json/index.ts";
import { type FieldError, fieldError, reportedErrors } from "../status/index.ts";
import { NodeCompiler } from "./compile-node.ts";
import { validateEmbeddedResources } from "./embedded-meta.ts";
import { SchemaLimitError } from "./limits.ts";
import { validateListTypes } from "./list-types.ts";
import { readSchema } from "./read-schema.ts";
import type { CompiledRule, RuleEvaluator } from "./rule-evaluator.ts";
import { type RuleSource, reachBit, type SchemaNode } from "./schema-node.ts";
import type { SchemaProps } from "./schema-props.ts";
import { type Shaped, type ShapeSteps, shape } from "./shape.ts";
import { type RuleLookup, validateRulesResumable } from "./validate-rules.ts";
import { validateValue } from "./validate-value.ts";

export interface CompileOptions {
  /** Without an evaluator, rules are not run. */
  readonly evaluator?: RuleEvaluator;
}

export interface ValidateOptions {
  /** The object before the update: errors of unchanged values are ratcheted. */
  readonly old?: JsonValue | undefined;
}

/**
 * `json` is a schema that was validated when its CRD was written; an unreadable one is a bug of the
 * caller.
 */
export function compileSchema(json: JsonValue, options: CompileOptions = {}): CompiledSchema {
  return runSync(compileSchemaResumable(json, options));
}

/** The same with rests. */
export function* compileSchemaResumable(
  json: JsonValue,
  options: CompileOptions = {},
): Resumable<CompiledSchema> {
  const { schema, problems } = readSchema(json, { withoutDocumentation: true, isAccepted: true });
  assert(schema !== undefined, `schema cannot be read: ${problems.join("; ")}`);
  yield;
  const compiler = new NodeCompiler();
  const root = yield* compiler.compileResumable(schema);
  return new CompiledSchema(root, compiler.nodes, options);
}

export function compileSchemaProps(
  schema: SchemaProps,
  options: CompileOptions = {},
): CompiledSchema {
  const compiler = new NodeCompiler();
  const root = compiler.compile(schema);
  return new CompiledSchema(root, compiler.nodes, options);
}

const admitted: ShapeSteps = {
  prune: true,
  dropNulls: true,
  applyDefaults: true,
  malformedMetadata: "reject",
  isResourceRoot: true,
};
const restored: ShapeSteps = { ...admitted, malformedMetadata: "drop" };

export class CompiledSchema {
  readonly root: SchemaNode;
  /** Distinct sub-schemas. */
  readonly nodes: number;
  readonly #evaluator: RuleEvaluator | undefined;
  readonly #rules = new Map<RuleSource, readonly CompiledRule[]>();
  readonly #rootRules = new Map<RuleSource, readonly CompiledRule[]>();

  constructor(root: SchemaNode, nodes: number, options: CompileOptions) {
    this.root = root;
    this.nodes = nodes;
    this.#evaluator = options.evaluator;
  }

  /** Admits a request body: malformed metadata is an error. */
  admit(object: JsonValue): Shaped {
    return shape(object, this.root, admitted);
  }

  /**
   * Admits an object from storage, possibly written under an older schema: malformed metadata is
   * dropped.
   */
  restore(object: JsonValue): Shaped {
    return shape(object, this.root, restored);
  }

  /** Only prunes (a complete resource). */
  prune(object: JsonValue): Shaped {
    return shape(object, this.root, { prune: true, isResourceRoot: true });
  }

  /** Only applies defaults, as after mutating admission. */
  applyDefaults(object: JsonValue): JsonValue {
    return shape(object, this.root, { applyDefaults: true, isResourceRoot: true }).value;
  }

  /** All validation errors of an object; the registry validates its metadata and type. */
  validate(object: JsonValue, options: ValidateOptions = {}): FieldError[] {
    return runSync(this.validateResumable(object, options));
  }

  /** The same, yielding for large objects, and while rules are evaluated. */
  validateResumable(object: JsonValue, { old }: ValidateOptions = {}): Resumable<FieldError[]> {
    return this.#limited(this.#check(object, old), object, old);
  }

  *#check(object: JsonValue, old: JsonValue | undefined): Resumable<FieldError[]> {
    const errors = yield* validateValue(this.root, object, { old });
    const { reach } = this.root;
    if ((reach & reachBit.embedded) !== 0)
      errors.push(...validateEmbeddedResources(this.root, object));
    if ((reach & reachBit.listType) !== 0) errors.push(...this.#validateLists(object, old));
    return errors;
  }

  /**
   * The validation of the status subresource: the status by its own schema, lists and rules over
   * the complete object.
   */
  validateStatus(object: JsonValue, old: JsonValue): FieldError[] {
    return runSync(this.validateStatusResumable(object, old));
  }

  validateStatusResumable(object: JsonValue, old: JsonValue): Resumable<FieldError[]> {
    return this.#limited(this.#checkStatus(object, old), object, old);
  }

  *#checkStatus(object: JsonValue, old: JsonValue): Resumable<FieldError[]> {
    const errors: FieldError[] = [];
    const node = this.root.properties?.get("status");
    if (node !== undefined && isJsonObject(object) && Object.hasOwn(object, "status")) {
      const oldStatus =
        isJsonObject(old) && Object.hasOwn(old, "status") ? old["status"] : undefined;
      const options = { old: oldStatus, base: "status" };
      errors.push(...(yield* validateValue(node, object["status"] as JsonValue, options)));
    }
    errors.push(...this.#validateLists(object, old));
    return errors;
  }

  /** `check`, then the rules. An object that is too expensive to validate is rejected. */
  *#limited(
    check: Resumable<FieldError[]>,
    object: JsonValue,
    old: JsonValue | undefined,
  ): Resumable<FieldError[]> {
    try {
      const errors = yield* check;
      errors.push(...(yield* this.#validateRules(object, old, errors)));
      return errors.length === 0 ? errors : reportedErrors(errors);
    } catch (error) {
      if (!(error instanceof SchemaLimitError)) throw error;
      return [fieldError.invalid("<nil>", "", error.message)];
    }
  }

  #validateLists(object: JsonValue, old: JsonValue | undefined): FieldError[] {
    const errors = validateListTypes(this.root, object);
    if (errors.length === 0 || old === undefined) return errors;
    return validateListTypes(this.root, old).length > 0 ? [] : errors;
  }

  *#validateRules(
    object: JsonValue,
    old: JsonValue | undefined,
    errors: readonly FieldError[],
  ): Resumable<FieldError[]> {
    const evaluator = this.#evaluator;
    if (evaluator === undefined || (this.root.reach & reachBit.rules) === 0) return [];
    if (errors.some(({ type }) => blocking.has(type))) return [rulesNotChecked];
    const lookup: RuleLookup = (source, isResourceRoot) => {
      const cache = isResourceRoot ? this.#rootRules : this.#rules;
      let compiled = cache.get(source);
      if (compiled === undefined) {
        compiled = evaluator.compile(source.rules, { schema: source.schema, isResourceRoot });
        cache.set(source, compiled);
      }
      return compiled;
    };
    const options = { old, isResourceRoot: true, lookup };
    return yield* validateRulesResumable(this.root, object, options);
  }
}

/** Rules assume that types and limits hold: their cost was estimated from these. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const rulesNotChecked = fieldError.invalid(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
);
