/**
 * The decision about one workload, from its per-cluster objects, the clusters and the time. Pure;
 * the coordinator carries it out.
 *
 * Each decision starts from the complete state, so neither missed changes nor their order matter.
 */
import { createHash } from "node:crypto";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import { type EventInput, type ObjectInput, stringMember, timestamp } from "@kcp-ts/sdk";
import {
  assignedCluster,
  evictAnnotation,
  isFenceable,
  softFinalizersOf,
  volumeGateAnnotation,
} from "../api/index.ts";
import {
  type ClusterSchedulingResult,
  type ExistingWorkload,
  filterAndScore,
  hasEffect,
  type LocationLimits,
  type Policy,
  type ReplicaLimit,
  type SchedulableWorkload as Schedulable,
  type SchedulingResult,
  schedulableWorkloadOf,
  type Usage,
} from "../scheduling/index.ts";
import {
  clusterCopyName,
  managedAnnotation,
  newClusterCopy,
  updatedClusterCopy,
} from "./cluster-copy.ts";
import {
  type ClusterEvaluation,
  type ClusterInfo,
  clusterInfoForKind,
  earliest,
  evaluateCluster,
  type GracePeriods,
} from "./cluster-state.ts";
import {
  concludeDecision,
  copyStatusIn,
  type DecidedStep,
  writtenClusters,
} from "./conclude-decision.ts";
import { decidedAssignment } from "./decided-assignment.ts";
import { fencedAtMs } from "./fencing.ts";
import { inFlightAfter, inFlightToRecord } from "./in-flight.ts";
import type { ClusterStep } from "./next-placement-record.ts";
import { type Placement, PlacementError, placementOf } from "./placement.ts";
import {
  placementEvents,
  rolloutEvents,
  type ScaledCluster,
  scaledClusters,
} from "./placement-events.ts";
import {
  type ClusterPlacement,
  clusterRecordsOf,
  lastAssignment,
  moveRecordOf,
  type PlacementRecord,
  recordedInFlight,
  requestedReplicas,
  rolloutRecordOf,
} from "./placement-record.ts";
import { podTemplateOf } from "./pod-template.ts";
import { isSurplus } from "./retained-replicas.ts";
import { rolloutUnavailableOf } from "./rollout/copy-rollout-view.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import type { RolloutRecord } from "./rollout/rollout-record.ts";
import { workloadRollout } from "./rollout/workload-rollout.ts";
import { budgetOf, failoverStrategyAnnotation } from "./rollout-policy.ts";
import { withinSharedLimits } from "./shared-limits.ts";
import { assignSingleCluster, type SingleClusterPlacement } from "./single-cluster.ts";
import type { CopyStatus } from "./status-aggregation.ts";
import type { ClusterCopy, ClusterShare, PlanInput } from "./stepper/cluster-share.ts";
import type { Plan } from "./stepper/plan.ts";
import { step } from "./stepper/step.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export interface DecideInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  /** The per-cluster objects that belong to the parent. */
  readonly copies: readonly Workload[];
  /** The placement record; undefined before the first decision. */
  readonly record?: PlacementRecord | undefined;
  /**
   * The reason why the request cannot be carried out: the decision writes it to the status, and
   * changes nothing else.
   */
  readonly problem?: string;
  /** The objects that the strategy's relations found. */
  readonly related?: readonly Workload[];
  /** Names of per-cluster objects that are in use by foreign objects. */
  readonly takenNames: ReadonlySet<string>;
  readonly targets: readonly ClusterInfo[];
  readonly gracePeriods: GracePeriods;
  readonly nowMs: number;
  readonly scheduling?: SchedulingContext | undefined;
}

/**
 * Policies and limits that restrict the clusters; without them, replicas are distributed evenly
 * over all clusters.
 */
export interface SchedulingContext {
  readonly policy?: Policy | undefined;
  readonly locationLimits?: readonly LocationLimits[] | undefined;
  readonly usage?: Usage | undefined;
  readonly existingWorkloads?: readonly ExistingWorkload[] | undefined;
}

