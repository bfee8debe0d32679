/**
 * Validates defaults: a default must be a value that a client could send, without unknown fields
 * and valid by its schema.
 *
 * A default inside metadata is validated as part of a complete resource, because only a resource is
 * known to be valid or not.
 */
import { type Resumable, runSync, YieldCounter } from "../base/index.ts";
import { type JsonValue, jsonEqual } from "../json/index.ts";
import { aggregate, type FieldError, fieldError, formatFieldError } from "../status/index.ts";
import type { NodeCompiler } from "./compile-node.ts";
import { validateEmbeddedResources } from "./embedded-meta.ts";
import { SchemaLimitError, schemaNodesPerStep } from "./limits.ts";
import { type RuleEvaluator, ruleObjectCostMax } from "./rule-evaluator.ts";
import type { SchemaNode } from "./schema-node.ts";
import { itemSchema, type SchemaProps } from "./schema-props.ts";
import { shape } from "./shape.ts";
import { type RuleBudget, validateRules } from "./validate-rules.ts";
import { validateValue } from "./validate-value.ts";

export interface DefaultOptions {
  readonly compiler: NodeCompiler;
  /** Tolerated where the stored schema already has such defaults. */
  readonly requirePruned: boolean;
  readonly evaluator: RuleEvaluator | undefined;
}

/** `root` is the schema of a complete, structural resource. */
export function* validateDefaults(
  root: SchemaProps,
  path: string,
  options: DefaultOptions,
): Resumable<FieldError[]> {
  const walk = new DefaultWalk(options);
  const resource = { ...root, embeddedResource: true };
  yield* options.compiler.compileResumable(root);
  yield* walk.schema(resource, path, { resource, wrap: withTypeMeta, insideMeta: false });
  return walk.errors;
}

/** True when a default of the schema would lose fields by pruning. */
export function hasUnprunedDefaults(root: SchemaProps, compiler: NodeCompiler): boolean {
  const options = { compiler, requirePruned: true, evaluator: undefined };
  return runSync(validateDefaults(root, "", options)).some(({ body }) =>
    body.endsWith(unknownFieldsText),
  );
}

const unknownFieldsText = "must not have unknown fields";

interface Place {
  /** The nearest resource that contains the schema. */
  readonly resource: SchemaProps;
  /** Builds such a resource around a value at this path. */
  readonly wrap: (value: JsonValue) => JsonValue;
  readonly insideMeta: boolean;
}

function withTypeMeta(value: JsonValue): JsonValue {
  return { apiVersion: "validation/v1", kind: "Validation", ...(value as object) };
}

class DefaultWalk {
  readonly errors: FieldError[] = [];
  readonly #options: DefaultOptions;
  readonly #pace = new YieldCounter(schemaNodesPerStep);
  /** One validator for all defaults: a schema can have thousands of them. */
  readonly #budget: RuleBudget = { left: ruleObjectCostMax };

  constructor(options: DefaultOptions) {
    this.#options = options;
  }

  *schema(schema: SchemaProps, path: string, outer: Place): Resumable<void> {
    if (this.#pace.isTime()) yield;
    const place: Place = schema.embeddedResource
      ? { resource: schema, wrap: withTypeMeta, insideMeta: false }
      : outer;
    if (schema.default !== undefined) {
      this.#limited(schema, schema.default, `${path}.default`, place);
      if (schema.validations.length > 0 || typeof schema.default === "object") yield;
    }
    // Values of maps have no defaults worth checking: they have no key.
    const items = itemSchema(schema);
    if (items !== undefined)
      yield* this.schema(items, `${path}.items`, {
        ...place,
        wrap: (value) => place.wrap([value]),
      });
    for (const [name, property] of schema.properties ?? []) {
      const isMeta =
        schema.embeddedResource &&
        (name === "metadata" || name === "apiVersion" || name === "kind");
      yield* this.schema(property, `${path}.properties[${name}]`, {
        resource: place.resource,
        wrap: (value) => place.wrap(Object.fromEntries([[name, value]])),
        insideMeta: place.insideMeta || isMeta,
      });
    }
  }

  #limited(schema: SchemaProps, value: JsonValue, path: string, place: Place): void {
    try {
      if (place.insideMeta) this.#metaDefault(schema, value, path, place);
      else this.#plainDefault(schema, value, path);
    } catch (error) {
      if (!(error instanceof SchemaLimitError)) throw error;
      this.errors.push(fieldError.invalid(path, "", error.message));
    }
  }

  #metaDefault(schema: SchemaProps, value: JsonValue, path: string, place: Place): void {
    const resource = this.#options.compiler.compile(place.resource);
    const whole = place.wrap(value);
    const shaped = shape(whole, resource, { malformedMetadata: "reject", isResourceRoot: true });
    const problems =
      shaped.error !== undefined
        ? [shaped.error]
        : validateEmbeddedResources(resource, whole, { isResourceRoot: !resource.embedded });
    if (problems.length > 0) {
      const detail = `must result in valid metadata: ${aggregate(problems.map(formatFieldError))}`;
      this.errors.push(fieldError.invalid(path, value, detail));
      return;
    }
    this.#value(this.#options.compiler.compile(schema), value, path);
  }

  #plainDefault(schema: SchemaProps, value: JsonValue, path: string): void {
    const node = this.#options.compiler.compile(schema);
    const isResourceRoot = schema.embeddedResource;
    if (this.#options.requirePruned) {
      const pruned = shape(value, node, { prune: true, isResourceRoot });
      if (pruned.value !== value && !jsonEqual(pruned.value, value))
        this.errors.push(fieldError.invalid(path, value, unknownFieldsText));
    }
    const coerced = shape(value, node, { malformedMetadata: "reject", isResourceRoot });
    const embedded = validateEmbeddedResources(node, value).map((error) => rebased(error, path));
    if (coerced.error !== undefined) this.errors.push(rebased(coerced.error, path));
    else if (embedded.length > 0) this.errors.push(...embedded);
    else this.#value(node, value, path);
  }

  #value(node: SchemaNode, value: JsonValue, path: string): void {
    const found = runSync(validateValue(node, value, { base: path }));
    if (found.length > 0) {
      this.errors.push(...found);
      return;
    }
    const { evaluator } = this.#options;
    if (evaluator === undefined) return;
    const run = (old: JsonValue | undefined): FieldError[] =>
      validateRules(node, value, {
        old,
        isResourceRoot: node.embedded,
        budget: this.#budget,
        lookup: (source, isResourceRoot) =>
          evaluator.compile(source.rules, { schema: source.schema, isResourceRoot }),
      }).map((error) => rebased(error, path));
    // Once as an unchanged value, and once as a new one.
    const unchanged = run(value);
    this.errors.push(...(unchanged.length > 0 ? unchanged : run(undefined)));
  }
}

function rebased(error: FieldError, path: string): FieldError {
  const { field } = error;
  if (field === "<nil>") return { ...error, field: path };
  return { ...error, field: field.startsWith("[") ? path + field : `${path}.${field}` };
}
