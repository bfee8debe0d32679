/**
 * The end of a decision, which all kinds have in common: the condition Scheduled, the next
 * placement record, the aggregated status, and the time of the next reconcile. Pure.
 */
import { stringMember } from "@kcp-ts/sdk";
import { assignedCluster, syncErrorAnnotation } from "../api/index.ts";
import type { ReplicaLimit, SchedulingResult } from "../scheduling/index.ts";
import { type ClusterState, earliest } from "./cluster-state.ts";
import type { DecideInput, Decision, EvaluatedCluster, Writes } from "./decide.ts";
import { type NextRecordInput, nextPlacementRecord } from "./next-placement-record.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import { scheduledResultOf } from "./scheduled-condition.ts";
import type { CopyStatus, ScheduledResult } from "./status-aggregation.ts";
import type { Plan } from "./stepper/plan.ts";
import type { Workload } from "./workload.ts";

/** What a kind has decided. */
export interface DecidedStep {
  readonly clusters: readonly EvaluatedCluster[];
  readonly assessment: SchedulingResult;
  readonly total: ReplicaLimit | undefined;
  readonly problem: string | undefined;
  /** The requested replicas; those of the strategy if omitted. */
  readonly replicas?: number;
  readonly plan: Plan;
  readonly writes: Omit<Writes, "scaleDowns" | "unreachableClusters"> & Partial<Writes>;
  readonly copies: readonly CopyStatus[];
  readonly rollout?: RolloutPlan | undefined;
  /** The condition Scheduled of a kind that has other reasons. */
  readonly scheduled?: ScheduledResult;
  readonly events?: Decision["events"];
  readonly scaled?: Decision["scaled"];
  readonly recorded: Pick<NextRecordInput, "assignment" | "inFlight" | "completions" | "requests">;
}

export function concludeDecision(input: DecideInput, decided: DecidedStep): Decision {
  const { strategy, parent, takenNames, nowMs } = input;
  const { clusters, plan, total, problem, rollout, recorded } = decided;
  const writes = { scaleDowns: [], unreachableClusters: [], ...decided.writes };
  const written = writtenClusters(writes);
  // The refused per-cluster objects that the decision writes again.
  const refused = (input.record?.clusters ?? []).filter(
    (one) => one.refusal && written.has(one.name),
  );
  const { replicas = strategy.desiredReplicas(parent) } = decided;
  const asked = { replicas, clusters, plan, totalLimit: total, takenNames, problem };
  const scheduled = decided.scheduled ?? scheduledResultOf({ ...asked, refused, rollout });
  const status = strategy.aggregateStatus({
    strategy,
    parent,
    copies: decided.copies,
    completions: input.record?.completions,
    rollout,
    scheduled,
    isWriting: written.size > 0,
    nowMs,
  });
  const { steps } = writes;
  return {
    ...writes,
    record: nextPlacementRecord({ input, clusters, plan, steps, written, scheduled, ...recorded }),
    status,
    events: decided.events ?? [],
    ...(decided.scaled === undefined ? {} : { scaled: decided.scaled }),
    requeueAtMs: earliest(
      plan.requeueAtMs,
      rollout?.requeueAtMs,
      ...clusters.map(({ evaluation: { untilMs } }) => untilMs),
    ),
    clusters,
    plan,
    rollout,
    schedulingResult: decided.assessment,
    totalLimit: total,
  };
}

/** The clusters whose per-cluster objects a decision writes. */
export function writtenClusters(
  writes: Pick<Decision, "creations" | "updates" | "scaleDowns" | "removals">,
): ReadonlySet<string> {
  const { creations, updates, scaleDowns, removals } = writes;
  const all = [...creations, ...updates, ...scaleDowns, ...removals];
  return new Set(all.map(({ metadata }) => assignedCluster(metadata.labels) ?? ""));
}

/** The status that a per-cluster object reports. */
export function copyStatusIn(
  cluster: string,
  object: Workload,
  state: ClusterState = "Unregistered",
): CopyStatus {
  return {
    cluster,
    object,
    isReachable: state !== "Unreachable" && state !== "Unregistered",
    isUnmanaged: false,
    syncError: stringMember(object.metadata.annotations, syncErrorAnnotation(cluster)),
  };
}
