/**
 * The records of the rules about the clusters of a workload, as every report renders them: the
 * condition Scheduled, the placement record and its history, explain and plan.
 */
import {
  type ClusterSchedulingResult,
  capacityRule,
  type RuleDescription,
  type RuleRecord,
} from "../scheduling/index.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { ClusterShare } from "./stepper/cluster-share.ts";

export interface RuledCluster {
  readonly name: string;
  readonly share: ClusterShare;
  readonly schedulingResult?: ClusterSchedulingResult | undefined;
}

export const clusterStateRule: RuleDescription = {
  name: "ClusterState",
  verdict: "Reject",
  does: "only a Ready cluster gets new replicas; the replicas of a Draining cluster leave it",
  form: "unschedulable; recovering; not ready; draining; unreachable; unregistered",
};

const stateTexts: Readonly<Record<ClusterState, string>> = {
  Ready: "ready",
  Cordoned: "unschedulable",
  Recovering: "recovering",
  NotReady: "not ready",
  Draining: "draining",
  Unreachable: "unreachable",
  Unregistered: "unregistered",
};

/**
 * What keeps replicas from a cluster; none when nothing does. The filters come first, those that
 * evict before those that reject, then the state of the cluster, then its capacity.
 */
export function rejectionsOf({
  name,
  share,
  schedulingResult,
}: RuledCluster): readonly RuleRecord[] {
  const { records = [], maxReplicas } = schedulingResult ?? {};
  const filtered = (["Evict", "Reject"] as const).flatMap((wanted) =>
    records.filter(({ verdict }) => verdict === wanted),
  );
  if (filtered.length > 0) return filtered;
  const { state } = share;
  if (state !== "Ready" && state !== "Recovering") {
    const verdict = state === "Draining" ? "Evict" : "Reject";
    return [{ rule: clusterStateRule.name, cluster: name, verdict, message: stateTexts[state] }];
  }
  if (maxReplicas === undefined) return [];
  const { reason: message, detail } = maxReplicas;
  return [{ rule: capacityRule.name, cluster: name, verdict: "Limit", message, detail }];
}

/** One record with all that is known. */
export function recordText({ message, detail }: RuleRecord): string {
  return detail === undefined ? message : `${message}: ${detail}`;
}

/** All that keeps replicas from one cluster; undefined when nothing does. */
export function unschedulableReason(cluster: RuledCluster): string | undefined {
  const texts = rejectionsOf(cluster).map(recordText);
  return texts.length === 0 ? undefined : texts.join(", ");
}

/** `0/3 clusters are available: 2 Insufficient cpu, 1 not ready`, as kube-scheduler says it. */
export function unavailability(clusters: readonly RuledCluster[]): string {
  const rejections = clusters.map(rejectionsOf);
  const available = rejections.filter((records) => records.length === 0).length;
  const groups = groupedCounts(rejections.flat().map(({ message }) => message));
  const head = `${available}/${clusters.length} clusters are available`;
  return groups === "" ? head : `${head}: ${groups}`;
}

/** `2 Migrating, 1 Paused`: the most frequent first. */
export function groupedCounts(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return sorted.map(([name, count]) => `${count} ${name}`).join(", ");
}
