/**
 * The interface to CEL: an engine that compiles and evaluates `x-kubernetes-validations`.
 *
 * The engine knows expressions, types and costs. This folder knows schemas and objects: the
 * positions of rules, the correlation of old and new values, the error of a failed rule, and when
 * rules are not run at all.
 */
import type { MaybeResumable, Resumable } from "../base/index.ts";
import type { JsonValue } from "../json/index.ts";
import type { SchemaProps, ValidationRule } from "./schema-props.ts";

export interface RuleEvaluator {
  /**
   * Compiles the rules of one sub-schema; the result has one entry per rule, in order. Must not
   * throw for bad rules.
   */
  compile(rules: readonly ValidationRule[], context: RuleContext): readonly CompiledRule[];

  /** The same, in advance and resumably: `compile` then returns the result. */
  prepare?(rules: readonly ValidationRule[], context: RuleContext): Resumable<void>;
}

export interface RuleContext {
  /** The sub-schema of the rules: the type of `self`. */
  readonly schema: SchemaProps;
  /**
   * `self` is a complete resource, so apiVersion, kind and metadata.name/generateName exist even if
   * the schema does not declare them.
   */
  readonly isResourceRoot: boolean;
}

export interface CompiledRule {
  /**
   * Why the rule cannot run, e.g. `compilation failed: ERROR: <input>:1:6: undefined field 'x'…`.
   */
  readonly error: string | undefined;
  /** Why the message expression cannot run. */
  readonly messageError: string | undefined;
  /**
   * A transition rule: it runs only where there is an old value, or gets an optional with
   * `optionalOldSelf`.
   */
  readonly usesOldSelf: boolean;
  /** Worst cases, estimated from the schema's limits, for one evaluation. */
  readonly maxCost: number;
  readonly messageMaxCost: number;
  /**
   * The maximum number of occurrences of the sub-schema in the largest possible request; used where
   * no parent limits it.
   */
  readonly maxCardinality: number;

  /** Resumable work where it may take long. */
  evaluate(values: RuleValues, costMax: number): MaybeResumable<RuleOutcome>;

  /** Present when the rule has a message expression that compiled. */
  evaluateMessage:
    | ((values: RuleValues, costMax: number) => MaybeResumable<MessageOutcome>)
    | undefined;
}

export interface RuleValues {
  readonly self: JsonValue;
  /**
   * Undefined: there is no old value. With `optionalOldSelf` the engine then passes
   * `optional.none()`.
   */
  readonly oldSelf: JsonValue | undefined;
}

/** `cost` is the actual cost. */
export type RuleOutcome =
  | { readonly result: boolean; readonly cost: number }
  /** A run-time error: `no such key: x`, `division by zero`. */
  | { readonly error: string; readonly cost: number }
  /** `costMax` was reached and the evaluation was stopped. */
  | { readonly exceeded: true; readonly cost: number };

export type MessageOutcome =
  | { readonly message: string; readonly cost: number }
  | { readonly error: string; readonly cost: number }
  | { readonly exceeded: true; readonly cost: number };

/** Run-time cost of one evaluation. */
export const ruleCallCostMax = 1_000_000;

/** Run-time cost of all rules for one object. */
export const ruleObjectCostMax = 10_000_000;

/** Estimated cost of one rule when a CRD is written. */
export const ruleEstimateMax = 10_000_000;

/** Estimated cost of all rules of one schema when a CRD is written. */
export const schemaEstimateMax = 100_000_000;

/** The maximum UTF-8 bytes of a message expression's result. */
export const ruleMessageBytesMax = 5_120;
