/**
 * Runs the rules of a schema over an object: the old value of a rule, the error of a failure, and
 * the ratcheting of unchanged values. A RuleEvaluator evaluates the expressions.
 */
import { isResumable, type Resumable, runSync } from "../base/index.ts";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { utf8Length } from "./format-net.ts";
import { errorsMax } from "./limits.ts";
import { correlateItems } from "./list-correlation.ts";
import {
  type CompiledRule,
  type MessageOutcome,
  type RuleOutcome,
  ruleCallCostMax,
  ruleMessageBytesMax,
  ruleObjectCostMax,
} from "./rule-evaluator.ts";
import { type RuleSource, reachBit, type SchemaNode } from "./schema-node.ts";
import { resolveSchemaPath } from "./schema-path.ts";
import type { ValidationRule } from "./schema-props.ts";
import { fieldPath, type PathSegment } from "./value-path.ts";

/** Returns the compiled rules of a node; compiling is expensive and happens at first use. */
export type RuleLookup = (source: RuleSource, isResourceRoot: boolean) => readonly CompiledRule[];

export interface RuleOptions {
  readonly old: JsonValue | undefined;
  /** The value is a whole resource. */
  readonly isResourceRoot: boolean;
  readonly lookup: RuleLookup;
  /** Shared by several values; a new one if absent. */
  readonly budget?: RuleBudget;
}

/** The remaining cost of rules. */
export interface RuleBudget {
  /** Negative: no further rule is run. */
  left: number;
}

/**
 * Run-time cost of rules, and a little for each of them, after which the work yields: some
 * milliseconds.
 */
export const ruleCostPerYield = 250_000;
const costOfCall = 50;

export function validateRules(
  root: SchemaNode,
  value: JsonValue,
  options: RuleOptions,
): FieldError[] {
  return runSync(validateRulesResumable(root, value, options));
}

/** The same, resumably. */
export function* validateRulesResumable(
  root: SchemaNode,
  value: JsonValue,
  { old, isResourceRoot, lookup, budget = { left: ruleObjectCostMax } }: RuleOptions,
): Resumable<FieldError[]> {
  const walk = new RuleWalk(lookup, budget);
  const correlation = old === undefined ? undefined : new Correlation(value, old);
  yield* walk.value(root, value, { old, current: correlation, parent: undefined }, isResourceRoot);
  return walk.errors;
}

/** A new value with its old one, compared at most once. */
class Correlation {
  readonly #value: JsonValue;
  readonly #old: JsonValue;
  #equal: boolean | undefined;

  constructor(value: JsonValue, old: JsonValue) {
    this.#value = value;
    this.#old = old;
  }

  isUnchanged(): boolean {
    this.#equal ??= jsonEqual(this.#old, this.#value);
    return this.#equal;
  }
}

interface Position {
  readonly old: JsonValue | undefined;
  readonly current: Correlation | undefined;
  /** The nearest correlatable ancestor, for values that do not correlate. */
  readonly parent: Correlation | undefined;
}

const nowhere: Position = { old: undefined, current: undefined, parent: undefined };

class RuleWalk {
  readonly errors: FieldError[] = [];
  readonly #lookup: RuleLookup;
  readonly #path: PathSegment[] = [];
  readonly #budget: RuleBudget;
  /** The remaining cost at which the rules have cost enough for one step. */
  #restAt: number;

  constructor(lookup: RuleLookup, budget: RuleBudget) {
    this.#lookup = lookup;
    this.#budget = budget;
    this.#restAt = budget.left - ruleCostPerYield;
  }

  *value(node: SchemaNode, value: JsonValue, position: Position, isRoot: boolean): Resumable<void> {
    if (value === null || (node.reach & reachBit.rules) === 0) return;
    if (this.#budget.left < 0 || this.errors.length >= errorsMax) return;
    if (node.rules !== undefined) {
      yield* this.#rules(node, node.rules, value, position, isRoot);
    }
    if (Array.isArray(value)) yield* this.#array(node, value, position);
    else if (isJsonObject(value)) yield* this.#object(node, value, position, isRoot);
  }

  *#object(
    node: SchemaNode,
    value: JsonObject,
    position: Position,
    isRoot: boolean,
  ): Resumable<void> {
    for (const key of Object.keys(value)) {
      const property = node.properties?.get(key);
      const child = property ?? (typeof node.additional === "object" ? node.additional : undefined);
      if (child === undefined || (child.reach & reachBit.rules) === 0) continue;
      const member = value[key] as JsonValue;
      const old =
        isJsonObject(position.old) && Object.hasOwn(position.old, key)
          ? position.old[key]
          : undefined;
      // Old and new were converted to the same version, so a change of these two would be
      // invisible.
      const hidden = isRoot && (key === "apiVersion" || key === "kind");
      const next = hidden ? { ...nowhere, old } : descend(position, member, old);
      this.#path.push(property === undefined ? [key] : key);
      yield* this.value(child, member, next, false);
      this.#path.pop();
    }
  }

