/**
 * Strategies of custom kinds, from a WorkloadStrategy: the path of the replicas, and CEL
 * expressions for availability and for the aggregation of statuses. The expressions belong to a
 * tenant: their compilation and evaluation is limited, and the status of the object reports their
 * errors.
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
import { templateAt } from "../pod-template.ts";
import { clusterByClusterRollout } from "../rollout/cluster-by-cluster-rollout.ts";
import {
  type AggregationInput,
  aggregatedConditions,
  observedGenerationOf,
  reachableCopies,
  unlessEqual,
  withTransitionTimes,
} from "../status-aggregation.ts";
import {
  copyEverywhere,
  dividedReplicas,
  type StepCapabilities,
  singleOverlapping,
} from "../stepper/capabilities.ts";
import type { Strategy } from "../strategy.ts";
import {
  asWorkload,
  conditionsOf,
  isCount,
  isObserved,
  statusCount,
  type Workload,
} from "../workload.ts";

const capabilities: Readonly<Record<WorkloadStrategySpec["strategy"], StepCapabilities>> = {
  Divide: dividedReplicas,
  Duplicate: copyEverywhere,
  Single: singleOverlapping,
};

const overSelf = kubernetesEnvironment.extend({ variables: { self: declaredDynamic } });
const overCopies = overSelf.extend({ variables: { copies: declaredDynamic } });

/** The condition on the workload that reports a failing expression. */
export const statusAggregatedCondition = "StatusAggregated";

/** The strategy; or an error message when the WorkloadStrategy is invalid. */
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
  const statusExpressions = new Map<string, Program>();
  for (const [field, text] of Object.entries(spec.status ?? {})) {
    const found = program(`status.${field}`, text, overCopies);
    if (found !== undefined) statusExpressions.set(field, found);
  }
  if (spec.strategy === "Divide" && spec.replicasPath === undefined) {
    problems.push("replicasPath: to divide, it has to say where the number of replicas is");
  }
  if (problems.length > 0) return problems.join("; ");
  return strategyOf(spec, { available, isCurrent, statusExpressions, references });
}

interface CompiledExpressions {
  readonly available: Program | undefined;
  readonly isCurrent: Program | undefined;
  readonly statusExpressions: ReadonlyMap<string, Program>;
  readonly references: Program | undefined;
}

export function resourceOf({ group = "", version, resource, kind }: WorkloadStrategySpec) {
  return defineResource<Workload>({ group, version, resource, kind, namespaced: true });
}

function strategyOf(spec: WorkloadStrategySpec, programs: CompiledExpressions): Strategy {
  const resource = resourceOf(spec);
  const path = spec.strategy === "Divide" ? (spec.replicasPath ?? "").split(".") : undefined;
  const templatePath = (spec.podTemplatePath ?? "spec.template").split(".");
  const replicas = (object: Workload) => (path === undefined ? 1 : countAt(object, path));
  return {
    name: formatGroupResource(resource),
    capabilities: capabilities[spec.strategy],
    workloads: resource,
    copies: resource,
    accept: (object) => acceptable(object, path),
    acceptCopy: (object) => acceptable(object, path),
    podTemplate: (workload) =>
      templateAt(workload, templatePath) ?? (path === undefined ? undefined : unknownPod),
    desiredReplicas: (workload) => replicas(workload) ?? 1,
    shareOf: (copy) => ({ replicas: replicas(copy) ?? 1 }),
    statusReportOf: (copy) => ({
      available: availableOf(copy, programs.available, path !== undefined),
      ...runningOf(copy, path !== undefined),
      isObserved: isCurrentOf(copy, programs.isCurrent),
      isStuck: false,
    }),
    specFor: (workload, share) =>
      path === undefined ? workload.spec : withCount(workload.spec, path.slice(1), share.replicas),
    ...(spec.strategy === "Single" ? {} : { rollout: rollingOf(path, programs.available) }),
    dependencies: (workload) => referencesOf(workload, spec, programs.references).found,
    aggregateStatus: (input) =>
      aggregateCustomStatus(input, programs.statusExpressions, (workload) =>
        referencesOf(workload, spec, programs.references),
      ),
  };
}

/** A replica without a template counts as one Pod. */
const unknownPod = { spec: {} };

function rollingOf(path: readonly string[] | undefined, available: Program | undefined) {
  return clusterByClusterRollout({
    pods: (spec) => (path === undefined ? 1 : (countAt({ spec } as Workload, path) ?? 1)),
    withPods: (spec, pods) => (path === undefined ? spec : withCount(spec, path.slice(1), pods)),
    available: (copy) => availableOf(copy, available, path !== undefined),
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

/** The count at the path; 1 when the field is missing, undefined when its value is no count. */
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

/** A copy whose expression fails is not available: usually it has no status yet. */
function availableOf(copy: Workload, program: Program | undefined, isCounted: boolean): number {
  if (program === undefined) {
    if (isCounted) return statusCount(copy, "availableReplicas");
    const isReady = conditionsOf(copy).some(
      ({ type, status }) => (type === "Ready" || type === "Available") && status === "True",
    );
    return isReady ? 1 : 0;
  }
  const value = attempt(() => evaluate(program, { self: copy }));
  return isCount(value) ? value : 0;
}

/** Existing replicas, ready or not: most kinds with replicas report them as Deployments do. */
function runningOf({ status }: Workload, isCounted: boolean): { readonly running?: number } {
  const { replicas } = (status ?? {}) as { replicas?: JsonValue };
  return isCounted && isCount(replicas) ? { running: replicas } : {};
}

function isCurrentOf(copy: Workload, program: Program | undefined): boolean {
  if (program !== undefined) return attempt(() => evaluate(program, { self: copy })) === true;
  const isSaid = "observedGeneration" in (copy.status ?? {});
  return isSaid ? isObserved(copy) : copy.status !== undefined;
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

/**
 * When the expression fails, only the Pod template's dependencies count, and the status reports the
 * error.
 */
function referencesOf(
  workload: Workload,
  { podTemplatePath }: WorkloadStrategySpec,
  program: Program | undefined,
): FoundReferences {
  const ofTemplate =
    podTemplatePath === undefined ? [] : podTemplateReferences(workload, podTemplatePath);
  const known = checkedReferences([...ofTemplate]);
  const found = typeof known === "string" ? [] : known;
  if (program === undefined)
    return typeof known === "string" ? { found, failure: known } : { found };
  try {
    const more = evaluate(program, { self: workload });
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
  refers: (workload: Workload) => FoundReferences,
): object {
  const known = reachableCopies(input);
  const copies = known.map(({ cluster, object }) => ({
    cluster,
    spec: object.spec,
    status: object.status ?? {},
  }));
  const fields: Record<string, JsonValue> = {};
  const failures: string[] = [];
  for (const [field, program] of folding) {
    try {
      fields[field] = evaluate(program, { self: input.parent, copies });
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

/** The default aggregation: the sum of every count. */
function summed(copies: readonly Workload[]): Record<string, JsonValue> {
  const totals: Record<string, number> = {};
  for (const { status } of copies) {
    for (const [field, value] of Object.entries(status ?? {})) {
      if (field === "observedGeneration" || !isCount(value as JsonValue)) continue;
      totals[field] = (totals[field] ?? 0) + (value as number);
    }
  }
  return totals;
}
