/** The common base of validating and mutating policies. */
import { createHash } from "node:crypto";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import type { Variable } from "../expressions/evaluator.ts";
import { type Expression, expressionOf } from "../expressions/expression.ts";
import { readMatchConditions } from "../expressions/match-conditions.ts";
import { type MatchCriteria, readMatchCriteria } from "../matching/criteria.ts";

export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Expressions are compiled when the policy is first evaluated: reading a policy is cheap. */
export class Policy {
  readonly criteria: MatchCriteria;
  readonly paramKind: ParamKind | undefined;
  readonly isIgnored: boolean;
  protected readonly spec: JsonObject;
  #conditions: readonly Expression[] | undefined;
  #variables: readonly Variable[] | undefined;

  constructor(spec: JsonObject) {
    const { matchConstraints, paramKind, failurePolicy } = spec;
    this.spec = spec;
    this.criteria = readMatchCriteria(
      isJsonObject(matchConstraints) ? matchConstraints : {},
      "resourceRules",
    );
    this.isIgnored = failurePolicy === "Ignore";
    this.paramKind = isJsonObject(paramKind)
      ? { apiVersion: String(paramKind["apiVersion"]), kind: String(paramKind["kind"]) }
      : undefined;
  }

  get conditions(): readonly Expression[] {
    this.#conditions ??= readMatchConditions(this.spec["matchConditions"]);
    return this.#conditions;
  }

  get variables(): readonly Variable[] {
    this.#variables ??= objectsOf(this.spec["variables"]).map(({ name, expression }) => ({
      name: String(name),
      expression: expressionOf(String(expression), "variable"),
    }));
    return this.#variables;
  }
}

/** Equal contents have equal keys. */
export function contentKey(value: JsonValue): string {
  return createHash("sha256").update(stringifyJson(value)).digest("base64url");
}
