/**
 * The rules of a CRD's schema beyond being structural: supported keywords, topology of lists and
 * maps, positions of defaults, and `x-kubernetes-validations`.
 *
 * Schema errors and rule errors are collected separately, because rules on an invalid schema are
 * not compiled.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { schemaNodesPerStep } from "./limits.ts";
import { validateListTopology, validateMapTopology } from "./list-topology.ts";
import {
  type Cardinality,
  childCardinality,
  type RuleChecker,
  validateRuleTexts,
} from "./rule-checks.ts";
import { isLeaf, isSchema, itemSchema, type SchemaProps } from "./schema-props.ts";

/** Requirements on new schemas that are tolerated where the stored schema already violates them. */
export interface SchemaRuleOptions {
  readonly requireValidPropertyType: boolean;
  readonly requireAtomicSetType: boolean;
  readonly requireMapListKeys: boolean;
}

export const strictSchemaRules: SchemaRuleOptions = {
  requireValidPropertyType: true,
  requireAtomicSetType: true,
  requireMapListKeys: true,
};

export const schemaTypes: ReadonlySet<string> = new Set([
  "array",
  "boolean",
  "integer",
  "number",
  "object",
  "string",
]);

/**
 * Rules are compiled only when a checker is given: the caller has one once the schema is known to
 * be structural.
 */
export function* validateSchemaRules(
  schema: SchemaProps,
  path: string,
  options: SchemaRuleOptions,
  checker: RuleChecker | undefined,
): Resumable<FieldError[]> {
  const walk = new SchemaRuleWalk(options, checker);
  const found = yield* walk.node(schema, path, rootPosition);
  return [...found.schemaErrors, ...found.ruleErrors];
}

interface Position {
  readonly isRoot: boolean;
  /** Undefined: defaults are allowed here. */
  readonly defaultsForbidden: string | undefined;
  /** Inside apiVersion, kind or metadata of a resource. */
  readonly insideMeta: boolean;
  /** The first ancestor whose children cannot be correlated between two states of an object. */
  readonly uncorrelatable: string | undefined;
  /** Inside a junctor, where rules are not compiled. */
  readonly isNested: boolean;
  readonly cardinality: Cardinality;
}

const rootPosition: Position = {
  isRoot: true,
  defaultsForbidden: undefined,
  insideMeta: false,
  uncorrelatable: undefined,
  isNested: false,
  cardinality: 1,
};

interface Found {
  readonly schemaErrors: FieldError[];
  readonly ruleErrors: FieldError[];
}

type Visit = (child: SchemaProps, at: string, changed: Partial<Position>) => Resumable<void>;

const metaFields: ReadonlySet<string> = new Set(["metadata", "kind", "apiVersion"]);

class SchemaRuleWalk {
  readonly #options: SchemaRuleOptions;
  readonly #checker: RuleChecker | undefined;
  readonly #pace = new YieldCounter(schemaNodesPerStep);

  constructor(options: SchemaRuleOptions, checker: RuleChecker | undefined) {
    this.#options = options;
    this.#checker = checker;
  }

  *node(schema: SchemaProps, path: string, position: Position): Resumable<Found> {
    if (this.#pace.isTime()) yield;
    const found: Found = { schemaErrors: this.#keywords(schema, path, position), ruleErrors: [] };
    yield* this.#children(schema, path, position, found);
    this.#own(schema, path, position, found);
    return found;
  }

  /** A schema without sub-schemas, as most are: a generator for each would take megabytes. */
  #leaf(schema: SchemaProps, path: string, position: Position, parent: Found): void {
    const found: Found = { schemaErrors: this.#keywords(schema, path, position), ruleErrors: [] };
    this.#own(schema, path, position, found);
    addErrors(parent, found);
  }

  /** What is validated after the sub-schemas. */
  #own(schema: SchemaProps, path: string, position: Position, found: Found): void {
    const errors = found.schemaErrors;
    if (schema.preserveUnknownFields === false) {
      const at = `${path}.x-kubernetes-preserve-unknown-fields`;
      errors.push(fieldError.invalid(at, false, "must be true or undefined"));
    }
    validateMapTopology(schema, path, errors);
    validateListTopology(schema, path, this.#options, errors);
    for (const [i, rule] of schema.validations.entries())
      validateRuleTexts(rule, schema, `${path}.x-kubernetes-validations[${i}]`, errors);
    if (
      schema.validations.length > 0 &&
      errors.length === 0 &&
      this.#checker !== undefined &&
      !position.isNested
    ) {
      found.ruleErrors.push(
        ...this.#checker.check(schema, path, {
          isResourceRoot: position.isRoot || schema.embeddedResource,
          uncorrelatable: position.uncorrelatable,
          cardinality: position.cardinality,
        }),
      );
    }
  }

