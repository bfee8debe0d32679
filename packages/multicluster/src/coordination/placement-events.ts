/** The Events of a decision, on the workload. */
import type { EventInput, ObjectInput } from "@kcp-ts/sdk";
import { assignedCluster } from "../api/index.ts";
import type { DecideInput, EvaluatedCluster, Writes } from "./decide.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import type { RolloutRecord } from "./rollout/rollout-record.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export function placementEvents(
  clusters: readonly EvaluatedCluster[],
  { unreachableClusters }: Writes,
): readonly EventInput[] {
  const before = replicasBefore(clusters);
  return unreachableClusters.map((name) => ({
    type: "Warning",
    reason: "ClusterUnreachable",
    message: `cluster ${name} is unreachable; rescheduling ${before.get(name)} replicas`,
  }));
}

/** A change of a cluster's replicas, or of the completions of a Job. */
export interface ScaledCluster {
  readonly cluster: string;
  readonly from: number;
  readonly to: number;
}

/** By the name of the copy that is written. */
export function scaledClusters(
  { strategy }: DecideInput,
  clusters: readonly EvaluatedCluster[],
  { creations, updates, scaleDowns, removals }: Writes,
): ReadonlyMap<string, ScaledCluster> {
  const before = replicasBefore(clusters);
  const scaled = new Map<string, ScaledCluster>();
  const add = (copy: ObjectInput<Workload>, to: number) => {
    const cluster = assignedCluster(copy.metadata.labels) ?? "";
    const from = before.get(cluster) ?? 0;
    if (from !== to) scaled.set(copy.metadata.name ?? "", { cluster, from, to });
  };
  for (const copy of [...creations, ...updates, ...scaleDowns])
    add(copy, strategy.shareOf(copy as Workload).replicas);
  for (const copy of removals) add(copy, 0);
  return scaled;
}

/** One Event for all clusters of a decision whose copies were written. */
export function scalingEvents(
  scaled: readonly ScaledCluster[],
  strategy: Pick<Strategy, "workloads">,
): readonly EventInput[] {
  if (scaled.length === 0) return [];
  const what = strategy.workloads.kind === "Job" ? "completions" : "replicas";
  const named = scaled.slice(0, namedClustersMax);
  const each = named.map(({ cluster, from, to }) => `${cluster} from ${from} to ${to}`);
  const more = scaled.length - named.length;
  const others = more > 0 ? `, and ${more} more clusters` : "";
  const message = `scaled ${each.join(", ")} ${what}${others}`;
  return [{ type: "Normal", reason: "ScaledCluster", message }];
}

/** Names of clusters are long, and messages of Events have 1,024 characters. */
const namedClustersMax = 10;

function replicasBefore(clusters: readonly EvaluatedCluster[]): ReadonlyMap<string, number> {
  return new Map(clusters.map(({ name, share }) => [name, share.copy?.replicas ?? 0]));
}

/** The clusters that get the new Pod template now, and the rollouts that missed their deadline. */
export function rolloutEvents(
  rollouts: ReadonlyMap<string, RolloutRecord>,
  rollout: RolloutPlan | undefined,
): readonly EventInput[] {
  if (rollout === undefined) return [];
  const { late, copies } = rollout;
  const events: EventInput[] = [];
  const wasRolledBack = (name: string) => rollouts.get(name)?.isRolledBack === true;
  if (late.length > 0 && !late.some(wasRolledBack)) {
    const message = `rolled back: new template not available in ${late.join(", ")} within the progress deadline`;
    events.push({ type: "Warning", reason: "RolledBack", message });
  }
  const names = [...copies].filter(([, { isTurn }]) => isTurn).map(([name]) => name);
  if (names.length > 0) {
    const message = `${late.length > 0 ? "the previous template" : "the newest template"} goes to ${names.sort().join(", ")}`;
    events.push({ type: "Normal", reason: "RollingOut", message });
  }
  return events;
}