export interface Decision {
  readonly creations: readonly ObjectInput<Workload>[];
  /** Updates that scale up, or change anything but replicas. */
  readonly updates: readonly Workload[];
  /** Updates that scale down. The coordinator writes them after all other writes. */
  readonly scaleDowns: readonly Workload[];
  readonly removals: readonly Workload[];
  /** Clusters that became Unreachable in this decision. */
  readonly unreachableClusters: readonly string[];
  /** The parent's status; the identical object when nothing changes. */
  readonly status: object;
  /** To be recorded when all is written. */
  readonly events: readonly EventInput[];
  /** By the name of a copy that is written: an Event tells of those whose write has succeeded. */
  readonly scaled?: ReadonlyMap<string, ScaledCluster>;
  /** The time of the next reconcile if nothing changes until then. */
  readonly requeueAtMs: number | undefined;
  /** The next placement record, to be written before per-cluster objects. */
  readonly record: PlacementRecord;
  /** The new replica count of the workload's scale target. */
  readonly scale?: {
    readonly name: string;
    readonly uid: string | undefined;
    readonly replicas: number;
  };
  /** The workload's time to live after it finished has passed: the coordinator deletes it. */
  readonly isExpired?: boolean;
  /** The clusters of this decision, with the reasons. */
  readonly clusters: readonly EvaluatedCluster[];
  readonly plan: Plan;
  /**
   * The progress of the Pod template's rollout over the clusters; undefined for a Recreate rollout.
   */
  readonly rollout?: RolloutPlan | undefined;
  readonly schedulingResult: SchedulingResult;
  /** The limit on replicas over all clusters; undefined without a limit. */
  readonly totalLimit?: ReplicaLimit | undefined;
}

/** A cluster that has a copy of the workload, or could have one, or both. */
export interface EvaluatedCluster {
  readonly name: string;
  readonly evaluation: ClusterEvaluation;
  /** The scheduling result of the cluster; undefined for an Unregistered cluster. */
  readonly schedulingResult: ClusterSchedulingResult | undefined;
  readonly object: Workload | undefined;
  readonly share: ClusterShare;
}

export function decide(input: DecideInput): Decision {
  const { strategy, parent, nowMs } = input;
  const { places: open, assessment, total, problem, placement } = evaluateClusters(input);
  const { clusters, migration } = assignSingleCluster(open, input, withEviction);
  const replicas = strategy.desiredReplicas(parent);
  const shares = clusters.map(({ share }) => share);
  const scaledDownBy = Math.max(requestedBefore(input, clusters), replicas) - replicas;
  const limits = { maxTotal: total?.replicas, maxSkews: assessment.maxSkews };
  // The shared limits may permit fewer replicas than the workload requests.
  const maxTotal = Math.min(replicas, total?.replicas ?? replicas);
  const { budget } = rolloutBudgetOf(placement, maxTotal);
  const moving = {
    ...rolloutBudgetOf(placement, maxTotal, strategy.progressDeadlineSecondsOf?.(parent)),
    nowMs,
    requestHash: requestHashOf(parent),
  };
  const ordinals = strategy.ordinalsOf?.(input);
  const request = { replicas, clusters: shares, scaledDownBy, migration, ordinals };
  const capabilities = strategy.capabilitiesOf?.(parent) ?? strategy.capabilities;
  const plan = step({ ...request, ...limits, ...moving }, capabilities);
  const isDisruptionBlocked = problem !== undefined && input.copies.length > 0;
  const steps = { ...(isDisruptionBlocked ? unchangedPlan(clusters) : plan), migration };
  const { unscheduled } = plan;
  const pacing = { rollout: placement?.rollout, budget, unscheduled, isDisruptionBlocked, nowMs };
  const rollouts = recordedRollouts(input.record);
  const rollOut = workloadRollout({ strategy, parent, clusters, rollouts, steps, ...pacing });
  const writes = writesOf(input, clusters, { ...steps, rollOut });
  const isPaused = budget?.isPaused === true;
  const limited = { assessment, maxTotal, isDisruptionBlocked, isPaused };
  return concludeDecision(input, {
    clusters,
    assessment,
    total,
    problem,
    plan,
    writes,
    rollout: rollOut,
    copies: clusters.flatMap((evaluated) => copyStatusOf(evaluated, rollOut)),
    events: [...placementEvents(clusters, writes), ...rolloutEvents(rollouts, rollOut)],
    scaled: scaledClusters(input, clusters, writes),
    recorded: recordedAfter(input, { clusters, plan, writes, ...limited }),
  });
}