  #keywords(schema: SchemaProps, path: string, position: Position): FieldError[] {
    const errors: FieldError[] = [];
    const forbid = (keyword: string, detail: string): void => {
      errors.push(fieldError.forbidden(`${path}.${keyword}`, detail));
    };
    if (
      this.#options.requireValidPropertyType &&
      schema.type !== "" &&
      !schemaTypes.has(schema.type)
    )
      errors.push(fieldError.notSupported(`${path}.type`, schema.type, [...schemaTypes]));
    if (schema.default !== undefined && position.defaultsForbidden !== undefined)
      forbid("default", `must not be set ${position.defaultsForbidden}`.trimEnd());
    const marks = schema.unsupported;
    if (marks !== undefined) {
      if (marks.id !== "") forbid("id", "id is not supported");
      if (marks.additionalItems) forbid("additionalItems", "additionalItems is not supported");
      if (marks.patternProperties)
        forbid("patternProperties", "patternProperties is not supported");
      if (marks.definitions) forbid("definitions", "definitions is not supported");
      if (marks.dependencies) forbid("dependencies", "dependencies is not supported");
      if (marks.ref !== undefined) forbid("$ref", "$ref is not supported");
    }
    if (schema.type === "null")
      forbid("type", "type cannot be set to null, use nullable as an alternative");
    if (Array.isArray(schema.items) && schema.items.length > 0)
      forbid("items", "items must be a schema object and not an array");
    if (position.insideMeta && schema.embeddedResource)
      forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    if (schema.uniqueItems)
      forbid(
        "uniqueItems",
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      );
    const additional = schema.additionalProperties;
    if (additional !== undefined && additional !== true && (schema.properties?.size ?? 0) > 0)
      forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
    return errors;
  }

  *#children(schema: SchemaProps, path: string, position: Position, found: Found): Resumable<void> {
    const visit: Visit = (child, at, changed) =>
      this.#child(child, at, { ...position, isRoot: false, ...changed }, found);
    const cardinality = childCardinality(schema, position.cardinality);
    if (isSchema(schema.additionalProperties)) {
      const defaultsForbidden = position.insideMeta
        ? "inside additionalProperties applying to object metadata"
        : position.defaultsForbidden;
      yield* visit(schema.additionalProperties, `${path}.additionalProperties`, {
        cardinality,
        defaultsForbidden,
      });
    }
    const mapCorrelates =
      schema.mapType === undefined || schema.mapType === "granular" || schema.mapType === "atomic";
    const isResource = position.isRoot || schema.embeddedResource;
    const ofProperties: Position = {
      ...position,
      isRoot: false,
      cardinality,
      uncorrelatable: mapCorrelates ? position.uncorrelatable : (position.uncorrelatable ?? path),
    };
    for (const [name, property] of schema.properties ?? []) {
      if (this.#pace.isTime()) yield;
      const at = `${path}.properties[${name}]`;
      const of =
        isResource && metaFields.has(name)
          ? inMetadata(ofProperties, position, name)
          : ofProperties;
      if (isLeaf(property)) this.#leaf(property, at, of, found);
      else yield* this.#child(property, at, of, found);
    }
    if (hasJunctor(schema)) yield* this.#junctors(schema, path, visit);
    // Items of a set correlate only by equality, which is useless for a transition rule.
    const uncorrelatable =
      schema.listType === "map" ? position.uncorrelatable : (position.uncorrelatable ?? path);
    const items = itemSchema(schema);
    if (items !== undefined) yield* visit(items, `${path}.items`, { cardinality, uncorrelatable });
    else if (Array.isArray(schema.items)) {
      for (const [i, item] of schema.items.entries())
        yield* visit(item as SchemaProps, `${path}.items[${i}]`, { cardinality, uncorrelatable });
    }
  }

  *#child(child: SchemaProps, at: string, position: Position, found: Found): Resumable<void> {
    addErrors(found, yield* this.node(child, at, position));
  }

  *#junctors(schema: SchemaProps, path: string, visit: Visit): Resumable<void> {
    const isNested = true;
    if (schema.not !== undefined) yield* visit(schema.not, `${path}.not`, { isNested });
    for (const keyword of ["allOf", "oneOf", "anyOf"] as const) {
      for (const [i, branch] of schema[keyword].entries())
        yield* visit(branch, `${path}.${keyword}[${i}]`, { isNested });
    }
  }
}

function inMetadata(position: Position, parent: Position, name: string): Position {
  const { defaultsForbidden } = position;
  return {
    ...position,
    insideMeta: true,
    defaultsForbidden: parent.isRoot ? `in top-level ${name}` : defaultsForbidden,
  };
}

function addErrors(found: Found, below: Found): void {
  for (const error of below.schemaErrors) found.schemaErrors.push(error);
  for (const error of below.ruleErrors) found.ruleErrors.push(error);
}

function hasJunctor({ not, allOf, oneOf, anyOf }: SchemaProps): boolean {
  return not !== undefined || allOf.length > 0 || oneOf.length > 0 || anyOf.length > 0;
}
