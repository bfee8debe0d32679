/**
 * Invariants of rollouts: the replacement of Pods does not take the ready replicas of all clusters
 * below the requested number less maxUnavailable.
 *
 * A cluster replaces Pods later and by itself, within the limits of its copy. So every write of a
 * template is checked against the worst outcome that the written copies permit. The invariant
 * excuses, by number, replicas that clusters have lost without a report, replicas that have become
 * ready without a report, and replicas in unreachable clusters.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { pausedAnnotation, rolloutOf } from "../../rollout-policy.ts";
import type { Workload } from "../../workload.ts";
import { amount, objectOf, rollingLimitsOf } from "../rolling-pods.ts";
import type { ClusterSet } from "./cluster-set.ts";
import { DaemonSetCopy, daemonSetRollingLimits } from "./simulated-copies.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./simulated-workload.ts";

export interface AvailabilityAtRisk {
  /** Replicas that stay ready, however clusters use their limits. */
  readonly sure: number;
  /** The number of these that the written copy has. */
  readonly own: number;
  /** Replicas that were known to stay ready, and do not: their cluster has lost them. */
  readonly lost: number;
}

interface RolloutWrite {
  readonly clusterSet: ClusterSet;
  readonly workload: SimulatedWorkload;
  readonly observed: ObservedWorkload;
  readonly before: Workload;
  readonly after: Workload;
  readonly stake: AvailabilityAtRisk;
}

export function checkRollout({
  clusterSet,
  workload,
  observed,
  before,
  after,
  stake,
}: RolloutWrite): void {
  const { strategy } = workload.kind;
  if (strategy.rollout === undefined || templateOf(before.spec) === templateOf(after.spec)) return;
  const cluster = clusterOf(before);
  const parents = [observed.parent, workload.parent];
  const isPaused = parents.every((one) => one.metadata.annotations?.[pausedAnnotation] === "true");
  assert.ok(!isPaused, `${workload.name} is paused, and ${cluster} gets another template`);
  if (parents.some((one) => isUnbounded(specOf(workload, one)))) return;
  const all = [...workload.copies.values()].reduce(
    (sum, one) => sum + inSight(clusterSet, workload, one),
    0,
  );
  const isEverywhere = strategy.capabilities.unit === "Everywhere";
  const requested = Math.min(...parents.map((one) => workload.desiredReplicas(one)));
  const total = isEverywhere ? all : Math.min(all, requested);
  const spared = Math.max(
    ...parents.map((one) => sparedBy(workload, one, all)),
    owned(workload, after),
  );
  const { sure } = availabilityAtRisk(clusterSet, workload, observed, before);
  // Other invariants check the replicas that are removed besides.
  const taken = Math.max(0, stake.own - podsOf(workload, after));
  const known = stake.sure - taken;
  const least = Math.min(total - spared, known) - stake.lost;
  const text = `${sure} of ${workload.name} stay ready when ${cluster} replaces its Pods, ${known} before it, ${stake.lost} lost, ${total} asked for, ${spared} spared`;
  assert.ok(sure >= least, text);
}

/**
 * A smaller copy permits a cluster that replaces Pods to stop more of them: scale-downs of moves
 * count with their worst outcome, too. Together they may cost the larger of the two limits.
 */
export function checkScaleDownDuringRollout(
  { clusterSet, workload, observed, before, after, stake }: RolloutWrite,
  least: number,
): void {
  const parents = [observed.parent, workload.parent];
  if (templateOf(before.spec) !== templateOf(after.spec)) return;
  if (parents.some((one) => isUnbounded(specOf(workload, one)))) return;
  const { sure } = availabilityAtRisk(clusterSet, workload, observed, before);
  const requested = Math.min(...parents.map((one) => workload.desiredReplicas(one)));
  const largest = Math.max(...[...workload.copies.values()].map((one) => owned(workload, one)));
  const spared = Math.max(...parents.map((one) => sparedBy(workload, one, requested)), largest);
  const floor = Math.min(least, requested - spared, stake.sure) - stake.lost;
  const text = `${sure} of ${workload.name} stay ready after a cut in ${clusterOf(before)} whatever is replaced, ${stake.sure} before it, ${stake.lost} lost, ${least} are to stay`;
  assert.ok(sure >= floor, text);
}

/** When nothing happens any more, every copy has the newest template. */
export function checkRolloutComplete(clusterSet: ClusterSet, workload: SimulatedWorkload): void {
  if (workload.kind.strategy.rollout === undefined) return;
  const wanted = templateOf(specOf(workload, workload.parent));
  for (const copy of workload.copies.values()) {
    if (clusterSet.evaluation(clusterOf(copy)).state === "Unreachable") continue;
    assert.equal(templateOf(copy.spec), wanted, `${copy.metadata.name} has the newest at rest`);
  }
}

/** The availability at the time of a write. */
export function availabilityAtRisk(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  observed: ObservedWorkload,
  written: Workload,
): AvailabilityAtRisk {
  let [sure, own, lost] = [0, 0, 0];
  if (workload.kind.strategy.rollout === undefined) return { sure, own, lost };
  for (const copy of workload.copies.values()) {
    if (copy.metadata.deletionTimestamp !== undefined) continue;
    if (!clusterSet.evaluation(clusterOf(copy)).isTrusted) continue;
    const worst = worstOf(clusterSet, workload, copy);
    const read = observed.copies.find(({ metadata }) => metadata.name === copy.metadata.name);
    const isWritten = read?.metadata.name === written.metadata.name;
    if (isWritten) own = Math.min(worst, saidOf(workload, read, written));
    sure += isWritten ? own : worst;
    lost += Math.max(0, (read === undefined ? 0 : knownOf(workload, read, copy)) - worst);
  }
  return { sure, own, lost };
}

