/**
 * HorizontalPodAutoscalers: each cluster that has a copy of the target has an autoscaler for that
 * copy, within a part of minReplicas and maxReplicas. The sum of their desired replicas is the
 * replica count of the target, as if one autoscaler had written it.
 *
 * In the clusters, the autoscalers own `spec.replicas` of the target's copies (its rules of syncing
 * leave the field to them). While the target moves, or a cluster is Unreachable, minReplicas of a
 * copy is its desired replicas: otherwise the replacement would wait for load that another cluster
 * still has. While the target moves, the desired replicas of the autoscalers are ignored: some
 * replicas exist twice.
 *
 * Only Deployments can be targets: an autoscaler in each cluster would assign the same ordinals of
 * a StatefulSet to several clusters.
 */
import { isJsonObject, type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import { formatNanos, quantityNanos } from "@kcp-ts/machinery/shape";
import { type Client, defineResource, findCondition } from "@kcp-ts/sdk";
import { horizontalPodAutoscalers } from "@kcp-ts/sdk/kinds";
import { assignedCluster, ownedByLabel } from "../../api/index.ts";
import {
  clusterCopyName,
  isCopyOf,
  isUnassigned,
  newClusterCopy,
  ownerLabelValue,
  updatedClusterCopy,
} from "../cluster-copy.ts";
import { concludeDecision, copyStatusIn } from "../conclude-decision.ts";
import { type DecideInput, type Decision, evaluateClusters } from "../decide.ts";
import { asDeployment, deployments, replicasOf } from "../deployment.ts";
import {
  aggregatedConditions,
  type CopyStatus,
  observedGenerationOf,
  reachableCopies,
  type ScheduledResult,
  scheduledCondition,
  sumStatusFields,
  unlessEqual,
} from "../status-aggregation.ts";
import { dividedReplicas } from "../stepper/capabilities.ts";
import { distribute, weightMax } from "../stepper/distribute.ts";
import { planOfGoal } from "../stepper/plan.ts";
import type { Strategy } from "../strategy.ts";
import {
  asWorkload,
  conditionsOf,
  isObserved,
  specCount,
  statusCount,
  statusText,
  type Workload,
} from "../workload.ts";

export const autoscalers = defineResource<Workload>(horizontalPodAutoscalers);

export const autoscalerStrategy: Strategy = {
  name: "horizontalpodautoscalers.autoscaling",
  capabilities: dividedReplicas,
  workloads: autoscalers,
  copies: autoscalers,
  accept: asWorkload,
  acceptCopy: asWorkload,
  desiredReplicas: (workload) => specCount(workload, "maxReplicas", 1),
  shareOf: (copy) => ({
    replicas: specCount(copy, "maxReplicas", 1),
    start: specCount(copy, "minReplicas", 1),
  }),
  statusReportOf: (copy) => ({ available: 1, isObserved: isCurrent(copy), isStuck: false }),
  specFor(workload, { replicas, start = 1 }, cluster) {
    const { scaleTargetRef } = workload.spec as { scaleTargetRef?: JsonObject };
    const name = clusterCopyName(targetName(workload) ?? "", cluster);
    return {
      ...workload.spec,
      scaleTargetRef: { ...scaleTargetRef, name },
      minReplicas: start,
      maxReplicas: replicas,
    };
  },
  decide: decideAutoscaler,
  aggregateStatus: aggregateAutoscalerStatus,
  relatedObjects: { kinds: [deployments], read: readTarget },
};

/** The name of the target Deployment; undefined for a target of another kind. */
function targetName({ spec }: Workload): string | undefined {
  const { scaleTargetRef } = spec as {
    scaleTargetRef?: { apiVersion?: unknown; kind?: unknown; name?: unknown };
  };
  const { apiVersion = "apps/v1", kind, name } = scaleTargetRef ?? {};
  const isDeployment = kind === deployments.kind && /^apps\//.test(String(apiVersion));
  return isDeployment && typeof name === "string" ? name : undefined;
}

/** Reads the target and then its copies; an empty list when the target does not exist. */
async function readTarget(
  client: Client,
  workload: Workload,
  signal: AbortSignal,
): Promise<readonly Workload[]> {
  const name = targetName(workload);
  if (name === undefined) return [];
  const { namespace } = workload.metadata;
  const resource = client.resource(deployments);
  const target = await resource.find({ namespace, name }, { signal });
  if (target === undefined || !isUnassigned(target)) return [];
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const { items } = await resource.list({ namespace, labelSelector, signal });
  return [target, ...items.filter((copy) => isCopyOf(copy, target))].flatMap(
    (one) => asDeployment(one) ?? [],
  );
}

interface MinMaxReplicas {
  readonly min: number;
  readonly max: number;
}

export function decideAutoscaler(input: DecideInput): Decision {
  const { strategy, parent, copies, related = [] } = input;
  const [target, ...targetParts] = related;
  const { places, assessment } = evaluateClusters(input);
  const standingOf = (cluster: string) =>
    places.find(({ name }) => name === cluster)?.evaluation.state ?? "Unregistered";
  const scaled = new Map(targetParts.map((copy) => [clusterOf(copy), copy]));
  const isMoving =
    findCondition(target === undefined ? [] : conditionsOf(target), scheduledCondition)?.reason ===
    "Migrating";
  const isLost = [...scaled.keys()].some((cluster) => standingOf(cluster) === "Unreachable");
  const limits = minMaxReplicasFor(
    parent,
    [...scaled.values()].filter((copy) => standingOf(clusterOf(copy)) !== "Unreachable"),
    isMoving || isLost,
    new Map(copies.map((copy) => [clusterOf(copy), specCount(copy, "minReplicas", 1)])),
  );
  const steps = new Map(
    [...nextMaxReplicas(parent, limits, copies, scaled)].map(([name, replicas]) => [
      name,
      { replicas },
    ]),
  );
  const creations: Decision["creations"][number][] = [];
  const updates: Workload[] = [];
  const removals: Workload[] = [];
  for (const [cluster, { min, max }] of limits) {
    const present = copies.find((copy) => clusterOf(copy) === cluster);
    const share = { replicas: steps.get(cluster)?.replicas ?? max, start: min };
    const request = { strategy, parent, cluster, share };
    if (present === undefined) {
      if (!input.takenNames.has(clusterCopyName(parent.metadata.name, cluster)))
        creations.push(newClusterCopy(request));
      continue;
    }
    if (present.metadata.deletionTimestamp !== undefined) continue;
    const adjusted = updatedClusterCopy(present, request);
    if (adjusted !== present) updates.push(adjusted);
  }
  for (const copy of copies) {
    // In an Unreachable cluster, the autoscaler stays unchanged together with its target.
    if (!scaled.has(clusterOf(copy)) && copy.metadata.deletionTimestamp === undefined) {
      removals.push(copy);
    }
  }
  const folded = copies.map((object) => ({
    ...copyStatusIn(clusterOf(object), object, standingOf(clusterOf(object))),
    isUnmanaged: object.metadata.deletionTimestamp !== undefined,
  }));
  const goal = new Map([...limits].map(([name, { max }]) => [name, max]));
  const decision = concludeDecision(input, {
    clusters: places,
    assessment,
    total: undefined,
    problem: undefined,
    plan: planOfGoal(goal),
    writes: { creations, updates, removals, steps },
    copies: folded,
    scheduled: scheduledResultFor(parent, target, limits),
    recorded: {
      assignment: { assigned: Object.fromEntries([...goal].sort()) },
      requests: new Map(),
    },
  });
  const scale = isMoving ? {} : scaleOf({ parent, target, scaled, folded, mayShrink: !isLost });
  return { ...decision, ...scale };
}

/**
 * At least 1 for each cluster: an autoscaler that scales down to 0 never scales up again.
 *
 * A minReplicas that the autoscalers have stays as long as it adds up: otherwise the first cluster
 * that reaches its own would weigh more, get a larger one, and all together would exceed the
 * workload's.
 */
export function minMaxReplicasFor(
  parent: Workload,
  targetParts: readonly Workload[],
  isHolding: boolean,
  present: ReadonlyMap<string, number> = new Map(),
): ReadonlyMap<string, MinMaxReplicas> {
  const shares = targetParts.map((copy) => ({
    name: clusterOf(copy),
    ready: true,
    weight: Math.min(weightMax, Math.max(1, replicasOf(copy))),
    current: 0,
  }));
  const min = specCount(parent, "minReplicas", 1);
  const maxs = distribute(specCount(parent, "maxReplicas", 1), shares);
  const kept = shares.map(({ name }) => present.get(name) ?? 0);
  const isKept =
    kept.reduce((sum, one) => sum + one, 0) === min &&
    kept.every((one, index) => one > 0 && one <= (maxs.get(shares[index]?.name ?? "") ?? 0));
  const mins = isKept ? present : distribute(min, shares);
  return new Map(
    targetParts.map((copy): [string, MinMaxReplicas] => {
      const name = clusterOf(copy);
      const held = isHolding ? replicasOf(copy) : 0;
      const own = Math.max(1, mins.get(name) ?? 0, held);
      return [name, { min: own, max: Math.max(own, maxs.get(name) ?? 0) }];
    }),
  );
}

/**
 * The next maxReplicas of each copy. One grows only by what the others have given up, and run no
 * more: else they would exceed the workload's together, until the last of them has the new one.
 */
function nextMaxReplicas(
  parent: Workload,
  limits: ReadonlyMap<string, MinMaxReplicas>,
  copies: readonly Workload[],
  scaled: ReadonlyMap<string, Workload>,
): ReadonlyMap<string, number> {
  const total = specCount(parent, "maxReplicas", 1);
  const present = new Map(copies.map((copy) => [clusterOf(copy), copy]));
  const held = new Map<string, number>();
  for (const [name, { max }] of limits) {
    const [copy, target] = [present.get(name), scaled.get(name)];
    const runs = target === undefined ? 0 : statusCount(target, "replicas") || replicasOf(target);
    const own = copy === undefined ? 0 : specCount(copy, "maxReplicas", 1);
    // The maximum before the last change is not known.
    const isKnown = copy === undefined || copy.status === undefined || isCurrent(copy);
    held.set(name, isKnown ? Math.max(own, runs) : total);
    if (copy === undefined) held.set(name, Math.min(runs, max));
  }
  return new Map(
    [...limits].map(([name, { min, max }]): [string, number] => {
      const copy = present.get(name);
      const own = copy === undefined ? 0 : specCount(copy, "maxReplicas", 1);
      const others = [...held].reduce((sum, [one, most]) => (one === name ? sum : sum + most), 0);
      const next = Math.max(min, Math.min(max, Math.max(own, total - others)));
      held.set(name, Math.max(held.get(name) ?? 0, next));
      return [name, next];
    }),
  );
}

interface ScaleInput {
  readonly parent: Workload;
  readonly target: Workload | undefined;
  readonly scaled: ReadonlyMap<string, Workload>;
  readonly folded: readonly CopyStatus[];
  readonly mayShrink: boolean;
}

/**
 * The sum of the replicas that the autoscalers desire. An autoscaler without a status desires the
 * current replicas.
 */
function scaleOf({
  parent,
  target,
  scaled,
  folded,
  mayShrink,
}: ScaleInput): Pick<Decision, "scale"> {
  // A target with 0 replicas has autoscaling switched off.
  if (target === undefined || replicasOf(target) === 0 || folded.length === 0) return {};
  let wished = 0;
  for (const { cluster, object, isReachable } of folded) {
    const copy = scaled.get(cluster);
    if (!isReachable || copy === undefined) continue;
    const desired = isCurrent(object) ? statusCount(object, "desiredReplicas") : 0;
    wished += desired > 0 ? desired : replicasOf(copy);
  }
  const present = replicasOf(target);
  const min = specCount(parent, "minReplicas", 1);
  const bounded = Math.max(min, Math.min(specCount(parent, "maxReplicas", 1), wished));
  const replicas = mayShrink ? bounded : Math.max(present, bounded);
  if (replicas === present || wished === 0) return {};
  const { name, uid } = target.metadata;
  return { scale: { name, uid, replicas } };
}

function scheduledResultFor(
  parent: Workload,
  target: Workload | undefined,
  limits: ReadonlyMap<string, MinMaxReplicas>,
): ScheduledResult {
  const said = (isScheduled: boolean, reason: string, message: string): ScheduledResult => ({
    isScheduled,
    isBlocked: !isScheduled,
    reason,
    message,
  });
  if (targetName(parent) === undefined) {
    const message = "only Deployments are scaled over clusters; name one in scaleTargetRef";
    return said(false, "UnsupportedTarget", message);
  }
  if (target === undefined) {
    const message = `there is no Deployment ${targetName(parent)} that is spread over clusters`;
    return said(false, "TargetNotFound", message);
  }
  const shares = [...limits].sort().map(([name, { min, max }]) => `${name} ${min} to ${max}`);
  if (shares.length === 0) {
    return said(false, "TargetNotScheduled", `Deployment ${target.metadata.name} is in no cluster`);
  }
  return said(true, "AllReplicasScheduled", shares.join(", "));
}

function aggregateAutoscalerStatus(input: Parameters<Strategy["aggregateStatus"]>[0]): object {
  const known = reachableCopies(input);
  const times = known.flatMap(({ object }) => statusText(object, "lastScaleTime") ?? []);
  const [last] = times.sort().reverse();
  return unlessEqual(input.parent, {
    ...observedGenerationOf(input, known),
    ...sumStatusFields(known, ["currentReplicas"], ["desiredReplicas"]),
    ...(last === undefined ? {} : { lastScaleTime: last }),
    ...currentMetricsOf(known),
    conditions: aggregatedConditions(input, known),
  });
}

interface MetricStatus {
  readonly type: string;
  readonly [source: string]: unknown;
}

/** The current metrics of all copies: without them, kubectl shows every metric as unknown. */
function currentMetricsOf(known: readonly CopyStatus[]): { readonly currentMetrics?: object[] } {
  const reports = new Map<string, { metric: MetricStatus; readonly reads: MetricRead[] }>();
  for (const { object } of known) {
    const { currentMetrics } = (object.status ?? {}) as { currentMetrics?: MetricStatus[] };
    for (const metric of currentMetrics ?? []) {
      const { source, current } = sourceOf(metric);
      if (!isJsonObject(current)) continue;
      const id = stringifyJson([metric.type, { ...source, current: null }]);
      const report = reports.get(id) ?? { metric, reads: [] };
      report.reads.push({ current, weight: statusCount(object, "currentReplicas") });
      reports.set(id, report);
    }
  }
  const currentMetrics = [...reports.values()].map(({ metric, reads }) => {
    const { member, source } = sourceOf(metric);
    return { ...metric, [member]: { ...source, current: averageOf(reads) } };
  });
  return currentMetrics.length === 0 ? {} : { currentMetrics };
}

interface MetricRead {
  readonly current: JsonObject;
  readonly weight: number;
}

/** The member that is named like the metric's type: `resource`, `pods`, `containerResource`. */
function sourceOf(metric: MetricStatus) {
  const member = `${metric.type.slice(0, 1).toLowerCase()}${metric.type.slice(1)}`;
  const source = (metric[member] ?? {}) as JsonObject;
  return { member, source, current: source["current"] };
}

/** Each value is weighed by the replicas of its copy. */
function averageOf(reads: readonly MetricRead[]): JsonObject {
  const average: Record<string, string | number> = {};
  for (const member of ["averageUtilization", "averageValue", "value"]) {
    const found = reads.filter(({ current }) => current[member] !== undefined);
    const [first] = found;
    if (first === undefined) continue;
    const weights = found.map(({ weight }) => Math.max(1, weight));
    const total = weights.reduce((sum, one) => sum + one, 0);
    if (typeof first.current[member] === "number") {
      const sum = found.reduce(
        (all, { current }, index) => all + Number(current[member]) * (weights[index] ?? 1),
        0,
      );
      average[member] = Math.round(sum / total);
      continue;
    }
    const amounts = found.map(({ current }) => quantityNanos(String(current[member])));
    const nanos = amounts.reduce(
      (all, amount, index) => all + (amount?.nanos ?? 0n) * BigInt(weights[index] ?? 1),
      0n,
    );
    const isBinary = amounts.some((amount) => amount?.isBinary === true);
    average[member] = formatNanos({ nanos: wholeMilli(nanos / BigInt(total)), isBinary });
  }
  return average;
}

const nanosPerMilli = 1_000_000n;

function wholeMilli(nanos: bigint): bigint {
  return nanos - (nanos % nanosPerMilli);
}

/** Not every cluster reports an observedGeneration. */
function isCurrent(copy: Workload): boolean {
  const isSaid = "observedGeneration" in (copy.status ?? {});
  return isSaid ? isObserved(copy) : copy.status !== undefined;
}

function clusterOf({ metadata }: Workload): string {
  return assignedCluster(metadata.labels) ?? "";
}
