/**
 * `x-kubernetes-validations` in CEL: the engine with which structural schemas compile and evaluate
 * their rules.
 *
 * Its only state is the cache of compiled rules; a compiled schema keeps its rules for as long as
 * it lives.
 */
import { type MaybeResumable, type Resumable, runSync } from "@kcp-ts/machinery/base";
import {
  BOOL,
  CelError,
  COST_PER_CALL_MAX,
  type Compilation,
  compileResumable,
  declaredDynamic,
  declaredOptional,
  type Environment,
  type Evaluation,
  estimateCost,
  kubernetesEnvironment,
  type Program,
  STRING,
} from "@kcp-ts/machinery/cel";
import type {
  CompiledRule,
  MessageOutcome,
  RuleContext,
  RuleEvaluator,
  RuleOutcome,
  RuleValues,
  ValidationRule,
} from "@kcp-ts/machinery/schema";
import { declareSchema } from "./declared-schema.ts";

/** The bytes of the largest request, which limit how often a sub-schema can occur. */
const requestBytesMax = 3 << 20;

export const ruleEngine = {
  compile(rules: readonly ValidationRule[], context: RuleContext): readonly CompiledRule[] {
    return knownIn(context).get(rules) ?? runSync(compileInto(rules, context));
  },
  *prepare(rules: readonly ValidationRule[], context: RuleContext): Resumable<void> {
    if (!knownIn(context).has(rules)) yield* compileInto(rules, context);
  },
} satisfies RuleEvaluator;

function knownIn({ isResourceRoot }: RuleContext): typeof compiledRules {
  return isResourceRoot ? compiledRoots : compiledRules;
}

function* compileInto(
  rules: readonly ValidationRule[],
  context: RuleContext,
): Resumable<readonly CompiledRule[]> {
  const compiled = yield* compileRules(rules, context);
  knownIn(context).set(rules, compiled);
  return compiled;
}

/** By the rules of a sub-schema: finds rules that were compiled ahead. */
const compiledRules = new WeakMap<readonly ValidationRule[], readonly CompiledRule[]>();
const compiledRoots = new WeakMap<readonly ValidationRule[], readonly CompiledRule[]>();

function* compileRules(
  rules: readonly ValidationRule[],
  context: RuleContext,
): Resumable<readonly CompiledRule[]> {
  const self = declareSchema(context.schema, context.isResourceRoot) ?? declaredDynamic;
  const maxCardinality = Math.floor(requestBytesMax / (self.serializedBytesMin + 1));
  const plain = kubernetesEnvironment.extend({ variables: { self, oldSelf: self } });
  let optional: Environment | undefined;
  const compiled: CompiledRule[] = [];
  for (const rule of rules) {
    if (rule.optionalOldSelf === true)
      optional ??= kubernetesEnvironment.extend({
        variables: { self, oldSelf: declaredOptional(self) },
      });
    const environment = rule.optionalOldSelf === true ? (optional ?? plain) : plain;
    compiled.push(yield* compileRule(rule, environment, maxCardinality));
    yield;
  }
  return compiled;
}

function* compileRule(
  rule: ValidationRule,
  environment: Environment,
  maxCardinality: number,
): Resumable<CompiledRule> {
  const compiled = yield* compileResumable(rule.rule, environment, { resultTypes: [BOOL] });
  yield;
  const message =
    rule.messageExpression.trim() === ""
      ? undefined
      : yield* compileResumable(rule.messageExpression, environment, { resultTypes: [STRING] });
  yield;
  const program = compiled.ok ? compiled.program : undefined;
  const maxCost = program === undefined ? 0 : estimateCost(program.checked, environment).max;
  yield;
  return {
    error: errorOf(compiled, "compilation failed", "cel expression must evaluate to a bool"),
    messageError:
      message === undefined
        ? undefined
        : errorOf(
            message,
            "messageExpression compilation failed",
            "messageExpression must evaluate to a string",
          ),
    usesOldSelf: program?.variables.includes("oldSelf") === true,
    maxCost,
    messageMaxCost:
      message?.ok === true ? estimateCost(message.program.checked, environment).max : 0,
    maxCardinality,
    evaluate: (values, costMax) =>
      program === undefined
        ? { error: "the rule does not compile", cost: 0 }
        : evaluate(program, rule, values, costMax, ruleOutcome),
    evaluateMessage:
      message?.ok === true
        ? (values, costMax) => evaluate(message.program, rule, values, costMax, messageOutcome)
        : undefined,
  };
}

/** An expression of another type is not reported as a syntax error. */
function errorOf(compiled: Compilation, prefix: string, wrongType: string): string | undefined {
  if (compiled.ok) return undefined;
  return compiled.message.startsWith("must evaluate to")
    ? wrongType
    : `${prefix}: ${compiled.message}`;
}

function ruleOutcome({ result, charged: cost, cancelled }: Evaluation): RuleOutcome {
  if (cancelled !== undefined) return { exceeded: true, cost };
  if (result instanceof CelError) return { error: result.message, cost };
  return { result: result === true, cost };
}

function messageOutcome({ result, charged: cost, cancelled }: Evaluation): MessageOutcome {
  if (cancelled !== undefined) return { exceeded: true, cost };
  if (result instanceof CelError) return { error: result.message, cost };
  return typeof result === "string"
    ? { message: result, cost }
    : { error: "the message is no string", cost };
}

/** Synchronous, or with yields to the event loop if the expression contains a loop. */
function evaluate<Outcome extends object>(
  program: Program,
  { optionalOldSelf }: ValidationRule,
  { self, oldSelf }: RuleValues,
  costMax: number,
  outcomeOf: (evaluation: Evaluation) => Outcome,
): MaybeResumable<Outcome> {
  const isAbsent = oldSelf === undefined && optionalOldSelf === true;
  const values = { self, oldSelf: isAbsent ? null : oldSelf };
  const budget = { costLimit: Math.min(costMax, COST_PER_CALL_MAX) };
  if (!program.isLong) return outcomeOf(program.evaluate(values, budget));
  return (function* () {
    return outcomeOf(yield* program.evaluateResumable(values, budget));
  })();
}
