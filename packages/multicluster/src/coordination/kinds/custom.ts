/**
 * Any kind, by a WorkloadStrategy: where its replicas are, and expressions in CEL for what of it is available and what the statuses of its parts make
 * of the whole's. The expressions are a tenant's: compiling and evaluating them is bounded, and what fails in one is said on the object.
 */
import {
  type Activation,
  BOOL,
  CelError,
  compile,
  declaredDynamic,
  INT,
  kubernetesEnvironment,
  type Program,
  type Type,
  toJson,
} from "@kcp-ts/machinery/cel";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import { type ConditionInput, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import type { WorkloadStrategy, WorkloadStrategySpec } from "../../api/index.ts";
import { checkedReferences, podTemplateReferences } from "../custom-references.ts";
import {
  type AggregationInput,
  aggregatedConditions,
  observedGenerationOf,
  reachableCopies,
  unlessEqual,
  withTransitionTimes,
} from "../fold-parts.ts";
import { planDuplicated } from "../plan-copies.ts";
import { withMoveGuards } from "../plan-gently.ts";
import { planMoves } from "../plan-moves.ts";
import { planIndivisible } from "../plan-whole.ts";
import { clusterByClusterRollout } from "../rolling/clusterwise-form.ts";
import type { ReplicaScheduling, Strategy } from "../strategy.ts";
import {
  asWorkload,
  conditionsOf,
  isCount,
  isObserved,
  statusCount,
  type Workload,
} from "../workload.ts";

const replicaSchedulings: Readonly<Record<WorkloadStrategySpec["strategy"], ReplicaScheduling>> = {
  Divide: "divide",
  Duplicate: "duplicate",
  Single: "single",
};

const plans: Readonly<Record<WorkloadStrategySpec["strategy"], Strategy["plan"]>> = {
  Divide: planMoves,
  Duplicate: (input) => withMoveGuards(input, planDuplicated),
  Single: planIndivisible,
};

const overSelf = kubernetesEnvironment.extend({ variables: { self: declaredDynamic } });
const overCopies = overSelf.extend({ variables: { parts: declaredDynamic } });

/** Said on the whole when an expression fails. */
export const statusAggregatedCondition = "Folded";

/** Why it cannot be used, as a sentence; or the strategy. */
export function customStrategy({ spec }: WorkloadStrategy): Strategy | string {
  const problems: string[] = [];
  const program = (
    field: string,
    text: string | undefined,
    environment: typeof overSelf,
    types?: readonly Type[],
  ) => {
    if (text === undefined) return undefined;
    const options = types === undefined ? {} : { resultTypes: types };
    const compilation = compile(text, environment, options);
    if (compilation.ok) return compilation.program;
    problems.push(`${field}: ${compilation.message}`);
    return undefined;
  };
  const available = program("available", spec.available, overSelf, [INT]);
  const isCurrent = program("observed", spec.observed, overSelf, [BOOL]);
  const references = program("references", spec.references, overSelf);
  const folding = new Map<string, Program>();
  for (const [field, text] of Object.entries(spec.status ?? {})) {
    const found = program(`status.${field}`, text, overCopies);
    if (found !== undefined) folding.set(field, found);
  }
  if (spec.strategy === "Divide" && spec.replicasPath === undefined) {
    problems.push("replicasPath: to divide, it has to say where the number of replicas is");
  }
  if (problems.length > 0) return problems.join("; ");
  return strategyOf(spec, { available, isCurrent, folding, references });
}

interface CompiledExpressions {
  readonly available: Program | undefined;
  readonly isCurrent: Program | undefined;
  readonly folding: ReadonlyMap<string, Program>;
  readonly references: Program | undefined;
}

export function resourceOf({ group = "", version, resource, kind }: WorkloadStrategySpec) {
  return defineResource<Workload>({ group, version, resource, kind, namespaced: true });
}

function strategyOf(spec: WorkloadStrategySpec, programs: CompiledExpressions): Strategy {
  const resource = resourceOf(spec);
  const path = spec.strategy === "Divide" ? (spec.replicasPath ?? "").split(".") : undefined;
  const replicas = (object: Workload) => (path === undefined ? 1 : countAt(object, path));
  return {
    name: formatGroupResource(resource),
    sharing: replicaSchedulings[spec.strategy],
    wholes: resource,
    parts: resource,
    accept: (object) => acceptable(object, path),
    acceptPart: (object) => acceptable(object, path),
    asked: (whole) => replicas(whole) ?? 1,
    shareOf: (part) => ({ replicas: replicas(part) ?? 1 }),
    report: (part) => ({
      available: availableOf(part, programs.available, path !== undefined),
      ...runningOf(part, path !== undefined),
      isObserved: isCurrentOf(part, programs.isCurrent),
      isStuck: false,
    }),
    specFor: (whole, share) =>
      path === undefined ? whole.spec : withCount(whole.spec, path.slice(1), share.replicas),
    plan: plans[spec.strategy],
    ...(spec.strategy === "Single" ? {} : { rolling: rollingOf(path, programs.available) }),
    references: (whole) => referencesOf(whole, spec, programs.references).found,
    fold: (input) =>
      aggregateCustomStatus(input, programs.folding, (whole) =>
        referencesOf(whole, spec, programs.references),
      ),
  };
}

function rollingOf(path: readonly string[] | undefined, available: Program | undefined) {
  return clusterByClusterRollout({
    pods: (spec) => (path === undefined ? 1 : (countAt({ spec } as Workload, path) ?? 1)),
    withPods: (spec, pods) => (path === undefined ? spec : withCount(spec, path.slice(1), pods)),
    available: (part) => availableOf(part, available, path !== undefined),
  });
}

function acceptable(
  object: KubernetesObject,
  path: readonly string[] | undefined,
): Workload | undefined {
  const found = asWorkload(object);
  if (found === undefined || path === undefined) return found;
  return countAt(found, path) === undefined ? undefined : found;
}

/** Undefined when something else is there; one when nothing is. */
function countAt(object: Workload, path: readonly string[]): number | undefined {
  let found: JsonValue | undefined = object as unknown as JsonObject;
  for (const field of path) {
    if (found === undefined) return 1;
    if (!isJsonObject(found)) return undefined;
    found = (found as Record<string, JsonValue | undefined>)[field];
  }
  if (found === undefined) return 1;
  return isCount(found) ? found : undefined;
}

function withCount(spec: JsonObject, path: readonly string[], replicas: number): JsonObject {
  const [field, ...rest] = path;
  if (field === undefined) return spec;
  const inner = (spec as Record<string, JsonValue | undefined>)[field];
  const object = inner !== undefined && isJsonObject(inner) ? inner : {};
  return { ...spec, [field]: rest.length === 0 ? replicas : withCount(object, rest, replicas) };
}

function evaluate(program: Program, activation: Readonly<Record<string, unknown>>): JsonValue {
  const { result, cancelled } = program.evaluate(activation as Activation);
  if (cancelled !== undefined) throw new ExpressionError("it takes too long");
  const json = toJson(result);
  if (json instanceof CelError) throw new ExpressionError(json.message);
  if (typeof json === "bigint") throw new ExpressionError(`${json} is too large for a status`);
  return json as JsonValue;
}

class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

/** What cannot be evaluated is not available: most often there is no status yet. */
function availableOf(part: Workload, program: Program | undefined, isCounted: boolean): number {
  if (program === undefined) {
    if (isCounted) return statusCount(part, "availableReplicas");
    const isReady = conditionsOf(part).some(
      ({ type, status }) => (type === "Ready" || type === "Available") && status === "True",
    );
    return isReady ? 1 : 0;
  }
  const value = attempt(() => evaluate(program, { self: part }));
  return isCount(value) ? value : 0;
}

/** What exists, ready or not: most kinds with replicas count them as Deployments do. */
function runningOf({ status }: Workload, isCounted: boolean): { readonly running?: number } {
  const { replicas } = (status ?? {}) as { replicas?: JsonValue };
  return isCounted && isCount(replicas) ? { running: replicas } : {};
}

function isCurrentOf(part: Workload, program: Program | undefined): boolean {
  if (program !== undefined) return attempt(() => evaluate(program, { self: part })) === true;
  const isSaid = "observedGeneration" in (part.status ?? {});
  return isSaid ? isObserved(part) : part.status !== undefined;
}

function attempt(work: () => JsonValue): JsonValue | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpressionError) return undefined;
    throw error;
  }
}

