/**
 * Checks `x-kubernetes-validations` when a CRD is written: texts first, then (by the evaluator) the
 * expressions, their estimated costs, and whether transition rules are on correlatable values.
 */
import type { JsonValue } from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import {
  type CompiledRule,
  type RuleEvaluator,
  ruleEstimateMax,
  schemaEstimateMax,
} from "./rule-evaluator.ts";
import { resolveSchemaPath } from "./schema-path.ts";
import type { SchemaProps, ValidationRule } from "./schema-props.ts";

const reasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

const hasLineBreaks = (text: string): boolean => /[\n\r]/.test(text);

export function validateRuleTexts(
  rule: ValidationRule,
  schema: SchemaProps,
  path: string,
  errors: FieldError[],
): void {
  const message = rule.message.trim();
  const expression = rule.rule.trim();
  if (expression === "") errors.push(fieldError.required(`${path}.rule`, "rule is not specified"));
  else if (rule.message !== "" && message === "")
    errors.push(
      fieldError.invalid(`${path}.message`, rule.message, "must be non-empty if specified"),
    );
  else if (hasLineBreaks(message))
    errors.push(
      fieldError.invalid(`${path}.message`, rule.message, "must not contain line breaks"),
    );
  else if (hasLineBreaks(expression) && message === "")
    errors.push(
      fieldError.required(
        `${path}.message`,
        "message must be specified if rule contains line breaks",
      ),
    );
  if (rule.messageExpression !== "" && rule.messageExpression.trim() === "")
    errors.push(
      fieldError.required(
        `${path}.messageExpression`,
        "messageExpression must be non-empty if specified",
      ),
    );
  if (rule.reason !== undefined && !reasons.includes(rule.reason))
    errors.push(fieldError.notSupported(`${path}.reason`, rule.reason, reasons));
  validateFieldPath(rule.fieldPath, schema, `${path}.fieldPath`, errors);
}

function validateFieldPath(
  text: string,
  schema: SchemaProps,
  path: string,
  errors: FieldError[],
): void {
  if (text === "") return;
  if (text.trim() === "")
    errors.push(fieldError.invalid(path, text, "must be non-empty if specified"));
  if (hasLineBreaks(text))
    errors.push(fieldError.invalid(path, text, "must not contain line breaks"));
  if ("error" in resolveSchemaPath(text, schema))
    errors.push(fieldError.invalid(path, text, "must be a valid path"));
}

/** The maximum number of values of a sub-schema in one object; undefined without a limit. */
export type Cardinality = number | undefined;

export function childCardinality(schema: SchemaProps, own: Cardinality): Cardinality {
  if (own === undefined) return undefined;
  if (schema.type === "array")
    return schema.maxItems === undefined ? undefined : own * Math.max(0, schema.maxItems);
  if (schema.type === "object" && schema.additionalProperties !== undefined)
    return schema.maxProperties === undefined ? undefined : own * Math.max(0, schema.maxProperties);
  return own;
}

export interface RuleLocation {
  readonly isResourceRoot: boolean;
  readonly uncorrelatable: string | undefined;
  readonly cardinality: Cardinality;
}

export interface RuleCheckOptions {
  /** The schema is the stored one: costs of single rules are not checked again. */
  readonly suppressRuleCost: boolean;
}

interface RuleCost {
  readonly path: string;
  readonly cost: number;
}

const expensiveListedMax = 4;

/** Checks the rules of one schema and sums up their estimated costs. */
export class RuleChecker {
  readonly #evaluator: RuleEvaluator;
  readonly #suppressRuleCost: boolean;
  readonly #costs: RuleCost[] = [];
  #total = 0;

  constructor(evaluator: RuleEvaluator, options: RuleCheckOptions) {
    this.#evaluator = evaluator;
    this.#suppressRuleCost = options.suppressRuleCost;
  }

  check(schema: SchemaProps, path: string, place: RuleLocation): FieldError[] {
    const errors: FieldError[] = [];
    const { isResourceRoot } = place;
    const compiled = this.#evaluator.compile(schema.validations, { schema, isResourceRoot });
    for (const [i, rule] of schema.validations.entries()) {
      const result = compiled[i];
      if (result !== undefined)
        this.#rule(rule, result, `${path}.x-kubernetes-validations[${i}]`, place, errors);
    }
    return errors;
  }

  /** The result over all rules of the schema. */
  totalErrors(path: string): FieldError[] {
    if (this.#total <= schemaEstimateMax) return [];
    const expensive = this.#costs
      .filter(({ cost }) => cost >= schemaEstimateMax / 100)
      .sort((a, b) => b.cost - a.cost)
      .slice(0, expensiveListedMax);
    const detail =
      "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    return [
      ...expensive.map((rule) => fieldError.forbidden(rule.path, detail)),
      fieldError.forbidden(
        path,
        costText(
          "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
          this.#total,
          schemaEstimateMax,
        ),
      ),
    ];
  }

  #rule(
    rule: ValidationRule,
    result: CompiledRule,
    path: string,
    place: RuleLocation,
    errors: FieldError[],
  ): void {
    const cost = result.maxCost * (place.cardinality ?? result.maxCardinality);
    this.#observe(`${path}.rule`, "estimated rule cost", cost, errors);
    if (result.error !== undefined)
      errors.push(fieldError.invalid(`${path}.rule`, goRule(rule), result.error));
    if (result.messageError !== undefined) {
      const at = `${path}.messageExpression`;
      errors.push(fieldError.invalid(at, goRule(rule), result.messageError));
    } else if (result.evaluateMessage !== undefined) {
      const at = `${path}.messageExpression`;
      this.#observe(at, "estimated messageExpression cost", result.messageMaxCost, errors);
    }
    if (result.usesOldSelf) {
      if (place.uncorrelatable !== undefined) {
        const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
        errors.push(fieldError.invalid(`${path}.rule`, rule.rule, detail));
      }
    } else if (rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      errors.push(fieldError.invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, detail));
    }
  }

  #observe(path: string, what: string, cost: number, errors: FieldError[]): void {
    if (!this.#suppressRuleCost && cost > ruleEstimateMax)
      errors.push(fieldError.forbidden(path, costText(what, cost, ruleEstimateMax)));
    this.#total += cost;
    this.#costs.push({ path, cost });
  }
}

function costText(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const times =
    factor > 100
      ? "more than 100x"
      : factor < 1.5
        ? `${factor.toFixed(6)}x`
        : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${times} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/** Upstream shows the Go struct of the rule as JSON. */
function goRule(rule: ValidationRule): JsonValue {
  return {
    Rule: rule.rule,
    Message: rule.message,
    MessageExpression: rule.messageExpression,
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath,
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