/** The workload's replicas when the replicas of its copies were set. */
function requestedBefore({ record }: DecideInput, clusters: readonly EvaluatedCluster[]): number {
  const records = clusterRecordsOf(record);
  return Math.max(
    0,
    ...clusters.map(({ name, share: { copy } }) =>
      copy === undefined ? 0 : requestedReplicas(records.get(name), copy.replicas),
    ),
  );
}

interface DecidedSteps {
  readonly clusters: readonly EvaluatedCluster[];
  readonly plan: Plan;
  readonly writes: Writes;
  readonly assessment: SchedulingResult;
  readonly maxTotal: number;
  readonly isDisruptionBlocked: boolean;
  readonly isPaused: boolean;
}

function recordedAfter(input: DecideInput, decided: DecidedSteps): DecidedStep["recorded"] {
  const { clusters, plan, writes, maxTotal, isDisruptionBlocked } = decided;
  const recorded = recordedInFlight(input.record);
  const { requests, ...demand } = resourceDemandOf(input, decided.assessment);
  const inFlight = inFlightAfter({ recorded, clusters, plan, maxTotal, requests, ...demand });
  // Replicas that exist twice while moves are paused are no decision: the last one stays.
  const isDecided =
    !isDisruptionBlocked && !(decided.isPaused && exceedsTotal(input, plan, maxTotal));
  const isWriting = writtenClusters(writes).size > 0;
  return {
    requests,
    assignment: isDecided ? decidedAssignment(input, { clusters, plan, inFlight }) : undefined,
    inFlight: isDisruptionBlocked ? recorded : inFlightToRecord(inFlight, recorded, isWriting),
  };
}

function recordedRollouts(record: PlacementRecord | undefined): ReadonlyMap<string, RolloutRecord> {
  const found = new Map<string, RolloutRecord>();
  for (const cluster of record?.clusters ?? []) {
    const rollout = rolloutRecordOf(record, cluster);
    if (rollout !== undefined) found.set(cluster.name, rollout);
  }
  return found;
}

/**
 * The resources that the workload requests in its clusters, and whether any limit applies to them.
 */
function resourceDemandOf({ strategy, parent }: DecideInput, { quotas }: SchedulingResult) {
  const { unit } = strategy.capabilities;
  const { requests } = schedulableOf(strategy, parent);
  const isLimited = quotas.length > 0 && requests.size > 0 && unit !== "Everywhere";
  return { requests, isLimited, isOrdinal: unit === "Ordinal" };
}

/** A duplicated workload has a copy in every cluster, so its copies never exceed the total. */
function exceedsTotal({ strategy }: DecideInput, plan: Plan, maxTotal: number): boolean {
  return strategy.capabilities.unit !== "Everywhere" && isSurplus(plan, maxTotal);
}

/**
 * The evaluated clusters for this workload; and the reason why its placement annotations cannot be
 * parsed.
 */
export function evaluateClusters(input: DecideInput): {
  readonly places: readonly EvaluatedCluster[];
  readonly assessment: SchedulingResult;
  readonly total: ReplicaLimit | undefined;
  readonly problem: string | undefined;
  readonly placement: Placement | undefined;
} {
  const placement = readPlacement(input.parent, input.scheduling?.policy);
  const isRead = !(placement instanceof PlacementError);
  const wish = isRead ? placement : undefined;
  const evaluation = schedulingResultOf(input, wish);
  const found = evaluatedClustersOf(input, wish, evaluation);
  const { clusters: places, totalLimit: total } = withinSharedLimits(
    found,
    evaluation,
    input,
    wish,
  );
  const problem = input.problem ?? (isRead ? undefined : placement.message);
  return { places, assessment: evaluation, total, problem, placement: wish };
}

