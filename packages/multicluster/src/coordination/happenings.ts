/** What is told about a decision, as Events of the whole. */
import type { EventInput } from "@kcp-ts/sdk";
import { assignedCluster } from "../api/index.ts";
import type { DecideInput, EvaluatedCluster, Writes } from "./decide.ts";
import type { RolloutPlan } from "./rolling/roll-out.ts";
import { readRolloutRecord } from "./rolling/roll-record.ts";
import type { Workload } from "./workload.ts";

export function placementEvents(
  { strategy, parent }: DecideInput,
  places: readonly EvaluatedCluster[],
  { creations, updates, cuts, removals, lost }: Writes,
): readonly EventInput[] {
  const happenings: EventInput[] = [];
  const before = new Map(places.map(({ name, member }) => [name, member.part?.replicas ?? 0]));
  for (const name of lost) {
    const message = `${name} is lost: its ${before.get(name)} replicas are replaced elsewhere`;
    happenings.push({ type: "Warning", reason: "ClusterLost", message });
  }
  const moves: string[] = [];
  for (const part of [...creations, ...updates, ...cuts]) {
    const cluster = assignedCluster(part.metadata.labels) ?? "";
    const from = before.get(cluster) ?? 0;
    const to = strategy.shareOf(part as Workload).replicas;
    if (from !== to) moves.push(`${cluster} ${from} to ${to}`);
  }
  for (const part of removals) {
    const cluster = assignedCluster(part.metadata.labels) ?? "";
    moves.push(`${cluster} ${before.get(cluster) ?? 0} to none`);
  }
  if (moves.length > 0) {
    const message = `${strategy.asked(parent)} replicas are split anew: ${moves.join(", ")}`;
    happenings.push({ type: "Normal", reason: "Split", message });
  }
  return happenings;
}

/** Who gets another template now, and what was not available in time. */
export function rolloutEvents(
  places: readonly EvaluatedCluster[],
  rollOut: RolloutPlan | undefined,
): readonly EventInput[] {
  if (rollOut === undefined) return [];
  const { late, parts } = rollOut;
  const happenings: EventInput[] = [];
  const wasUndone = ({ name, object }: EvaluatedCluster) =>
    late.includes(name) && readRolloutRecord(object?.metadata.annotations)?.isUndone === true;
  if (late.length > 0 && !places.some(wasUndone)) {
    const message = `the newest template was not available in ${late.join(", ")} in time, and is undone`;
    happenings.push({ type: "Warning", reason: "RolledBack", message });
  }
  const names = [...parts].filter(([, { isTurn }]) => isTurn).map(([name]) => name);
  if (names.length > 0) {
    const message = `${late.length > 0 ? "the template of before" : "the newest template"} goes to ${names.sort().join(", ")}`;
    happenings.push({ type: "Normal", reason: "RollingOut", message });
  }
  return happenings;
}
