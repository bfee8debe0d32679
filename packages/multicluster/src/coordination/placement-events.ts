/** The Events of a decision, on the workload. */
import type { EventInput, ObjectInput } from "@kcp-ts/sdk";
import { assignedCluster } from "../api/index.ts";
import type { DecideInput, EvaluatedCluster, Writes } from "./decide.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import type { RolloutRecord } from "./rollout/rollout-record.ts";
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

/** By the name of the copy that is written: the Event to record when the write has succeeded. */
export function scalingEvents(
  { strategy }: DecideInput,
  clusters: readonly EvaluatedCluster[],
  { creations, updates, scaleDowns, removals }: Writes,
): ReadonlyMap<string, EventInput> {
  const before = replicasBefore(clusters);
  const events = new Map<string, EventInput>();
  const add = (copy: ObjectInput<Workload>, to: number) => {
    const cluster = assignedCluster(copy.metadata.labels) ?? "";
    const from = before.get(cluster) ?? 0;
    if (from !== to) events.set(copy.metadata.name ?? "", scaledCluster(cluster, from, to));
  };
  for (const copy of [...creations, ...updates, ...scaleDowns])
    add(copy, strategy.shareOf(copy as Workload).replicas);
  for (const copy of removals) add(copy, 0);
  return events;
}

export function scaledCluster(
  cluster: string,
  from: number,
  to: number,
  what = "replicas",
): EventInput {
  const message = `scaled ${cluster} from ${from} to ${to} ${what}`;
  return { type: "Normal", reason: "ScaledCluster", message };
}

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