function copyStatusOf(
  { name, object, evaluation, share }: EvaluatedCluster,
  rollout: RolloutPlan | undefined,
): readonly CopyStatus[] {
  if (object === undefined) return [];
  const { isUnmanaged = false, isDeleting = false } = share.copy ?? {};
  const roll = rollout?.copies.get(name);
  return [
    {
      ...copyStatusIn(name, object, evaluation.state),
      isUnmanaged: isUnmanaged || isDeleting,
      isOutdated: roll?.isOutdated === true,
      isRollingOut: roll?.isRolling === true,
    },
  ];
}

function readPlacement(
  { metadata }: Workload,
  policy: Policy | undefined,
): Placement | PlacementError {
  try {
    return placementOf(metadata.annotations, policy);
  } catch (error) {
    if (error instanceof PlacementError) return error;
    throw error;
  }
}

function rolloutBudgetOf(
  placement: Placement | undefined,
  replicas: number,
  progressDeadlineSeconds?: number,
): Pick<PlanInput, "budget"> {
  if (placement === undefined) return {};
  const rollout =
    progressDeadlineSeconds === undefined
      ? placement.rollout
      : { progressDeadlineSeconds, ...placement.rollout };
  return { budget: budgetOf(rollout, placement.failover, replicas) };
}

/**
 * Whether the workload has the StopBeforeStart strategy. Annotations that cannot be parsed leave
 * the strategy as it was.
 */
export function isStopBeforeStart(workload: Workload, policy: Policy | undefined): boolean {
  const placement = readPlacement(workload, policy);
  if (!(placement instanceof PlacementError))
    return placement.failover.strategy === "StopBeforeStart";
  return (
    stringMember(workload.metadata.annotations, failoverStrategyAnnotation) === "StopBeforeStart"
  );
}