interface FoundReferences {
  readonly found: readonly string[];
  readonly failure?: string;
}

/** What cannot be evaluated refers to what the template does, and that is said. */
function referencesOf(
  whole: Workload,
  { podTemplatePath }: WorkloadStrategySpec,
  program: Program | undefined,
): FoundReferences {
  const ofTemplate =
    podTemplatePath === undefined ? [] : podTemplateReferences(whole, podTemplatePath);
  const known = checkedReferences([...ofTemplate]);
  const found = typeof known === "string" ? [] : known;
  if (program === undefined)
    return typeof known === "string" ? { found, failure: known } : { found };
  try {
    const more = evaluate(program, { self: whole });
    const all = checkedReferences(Array.isArray(more) ? [...found, ...more] : more);
    return typeof all === "string" ? { found, failure: all } : { found: all };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { found, failure: error.message };
  }
}

function aggregateCustomStatus(
  input: AggregationInput,
  folding: ReadonlyMap<string, Program>,
  refers: (whole: Workload) => FoundReferences,
): object {
  const known = reachableCopies(input);
  const parts = known.map(({ cluster, object }) => ({
    cluster,
    spec: object.spec,
    status: object.status ?? {},
  }));
  const fields: Record<string, JsonValue> = {};
  const failures: string[] = [];
  for (const [field, program] of folding) {
    try {
      fields[field] = evaluate(program, { self: input.parent, parts });
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      failures.push(`status.${field}: ${error.message}`);
    }
  }
  const { failure } = refers(input.parent);
  if (failure !== undefined) failures.push(`references: ${failure}`);
  const said = folding.size > 0 ? fields : summed(known.map(({ object }) => object));
  const failed: readonly ConditionInput[] =
    failures.length === 0
      ? []
      : [
          {
            type: statusAggregatedCondition,
            status: "False",
            reason: "ExpressionFailed",
            message: `${failures.join("; ")}; correct the WorkloadStrategy`,
          },
        ];
  return unlessEqual(input.parent, {
    ...observedGenerationOf(input, known),
    ...said,
    conditions: [
      ...aggregatedConditions(input, known).filter(
        ({ type }) => type !== statusAggregatedCondition,
      ),
      ...withTransitionTimes(conditionsOf(input.parent), failed, input.nowMs),
    ],
  });
}

/** Where nothing is said: the sum of every count. */
function summed(parts: readonly Workload[]): Record<string, JsonValue> {
  const totals: Record<string, number> = {};
  for (const { status } of parts) {
    for (const [field, value] of Object.entries(status ?? {})) {
      if (field === "observedGeneration" || !isCount(value as JsonValue)) continue;
      totals[field] = (totals[field] ?? 0) + (value as number);
    }
  }
  return totals;
}
