/**
 * Standing: what a physical cluster may be used for, judged from its SyncTarget and the time.
 *
 *                     Ready                          not Ready
 *     accepting ◀──────────── settling ◀──────────────────┐
 *         │  ▲                                            │
 *         │  └───────── Ready for settleMs ───────────────┤
 *         ▼ not Ready                                     │
 *     wavering ───── not Ready for graceMs ──────────▶  lost
 *
 *     cordoned: unschedulable      leaving: drained, evictAfter passed, the SyncTarget is being deleted, or excluded
 *     gone:     there is no SyncTarget of that name
 *
 * What each means for a part of a whole (`plan-moves.ts` acts on it):
 *
 * | standing  | gets more | its ready replicas count | gives up what it has |
 * |-----------|-----------|--------------------------|----------------------|
 * | accepting | yes       | yes                      | to balance           |
 * | cordoned  | no        | yes                      | when less is asked for |
 * | settling  | no        | not yet                  | to balance           |
 * | wavering  | no        | no                       | to balance           |
 * | leaving   | no        | yes                      | all, when replaced   |
 * | lost      | no        | no                       | nothing: it is frozen until the cluster is back, and replaced elsewhere |
 * | gone      | no        | no                       | all, when replaced   |
 *
 * Reports of a cluster that has been Ready for less than settleMs do not count yet, whatever its standing.
 */
import { findCondition, isConditionTrue } from "@kcp-ts/sdk";
import { type SyncTarget, targetConditions } from "../api/index.ts";
import { type ClusterCandidate, clusterCandidateOf } from "../scheduling/index.ts";

export type ClusterState =
  | "accepting"
  | "cordoned"
  | "settling"
  | "wavering"
  | "leaving"
  | "lost"
  | "gone";

/** What of a SyncTarget decides where replicas go. */
export interface ClusterInfo extends ClusterCandidate {
  readonly isReady: boolean;
  /** When Ready last changed, or when the SyncTarget was made. */
  readonly changedAtMs: number;
  readonly isUnschedulable: boolean;
  /** What is synced to it, by `resource.group`; undefined where nobody says, and everything may be. */
  readonly synced?: readonly string[] | undefined;
  readonly evictAfterMs: number | undefined;
  /** Being drained: everything at once, or each in its turn. */
  readonly drain?: "all" | "inTurn" | undefined;
  readonly isDeleting: boolean;
  /** Its agent stops what may run once at most when it is silent for so long. */
  readonly lease?: ClusterLease | undefined;
}

export interface ClusterLease {
  readonly durationMs: number;
  /** Since when no heartbeat counts; undefined while they do. */
  readonly silentSinceMs: number | undefined;
}

export interface GracePeriods {
  /** So long a cluster may be not Ready before what it has is replaced. */
  readonly graceMs: number;
  /** So long a cluster that is Ready again is not trusted. */
  readonly settleMs: number;
}

export interface ClusterEvaluation {
  readonly standing: ClusterState;
  /** For a lost one: whether it should give up what it has. */
  readonly isLeaving: boolean;
  /** Ready for a while: what it reports is not from before it was lost. */
  readonly isTrusted: boolean;
  /** When time alone may change the judgement. */
  readonly untilMs: number | undefined;
}

export function clusterInfoOf(object: SyncTarget): ClusterInfo {
  const { metadata, spec, status } = object;
  const { ready: summary, heartbeatHealthy } = targetConditions;
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const ready = findCondition(status?.conditions, isDeleting ? heartbeatHealthy : summary);
  const evictAfterMs = Date.parse(spec?.evictAfter ?? "");
  return {
    ...clusterCandidateOf(object),
    // One that is being deleted is called not Ready for that alone.
    isReady: isConditionTrue(status?.conditions, isDeleting ? heartbeatHealthy : summary),
    changedAtMs: timeOf(ready?.lastTransitionTime) ?? timeOf(metadata.creationTimestamp) ?? 0,
    isUnschedulable: spec?.unschedulable === true,
    synced: status?.syncedResources,
    evictAfterMs: Number.isNaN(evictAfterMs) ? undefined : evictAfterMs,
    drain: spec?.drain && (spec.drain.budget === undefined ? "all" : "inTurn"),
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

/** A cluster that does not sync a kind gets none of it. Where nobody says what is synced, everything may be. */
export function clusterInfoForKind(target: ClusterInfo, kind: string): ClusterInfo {
  const isSynced = target.synced?.includes(kind) ?? true;
  return isSynced ? target : { ...target, isUnschedulable: true };
}

export function evaluateCluster(
  target: ClusterInfo | undefined,
  nowMs: number,
  { graceMs, settleMs }: GracePeriods,
): ClusterEvaluation {
  if (target === undefined) {
    return { standing: "gone", isLeaving: true, isTrusted: false, untilMs: undefined };
  }
  const { isReady, changedAtMs, isUnschedulable, evictAfterMs, isDeleting, drain } = target;
  const isEvicted = evictAfterMs !== undefined && evictAfterMs <= nowMs;
  const isLeaving = isDeleting || isEvicted || drain === "all";
  const evictionMs = isLeaving ? undefined : evictAfterMs;
  const settledAtMs = changedAtMs + settleMs;
  const isTrusted = isReady && nowMs >= settledAtMs;
  const judged = (standing: ClusterState, untilMs?: number): ClusterEvaluation => ({
    standing,
    isLeaving,
    isTrusted,
    untilMs: earliest(untilMs, evictionMs, isReady && !isTrusted ? settledAtMs : undefined),
  });
  if (!isReady) {
    const lostAtMs = changedAtMs + graceMs;
    return nowMs >= lostAtMs ? judged("lost") : judged("wavering", lostAtMs);
  }
  if (isLeaving) return judged("leaving");
  if (isUnschedulable || drain !== undefined) return judged("cordoned");
  return judged(isTrusted ? "accepting" : "settling");
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