/** A hash of the request: a move that was rolled back is retried when the hash changes. */
function requestHashOf({ metadata: { generation = 0, annotations } }: Workload): string {
  const wishes = Object.entries(annotations ?? {}).filter(([name]) => isPlacementAnnotation(name));
  const text = JSON.stringify([generation, wishes.sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

function isPlacementAnnotation(annotation: string): boolean {
  return annotation.startsWith("workload.kcp.io/");
}

function schedulingResultOf(
  input: DecideInput,
  preferences: Placement | undefined,
): SchedulingResult {
  const { strategy, parent, targets, scheduling = {} } = input;
  const byCluster = copiesByCluster(input);
  return filterAndScore({
    ...scheduling,
    workload: schedulableOf(strategy, parent),
    candidates: targets,
    preferences,
    desiredReplicas: strategy.desiredReplicas(parent),
    currentReplicas: (cluster) => {
      const copy = byCluster.get(cluster);
      if (copy === undefined) return { replicas: 0, available: 0 };
      return {
        replicas: strategy.shareOf(copy).replicas,
        available: strategy.statusReportOf(copy).available,
      };
    },
  });
}

/** The workload as the scheduler's input. */
export function schedulableOf(strategy: Strategy, workload: Workload): Schedulable {
  return schedulableWorkloadOf(workload, {
    resource: formatGroupResource(strategy.copies),
    template: (strategy.podTemplate ?? podTemplateOf.bind(undefined, strategy.workloads))(workload),
  });
}

function copiesByCluster({ copies }: DecideInput): ReadonlyMap<string, Workload> {
  const byCluster = new Map<string, Workload>();
  for (const copy of copies) byCluster.set(assignedCluster(copy.metadata.labels) ?? "", copy);
  return byCluster;
}

function evaluatedClustersOf(
  input: DecideInput,
  placement: Placement | undefined,
  { clusters }: SchedulingResult,
): readonly EvaluatedCluster[] {
  const { strategy, parent, targets, takenNames, gracePeriods, nowMs } = input;
  const byCluster = copiesByCluster(input);
  const byName = new Map(targets.map((target) => [target.name, target]));
  const names = new Set([...byName.keys(), ...byCluster.keys()]);
  const places: EvaluatedCluster[] = [];
  const last = lastAssignment(input.record);
  const records = clusterRecordsOf(input.record);
  // Computed once: there may be hundreds of clusters and thousands of workloads.
  const resource = formatGroupResource(strategy.copies);
  const waited = gracePeriodsOf(placement, gracePeriods);
  const isAtMostOne = placement?.failover.strategy === "StopBeforeStart";
  const isStopped = isAtMostOne && isFenceable(strategy.copies);
  const isTaken = (name: string) =>
    takenNames.size > 0 && takenNames.has(clusterCopyName(parent.metadata.name, name));
  for (const name of [...names].sort()) {
    const target = byName.get(name);
    const object = byCluster.get(name);
    if (object === undefined && isTaken(name)) continue;
    const registered = target && clusterInfoForKind(target, resource);
    const judged = evaluateCluster(drainTurnOf(registered, input), nowMs, waited);
    const schedulingResult = clusters.get(name);
    const permission = withSchedulingResult(judged, schedulingResult);
    const fence = isStopped ? fencedAtMs(target, parent, strategy.workloads) : undefined;
    const evaluation = fence === undefined ? permission : withFenceTime(permission, fence, nowMs);
    const share: ClusterShare = {
      name,
      state: evaluation.state,
      isDraining: evaluation.isDraining,
      isTrusted: evaluation.isTrusted,
      weight: schedulingResult?.weight,
      capacity: placement?.capacity.get(name),
      maxReplicas: schedulingResult?.maxReplicas?.replicas,
      domains: schedulingResult?.domains,
      retained: last?.retained?.[name] ?? 0,
      mayMoveBack: permission !== judged && !judged.isDraining,
      isFenced: isAtMostOne ? fence !== undefined && fence <= nowMs : undefined,
      copy:
        object === undefined ? undefined : clusterCopyOf(object, strategy, name, records.get(name)),
    };
    places.push({ name, evaluation, schedulingResult, object, share });
  }
  return places;
}

/** Requeues the workload for the time at which fencing is complete. */
function withFenceTime(
  clusterEvaluation: ClusterEvaluation,
  fenceMs: number,
  nowMs: number,
): ClusterEvaluation {
  if (fenceMs <= nowMs) return clusterEvaluation;
  return { ...clusterEvaluation, untilMs: earliest(clusterEvaluation.untilMs, fenceMs) };
}

/** Evaluates the cluster as if the workload's author had excluded it. */
export function withEviction(evaluatedCluster: EvaluatedCluster): EvaluatedCluster {
  const evaluation = excluded(evaluatedCluster.evaluation);
  return { ...evaluatedCluster, evaluation, share: { ...evaluatedCluster.share, ...evaluation } };
}

/** The scheduler's filters apply in addition to the cluster state. */
function withSchedulingResult(
  clusterEvaluation: ClusterEvaluation,
  result: ClusterSchedulingResult | undefined,
): ClusterEvaluation {
  if (result === undefined) return clusterEvaluation;
  if (hasEffect(result, "Evict")) return excluded(clusterEvaluation);
  const isOpen = clusterEvaluation.state === "Ready" || clusterEvaluation.state === "Recovering";
  return isOpen && hasEffect(result, "Reject")
    ? { ...clusterEvaluation, state: "Cordoned" }
    : clusterEvaluation;
}

/** The workload's tolerationSeconds override the grace period of an Unreachable cluster. */
function gracePeriodsOf(
  placement: Placement | undefined,
  gracePeriods: GracePeriods,
): GracePeriods {
  const seconds = placement?.failover.tolerationSeconds;
  return seconds === undefined
    ? gracePeriods
    : { ...gracePeriods, unreachableAfterMs: seconds * 1000 };
}

/**
 * In a cluster that is drained on a budget, a per-cluster object leaves when the drain has selected
 * it for eviction. A Job may have several objects there; they are one workload and leave together.
 */
function drainTurnOf(
  target: ClusterInfo | undefined,
  { copies }: DecideInput,
): ClusterInfo | undefined {
  if (target?.drain !== "Budgeted") return target;
  const isTurn = copies.some(
    ({ metadata: { labels, annotations } }) =>
      stringMember(annotations, evictAnnotation) === "true" &&
      assignedCluster(labels) === target.name,
  );
  return isTurn ? { ...target, drain: "All" } : target;
}

function excluded(clusterEvaluation: ClusterEvaluation): ClusterEvaluation {
  const { state } = clusterEvaluation;
  const isSeen = state !== "Unreachable" && state !== "NotReady";
  return { ...clusterEvaluation, state: isSeen ? "Draining" : state, isDraining: true };
}

function clusterCopyOf(
  object: Workload,
  strategy: Strategy,
  cluster: string,
  recorded: ClusterPlacement | undefined,
): ClusterCopy {
  const { metadata } = object;
  const report = strategy.statusReportOf(object);
  const { isObserved } = report;
  const isWhole = strategy.capabilities.unit === "Everywhere";
  return {
    ...strategy.shareOf(object),
    ...report,
    rolloutUnavailable: rolloutUnavailableOf(strategy.rollout, object, {
      isRolling: recorded?.rollout?.rolling === true,
      isObserved,
      isWhole,
    }),
    isDeleting: metadata.deletionTimestamp !== undefined,
    wasUnreachable: recorded?.unreachableSince !== undefined,
    isUnmanaged: stringMember(metadata.annotations, managedAnnotation) === "false",
    isDisruptionBlocked: softFinalizersOf(metadata.annotations, cluster).length > 0,
    move: moveRecordOf(recorded),
    isVolumeGateOpen:
      stringMember(metadata.annotations, volumeGateAnnotation(cluster)) !== undefined,
  };
}

/** A plan in which every cluster retains the replicas that it has. */
function unchangedPlan(clusters: readonly EvaluatedCluster[]): Pick<Plan, "next" | "records"> {
  const next = new Map<string, number | "remove">();
  for (const { name, share } of clusters) {
    if (share.copy !== undefined) next.set(name, share.copy.replicas);
  }
  return { next, records: new Map() };
}

export type Writes = Pick<
  Decision,
  "creations" | "updates" | "scaleDowns" | "removals" | "unreachableClusters"
> & { readonly steps: ReadonlyMap<string, ClusterStep> };

function writesOf(
  { strategy, parent, nowMs, scheduling, record }: DecideInput,
  clusters: readonly EvaluatedCluster[],
  plan: Pick<Plan, "next" | "starts" | "records"> &
    Pick<SingleClusterPlacement, "migration"> & { readonly rollOut: RolloutPlan | undefined },
): Writes {
  const { next, starts, records, migration, rollOut } = plan;
  const recorded = clusterRecordsOf(record);
  const steps = new Map<string, ClusterStep>();
  const creations: ObjectInput<Workload>[] = [];
  const updates: Workload[] = [];
  const scaleDowns: Workload[] = [];
  const removals: Workload[] = [];
  const unreachableClusters: string[] = [];
  const isAtMostOne = isStopBeforeStart(parent, scheduling?.policy);
  for (const { name, evaluation, object, share: member } of clusters) {
    const wanted = next.get(name);
    if (wanted === undefined) continue;
    if (wanted === "remove") {
      const before = recorded.get(name);
      const kept = { move: moveRecordOf(before), rollout: rolloutRecordOf(record, before) };
      steps.set(name, { replicas: 0, ...kept, unreachableSince: before?.unreachableSince });
      if (object !== undefined) removals.push(object);
      continue;
    }
    const start = starts?.get(name);
    const share = { replicas: wanted, ...(start === undefined ? {} : { start }) };
    const move = records?.get(name);
    const migrationSource = migration?.to === name ? migration.from : undefined;
    const request = { strategy, parent, cluster: name, share, isStopBeforeStart: isAtMostOne };
    if (object === undefined) {
      steps.set(name, { replicas: wanted, move, migrationSource });
      creations.push(newClusterCopy({ ...request, spec: rollOut?.appliedTemplates.get(name) }));
      continue;
    }
    const { spec, record: rollout } = rollOut?.copies.get(name) ?? {};
    const since = recorded.get(name)?.unreachableSince;
    const isLost = evaluation.state === "Unreachable";
    if (isLost && since === undefined) unreachableClusters.push(name);
    const unreachableSince = isLost ? (since ?? timestamp(nowMs)) : undefined;
    steps.set(name, { replicas: wanted, move, rollout, unreachableSince, migrationSource });
    const adjusted = updatedClusterCopy(object, { ...request, spec });
    if (adjusted === object) continue;
    if (wanted < (member.copy?.replicas ?? 0)) scaleDowns.push(adjusted);
    else updates.push(adjusted);
  }
  return { creations, updates, scaleDowns, removals, unreachableClusters, steps };
}
