/**
 * Cluster state: the use that scheduling may make of a physical cluster, evaluated from its
 * SyncTarget and the time.
 *
 *                    Ready                          not Ready
 *        Ready ◀──────────── Recovering ◀───────────────────┐
 *         │  ▲                                              │
 *         │  └───────── Ready for recoveryMs ───────────────┤
 *         ▼ not Ready                                       │
 *     NotReady ──── not Ready for unreachableAfterMs ──▶ Unreachable
 *
 *     Cordoned:     spec.unschedulable
 *     Draining:     spec.drain, the SyncTarget is being deleted, or excluded
 *     Unregistered: no SyncTarget of that name exists
 *
 * The effect of each state on a workload's copy in the cluster (`stepper/step.ts` applies it):
 *
 * | state        | scales up | ready replicas count | scales down          |
 * |--------------|-----------|----------------------|----------------------|
 * | Ready        | yes       | yes                  | for balance          |
 * | Cordoned     | no        | yes                  | when less is desired |
 * | Recovering   | no        | not yet              | for balance          |
 * | NotReady     | no        | no                   | for balance          |
 * | Draining     | no        | yes                  | to 0, when replaced  |
 * | Unreachable  | no        | no                   | no                   |
 * | Unregistered | no        | no                   | to 0, when replaced  |
 *
 * A copy in an Unreachable cluster is frozen until the cluster is back; other clusters replace its
 * replicas. Reports of a cluster that has been Ready for less than recoveryMs do not count yet,
 * whatever its state.
 */
import { findCondition, isConditionTrue } from "@kcp-ts/sdk";
import { type SyncTarget, targetConditions } from "../api/index.ts";
import { type ClusterCandidate, clusterCandidateOf } from "../scheduling/index.ts";

export type ClusterState =
  | "Ready"
  | "Cordoned"
  | "Recovering"
  | "NotReady"
  | "Draining"
  | "Unreachable"
  | "Unregistered";

/** The properties of a SyncTarget that decide where replicas go. */
export interface ClusterInfo extends ClusterCandidate {
  readonly isReady: boolean;
  /** The time of the last change of the condition Ready, or of the SyncTarget's creation. */
  readonly changedAtMs: number;
  readonly isUnschedulable: boolean;
  /**
   * The resources that the cluster syncs, as `resource.group`; undefined when the SyncTarget does
   * not list them, and every resource may be synced.
   */
  readonly synced?: readonly string[] | undefined;
  /**
   * The cluster is being drained: all objects at once, or only those that the drain selected for
   * eviction.
   */
  readonly drain?: "All" | "Budgeted" | undefined;
  readonly isDeleting: boolean;
  /** The lease of the agent: when it has expired, the agent stops StopBeforeStart workloads. */
  readonly lease?: ClusterLease | undefined;
}

export interface ClusterLease {
  readonly durationMs: number;
  /** The time since which heartbeats are missed; undefined while they arrive. */
  readonly silentSinceMs: number | undefined;
}

export interface GracePeriods {
  /** How long a cluster may be not Ready before its replicas are replaced. */
  readonly unreachableAfterMs: number;
  /** How long a cluster that is Ready again stays Recovering. */
  readonly recoveryMs: number;
}

export interface ClusterEvaluation {
  readonly state: ClusterState;
  /** For an Unreachable cluster: whether it is also to be drained. */
  readonly isDraining: boolean;
  /** The cluster has been Ready for long enough: its reports date from after its loss. */
  readonly isTrusted: boolean;
  /** The time at which the evaluation may change without any other change. */
  readonly untilMs: number | undefined;
}

export function clusterInfoOf(object: SyncTarget): ClusterInfo {
  const { metadata, spec, status } = object;
  const { ready: summary, heartbeatHealthy } = targetConditions;
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const ready = findCondition(status?.conditions, isDeleting ? heartbeatHealthy : summary);
  return {
    ...clusterCandidateOf(object),
    // The condition Ready is False for every SyncTarget that is being deleted, so the heartbeat
    // condition decides.
    isReady: isConditionTrue(status?.conditions, isDeleting ? heartbeatHealthy : summary),
    changedAtMs: timeOf(ready?.lastTransitionTime) ?? timeOf(metadata.creationTimestamp) ?? 0,
    isUnschedulable: spec?.unschedulable === true,
    synced: status?.syncedResources,
    drain: spec?.drain && (spec.drain.budget === undefined ? "All" : "Budgeted"),
    isDeleting,
    lease: leaseOf(object),
  };
}

function leaseOf({ status }: SyncTarget): ClusterLease | undefined {
  const { leaseDurationSeconds, conditions } = status ?? {};
  if (leaseDurationSeconds === undefined) return undefined;
  const healthy = findCondition(conditions, targetConditions.heartbeatHealthy);
  const silentSinceMs =
    healthy?.status === "True" ? undefined : timeOf(healthy?.lastTransitionTime);
  return { durationMs: leaseDurationSeconds * 1000, silentSinceMs };
}

/**
 * A cluster that does not sync a kind gets no objects of it. A SyncTarget that does not list its
 * synced resources may sync every resource.
 */
export function clusterInfoForKind(target: ClusterInfo, kind: string): ClusterInfo {
  const isSynced = target.synced?.includes(kind) ?? true;
  return isSynced ? target : { ...target, isUnschedulable: true };
}

/** The clocks of the servers of one control plane differ by less. */
const clockSkewMaxMs = 60_000;

export function evaluateCluster(
  target: ClusterInfo | undefined,
  nowMs: number,
  { unreachableAfterMs, recoveryMs }: GracePeriods,
): ClusterEvaluation {
  if (target === undefined) {
    return { state: "Unregistered", isDraining: true, isTrusted: false, untilMs: undefined };
  }
  const { isReady, isUnschedulable, isDeleting, drain } = target;
  // A change in the future was made before the clock was set back: how long ago is unknown, and
  // waiting until the clock is there again could take hours.
  const isClockBack = target.changedAtMs - nowMs > clockSkewMaxMs;
  const changedAtMs = isClockBack ? Number.NEGATIVE_INFINITY : target.changedAtMs;
  const isDraining = isDeleting || drain === "All";
  const settledAtMs = changedAtMs + recoveryMs;
  const isTrusted = isReady && nowMs >= settledAtMs;
  const judged = (state: ClusterState, untilMs?: number): ClusterEvaluation => ({
    state,
    isDraining,
    isTrusted,
    untilMs: earliest(untilMs, isReady && !isTrusted ? settledAtMs : undefined),
  });
  if (!isReady) {
    const lostAtMs = changedAtMs + unreachableAfterMs;
    return nowMs >= lostAtMs ? judged("Unreachable") : judged("NotReady", lostAtMs);
  }
  if (isDraining) return judged("Draining");
  if (isUnschedulable || drain !== undefined) return judged("Cordoned");
  return judged(isTrusted ? "Ready" : "Recovering");
}

export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined;
  for (const time of times)
    if (time !== undefined && (first === undefined || time < first)) first = time;
  return first;
}

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
