/**
 * The rules that decided about the clusters of a workload, as records. `explain` and `plan` render
 * them; the texts are those of the condition Scheduled.
 */
import { type Condition, findCondition } from "@kcp-ts/sdk";
import {
  type Decision,
  type EvaluatedCluster,
  unschedulableReason,
} from "../coordination/index.ts";

export interface RuleRecord {
  readonly rule: "ClusterState" | "Exclusion" | "Filter" | "Capacity" | "Score" | "Volume";
  readonly cluster: string;
  readonly verdict: RuleEffect;
  readonly message: string;
}

/**
 * Evict: existing replicas leave. Reject: no new replicas. Limit: no more replicas than it has.
 * Keep: the replicas cannot leave.
 */
export type RuleEffect = "Evict" | "Reject" | "Limit" | "Prefer" | "Keep";

/** The records of one cluster; none when every rule admits it. */
export function ruleRecordsOf(evaluated: EvaluatedCluster, desired: number): readonly RuleRecord[] {
  const { name: cluster, share, schedulingResult } = evaluated;
  const { evictionReasons = [], filterReasons = [] } = schedulingResult ?? {};
  const record = (rule: RuleRecord["rule"], verdict: RuleEffect, message: string) => ({
    rule,
    cluster,
    verdict,
    message,
  });
  const refusals = [
    ...evictionReasons.map((text) => record("Exclusion", "Evict", `excluded: ${text}`)),
    ...filterReasons.map((text) => record("Filter", "Reject", text)),
  ];
  if (refusals.length > 0) return refusals;
  const reason = unschedulableReason(evaluated);
  if (reason === undefined) return [];
  const isOpen = share.state === "Ready" || share.state === "Recovering";
  if (!isOpen)
    return [record("ClusterState", share.state === "Draining" ? "Evict" : "Reject", reason)];
  const isFull = share.maxReplicas !== undefined && desired >= share.maxReplicas;
  return isFull ? [record("Capacity", "Limit", reason)] : [];
}

/**
 * How many replicas are scheduled, and why no cluster takes the others, counted by reason: in the
 * words of the condition Scheduled, and for kinds without conditions cluster by cluster.
 */
export function shortageOf({ status, clusters }: Decision): string {
  const { conditions } = status as { readonly conditions?: readonly Condition[] };
  const scheduled = findCondition(conditions, "Scheduled");
  if (scheduled?.status === "False" && scheduled.message !== undefined) return scheduled.message;
  return clusters
    .flatMap((cluster) => {
      const reason = unschedulableReason(cluster);
      return reason === undefined ? [] : [`${cluster.name}: ${reason}`];
    })
    .join("; ");
}