  *#array(node: SchemaNode, value: readonly JsonValue[], position: Position): Resumable<void> {
    if (node.items === undefined || (node.items.reach & reachBit.rules) === 0) return;
    const oldItems = correlateItems(node, position.old);
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      this.#path.push(i);
      yield* this.value(node.items, item, descend(position, item, oldItems.get(item)), false);
      this.#path.pop();
    }
  }

  *#rules(
    node: SchemaNode,
    source: RuleSource,
    value: JsonValue,
    position: Position,
    isRoot: boolean,
  ): Resumable<void> {
    const compiled = this.#lookup(source, isRoot || node.embedded);
    if (this.#budget.left === 0) {
      this.#stop(node, outOfBudget);
      return;
    }
    const oldSelf = position.old === null ? undefined : position.old;
    for (const [i, rule] of source.rules.entries()) {
      const program = compiled[i];
      if (program === undefined || rule.rule.trim() === "") continue;
      if (program.error !== undefined) {
        this.#fault(node, `rule compile error: ${program.error}`);
        continue;
      }
      // A transition rule needs an old value, unless it has `optionalOldSelf`.
      if (program.usesOldSelf && oldSelf === undefined && rule.optionalOldSelf !== true) continue;
      const run: RuleRun = { node, rule, program, self: value, oldSelf, position };
      const work = program.evaluate({ self: value, oldSelf }, ruleCallCostMax);
      const outcome = isResumable(work) ? yield* work : work;
      const result = this.#judge(run, outcome);
      if (result === "stop") return;
      if (result === "failed") {
        const said = program.evaluateMessage?.({ self: value, oldSelf }, ruleCallCostMax);
        const message = said !== undefined && isResumable(said) ? yield* said : said;
        if (!this.#failure(run, source, message)) return;
      }
      this.#restAt += costOfCall;
      if (this.#budget.left > this.#restAt) continue;
      this.#restAt = this.#budget.left - ruleCostPerYield;
      yield;
    }
  }

  /** `stop`: no further rule may run. */
  #judge({ node, rule, program, position }: RuleRun, outcome: RuleOutcome): Verdict {
    if (outcome.cost > this.#budget.left) {
      this.#stop(node, outOfBudget);
      return "stop";
    }
    this.#budget.left -= outcome.cost;
    if ("exceeded" in outcome) {
      const text = `'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleName(rule)}`;
      this.#stop(node, text);
      return "stop";
    }
    if ("error" in outcome) {
      this.#fault(
        node,
        outcome.error.startsWith("no such overload")
          ? `'${outcome.error}': call arguments did not match a supported operator, function or macro signature for rule: ${ruleName(rule)}`
          : `${outcome.error} evaluating rule: ${ruleName(rule)}`,
      );
      return "done";
    }
    if (outcome.result) return "done";
    return !program.usesOldSelf && isForgiven(position) ? "done" : "failed";
  }

  /** False: no further rule may run. */
  #failure(run: RuleRun, source: RuleSource, outcome: MessageOutcome | undefined): boolean {
    const { node, rule, self } = run;
    let detail = rule.message === "" ? `failed rule: ${ruleName(rule)}` : rule.message.trim();
    if (outcome !== undefined) {
      if (outcome.cost > this.#budget.left)
        return this.#stop(
          node,
          "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run",
        );
      this.#budget.left -= outcome.cost;
      if ("exceeded" in outcome)
        return this.#stop(
          node,
          `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`,
        );
      // An unusable message falls back to the plain one.
      if ("message" in outcome && isUsableMessage(outcome.message)) detail = outcome.message.trim();
    }
    const relative =
      rule.fieldPath === "" ? undefined : resolveSchemaPath(rule.fieldPath, source.schema);
    const path =
      relative !== undefined && "path" in relative ? [...this.#path, ...relative.path] : this.#path;
    this.errors.push(ruleError(fieldPath(path), self, detail, rule.reason));
    return true;
  }

  #fault(node: SchemaNode, detail: string): void {
    this.errors.push(fieldError.invalid(fieldPath(this.#path), node.typeText, detail));
  }

  #stop(node: SchemaNode, detail: string): false {
    this.#fault(node, detail);
    this.#budget.left = -1;
    return false;
  }
}

type Verdict = "done" | "failed" | "stop";

interface RuleRun {
  readonly node: SchemaNode;
  readonly rule: ValidationRule;
  readonly program: CompiledRule;
  readonly self: JsonValue;
  readonly oldSelf: JsonValue | undefined;
  readonly position: Position;
}

const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

function descend(position: Position, value: JsonValue, old: JsonValue | undefined): Position {
  if (position.current === undefined) return { old, current: undefined, parent: position.parent };
  return {
    old,
    current: old === undefined ? undefined : new Correlation(value, old),
    parent: position.current,
  };
}

function isForgiven({ current, parent }: Position): boolean {
  return (current ?? parent)?.isUnchanged() === true;
}

function ruleName(rule: ValidationRule): string {
  return (rule.message === "" ? rule.rule : rule.message).trim();
}

function isUsableMessage(message: string): boolean {
  const text = message.trim();
  return text !== "" && !text.includes("\n") && utf8Length(text) <= ruleMessageBytesMax;
}

/** Objects and arrays are omitted from the text; a scalar is shown. */
function ruleError(
  field: string,
  value: JsonValue,
  detail: string,
  reason: string | undefined,
): FieldError {
  const isCompound = typeof value === "object";
  switch (reason) {
    case "FieldValueForbidden":
      return fieldError.forbidden(field, detail);
    case "FieldValueRequired":
      return fieldError.required(field, detail);
    case "FieldValueDuplicate":
      return isCompound
        ? { type: "FieldValueDuplicate", field, body: "Duplicate value" }
        : fieldError.duplicate(field, value);
    default:
      return isCompound
        ? { type: "FieldValueInvalid", field, body: `Invalid value: ${detail}` }
        : fieldError.invalid(field, value, detail);
  }
}