/** The ready replicas of a copy in the worst use of its limits. */
function worstOf(clusterSet: ClusterSet, workload: SimulatedWorkload, part: Workload): number {
  const copy = clusterSet.copyOf(workload, part, clusterOf(part));
  if (copy === undefined) return 0;
  const pods = copy instanceof DaemonSetCopy ? copy.nodes : podsOf(workload, part);
  const isRolling = copy.isMixed || copy.template !== templateOf(part.spec);
  const ready = Math.min(copy.ready(clusterSet.nowMs), pods);
  return isRolling
    ? Math.max(0, Math.min(ready, pods - mayStop(workload, part.spec, pods)))
    : ready;
}

/** The same bound, from the state that was read. */
function knownOf(workload: SimulatedWorkload, read: Workload, copy: Workload): number {
  const kindRollout = workload.kind.strategy.rollout;
  if (kindRollout === undefined || !workload.kind.strategy.statusReportOf(read).isObserved)
    return 0;
  const pods = podsOf(workload, { ...read, spec: copy.spec });
  const isRolling =
    !kindRollout.isComplete(read) || templateOf(read.spec) !== templateOf(copy.spec);
  const known = Math.min(kindRollout.available(read), pods);
  return isRolling
    ? Math.max(0, Math.min(known, pods - mayStop(workload, copy.spec, pods)))
    : known;
}

/**
 * The bound from the cluster's report, if it is about the newest spec: further ready replicas are
 * unknown.
 */
function saidOf(workload: SimulatedWorkload, read: Workload, written: Workload): number {
  const { isObserved } = workload.kind.strategy.statusReportOf(read);
  return isObserved ? knownOf(workload, read, written) : Infinity;
}

function podsOf({ kind }: SimulatedWorkload, copy: Workload): number {
  return kind.strategy.rollout?.pods(copy, copy.spec) ?? 0;
}

/** The desired replicas of a copy in a reachable cluster. */
function inSight(clusterSet: ClusterSet, workload: SimulatedWorkload, copy: Workload): number {
  const { state } = clusterSet.evaluation(clusterOf(copy));
  const isOut = state === "Unreachable" || state === "Unregistered";
  return isOut || copy.metadata.deletionTimestamp !== undefined ? 0 : podsOf(workload, copy);
}

/** Pods that a cluster may stop at a time, by the limits of its copy. */
function mayStop({ kind }: SimulatedWorkload, spec: JsonObject, pods: number): number {
  const { resource } = kind.strategy.copies;
  if (resource === "deployments") {
    const { unavailable, isRecreate } = rollingLimitsOf(spec, pods);
    return isRecreate ? pods : unavailable;
  }
  if (isUnbounded(spec)) return 0;
  if (resource === "daemonsets") return daemonSetRollingLimits(spec, pods).unavailable;
  return resource === "statefulsets" ? 1 : pods;
}

/** The author sets no limits: Recreate or OnDelete. */
function isUnbounded(spec: JsonObject): boolean {
  const { type = objectOf(spec["updateStrategy"])["type"] } = objectOf(spec["strategy"]);
  return type === "Recreate" || type === "OnDelete";
}

/** The maxUnavailable of the workload, over all clusters. */
function sparedBy(workload: SimulatedWorkload, parent: Workload, all: number): number {
  const { strategy } = workload.kind;
  const { resource } = strategy.copies;
  if (resource === "databases") return 0;
  if (resource === "statefulsets") return 1;
  const total =
    strategy.capabilities.unit === "Everywhere" ? all : workload.desiredReplicas(parent);
  const spec = specOf(workload, parent);
  const own =
    resource === "daemonsets" ? daemonSetRollingLimits(spec, total) : rollingLimitsOf(spec, total);
  const { maxUnavailable, maxSurge } = rolloutOf(parent.metadata.annotations);
  const limit = (said: number | string | undefined, round: (exact: number) => number) =>
    said === undefined ? Infinity : amount(numeric(said), total, round);
  const unavailable = Math.min(own.unavailable, limit(maxUnavailable, Math.floor));
  const surge = Math.min(own.surge, limit(maxSurge, Math.ceil));
  const isStuck = resource === "daemonsets" && unavailable === 0 && surge === 0;
  return workload.isStopBeforeStart || isStuck ? Math.max(1, unavailable) : unavailable;
}

/** A cluster may stop all Pods of a custom kind. */
function owned(workload: SimulatedWorkload, copy: Workload): number {
  return workload.kind.strategy.copies.resource === "databases" ? podsOf(workload, copy) : 0;
}

function numeric(limit: number | string): number | string {
  return typeof limit === "string" && !limit.endsWith("%") ? Number(limit) : limit;
}

function specOf({ kind: { strategy } }: SimulatedWorkload, parent: Workload): JsonObject {
  return strategy.specFor(parent, { replicas: strategy.desiredReplicas(parent) }, "");
}

function templateOf(spec: JsonObject): string {
  return JSON.stringify(spec["template"] ?? null);
}
