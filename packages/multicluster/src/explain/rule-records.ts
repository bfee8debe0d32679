/** The rules that decided about the clusters of a workload, as explain and plan show them. */
import { type Condition, findCondition } from "@kcp-ts/sdk";
import {
  clusterStateRule,
  type Decision,
  type EvaluatedCluster,
  recordText,
  rejectionsOf,
  unschedulableReason,
} from "../coordination/index.ts";
import type { RuleRecord } from "../scheduling/index.ts";

/** The records of one cluster; none when every rule admits it. */
export function ruleRecordsOf(evaluated: EvaluatedCluster, desired: number): readonly RuleRecord[] {
  const { maxReplicas = Number.POSITIVE_INFINITY } = evaluated.share;
  return rejectionsOf(evaluated)
    .filter(({ verdict }) => verdict !== "Limit" || desired >= maxReplicas)
    .map((record): RuleRecord => {
      const { rule, cluster, verdict } = record;
      const isExcluded = verdict === "Evict" && rule !== clusterStateRule.name;
      const message = `${isExcluded ? "excluded: " : ""}${recordText(record)}`;
      return { rule, cluster, verdict, message };
    });
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
