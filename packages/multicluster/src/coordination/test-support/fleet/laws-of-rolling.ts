/**
 * What an edit may cost: the ready replicas of all clusters together do not fall below what is asked for less the budget because Pods are replaced.
 *
 * A cluster replaces by itself what it was told to, later, at the numbers of its part. So what counts is the worst that it may come to by what the parts say, at every write of
 * a template. Excused is, by its number, what clusters have lost without having said so, and what has become ready without that being said; and what is in clusters that cannot be seen.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { pausedAnnotation, rolloutOf } from "../../rollout.ts";
import type { Workload } from "../../workload.ts";
import { amount, objectOf, rollingLimitsOf } from "../rolling-pods.ts";
import { DaemonSetCopy, daemonSetRollingLimits } from "./copies.ts";
import type { ClusterSet } from "./fleet.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./whole.ts";

export interface AvailabilityAtRisk {
  /** So many stay ready, whatever clusters do by what they are told. */
  readonly sure: number;
  /** So many of these are in the part that is written. */
  readonly own: number;
  /** So many more were known to, and are not: their cluster has lost them. */
  readonly lost: number;
}

interface RolloutWrite {
  readonly fleet: ClusterSet;
  readonly whole: SimulatedWorkload;
  readonly seen: ObservedWorkload;
  readonly before: Workload;
  readonly after: Workload;
  readonly stake: AvailabilityAtRisk;
}

export function checkRollout({ fleet, whole, seen, before, after, stake }: RolloutWrite): void {
  const { strategy } = whole.kind;
  if (strategy.rolling === undefined || templateOf(before.spec) === templateOf(after.spec)) return;
  const cluster = clusterOf(before);
  const parents = [seen.parent, whole.parent];
  const isPaused = parents.every((one) => one.metadata.annotations?.[pausedAnnotation] === "true");
  assert.ok(!isPaused, `${whole.name} is paused, and ${cluster} gets another template`);
  if (parents.some((one) => isUnbounded(specOf(whole, one)))) return;
  const all = [...whole.parts.values()].reduce((sum, one) => sum + inSight(fleet, whole, one), 0);
  const isEverywhere = strategy.sharing === "duplicate";
  const asked = Math.min(...parents.map((one) => whole.asked(one)));
  const total = isEverywhere ? all : Math.min(all, asked);
  const spared = Math.max(...parents.map((one) => sparedBy(whole, one, all)), owned(whole, after));
  const { sure } = availabilityAtRisk(fleet, whole, seen, before);
  // What is taken away beside that is another law's business.
  const taken = Math.max(0, stake.own - podsOf(whole, after));
  const known = stake.sure - taken;
  const least = Math.min(total - spared, known) - stake.lost;
  const text = `${sure} of ${whole.name} stay ready when ${cluster} replaces its Pods, ${known} before it, ${stake.lost} lost, ${total} asked for, ${spared} spared`;
  assert.ok(sure >= least, text);
}

/** A smaller share lets a cluster that replaces Pods stop more of them: what moves take away is counted by what may come of it, too. Together they may cost what the larger budget spares. */
export function checkScaleDownDuringRollout(
  { fleet, whole, seen, before, after, stake }: RolloutWrite,
  least: number,
): void {
  const parents = [seen.parent, whole.parent];
  if (templateOf(before.spec) !== templateOf(after.spec)) return;
  if (parents.some((one) => isUnbounded(specOf(whole, one)))) return;
  const { sure } = availabilityAtRisk(fleet, whole, seen, before);
  const asked = Math.min(...parents.map((one) => whole.asked(one)));
  const largest = Math.max(...[...whole.parts.values()].map((one) => owned(whole, one)));
  const spared = Math.max(...parents.map((one) => sparedBy(whole, one, asked)), largest);
  const floor = Math.min(least, asked - spared, stake.sure) - stake.lost;
  const text = `${sure} of ${whole.name} stay ready after a cut in ${clusterOf(before)} whatever is replaced, ${stake.sure} before it, ${stake.lost} lost, ${least} are to stay`;
  assert.ok(sure >= floor, text);
}

/** When nothing happens any more, everybody has the newest. */
export function checkRolloutComplete(fleet: ClusterSet, whole: SimulatedWorkload): void {
  if (whole.kind.strategy.rolling === undefined) return;
  const wanted = templateOf(specOf(whole, whole.parent));
  for (const part of whole.parts.values()) {
    if (fleet.judgement(clusterOf(part)).standing === "lost") continue;
    assert.equal(templateOf(part.spec), wanted, `${part.metadata.name} has the newest at rest`);
  }
}

/** When a part is written that was so before. */
export function availabilityAtRisk(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  seen: ObservedWorkload,
  written: Workload,
): AvailabilityAtRisk {
  let [sure, own, lost] = [0, 0, 0];
  if (whole.kind.strategy.rolling === undefined) return { sure, own, lost };
  for (const part of whole.parts.values()) {
    if (part.metadata.deletionTimestamp !== undefined) continue;
    if (!fleet.judgement(clusterOf(part)).isTrusted) continue;
    const worst = worstOf(fleet, whole, part);
    const read = seen.parts.find(({ metadata }) => metadata.name === part.metadata.name);
    const isWritten = read?.metadata.name === written.metadata.name;
    if (isWritten) own = Math.min(worst, saidOf(whole, read, written));
    sure += isWritten ? own : worst;
    lost += Math.max(0, (read === undefined ? 0 : knownOf(whole, read, part)) - worst);
  }
  return { sure, own, lost };
}

/** What is left of a part when its cluster has used all that it is allowed. */
function worstOf(fleet: ClusterSet, whole: SimulatedWorkload, part: Workload): number {
  const copy = fleet.copyOf(whole, part, clusterOf(part));
  if (copy === undefined) return 0;
  const pods = copy instanceof DaemonSetCopy ? copy.nodes : podsOf(whole, part);
  const isRolling = copy.isMixed || copy.template !== templateOf(part.spec);
  const ready = Math.min(copy.ready(fleet.nowMs), pods);
  return isRolling ? Math.max(0, Math.min(ready, pods - mayStop(whole, part.spec, pods))) : ready;
}

/** The same, by what was read. */
function knownOf(whole: SimulatedWorkload, read: Workload, part: Workload): number {
  const form = whole.kind.strategy.rolling;
  if (form === undefined || !whole.kind.strategy.report(read).isObserved) return 0;
  const pods = podsOf(whole, { ...read, spec: part.spec });
  const isRolling = !form.isReplaced(read) || templateOf(read.spec) !== templateOf(part.spec);
  const known = Math.min(form.available(read), pods);
  return isRolling ? Math.max(0, Math.min(known, pods - mayStop(whole, part.spec, pods))) : known;
}

/** What was sure by what its cluster has said, if that is about its newest spec: what is more, nobody knows of. */
function saidOf(whole: SimulatedWorkload, read: Workload, written: Workload): number {
  const { isObserved } = whole.kind.strategy.report(read);
  return isObserved ? knownOf(whole, read, written) : Infinity;
}

function podsOf({ kind }: SimulatedWorkload, part: Workload): number {
  return kind.strategy.rolling?.pods(part, part.spec) ?? 0;
}

/** What a part is to have in a cluster that can be seen. */
function inSight(fleet: ClusterSet, whole: SimulatedWorkload, part: Workload): number {
  const { standing } = fleet.judgement(clusterOf(part));
  const isOut = standing === "lost" || standing === "gone";
  return isOut || part.metadata.deletionTimestamp !== undefined ? 0 : podsOf(whole, part);
}

/** What a cluster may stop at a time, by the numbers of its part. */
function mayStop({ kind }: SimulatedWorkload, spec: JsonObject, pods: number): number {
  const { resource } = kind.strategy.parts;
  if (resource === "deployments") {
    const { unavailable, isRecreate } = rollingLimitsOf(spec, pods);
    return isRecreate ? pods : unavailable;
  }
  if (isUnbounded(spec)) return 0;
  if (resource === "daemonsets") return daemonSetRollingLimits(spec, pods).unavailable;
  return resource === "statefulsets" ? 1 : pods;
}

/** Its author does not want a pace: all at once, or nothing by itself. */
function isUnbounded(spec: JsonObject): boolean {
  const { type = objectOf(spec["updateStrategy"])["type"] } = objectOf(spec["strategy"]);
  return type === "Recreate" || type === "OnDelete";
}

/** What may be unavailable by what is said, in all clusters together. */
function sparedBy(whole: SimulatedWorkload, parent: Workload, all: number): number {
  const { strategy } = whole.kind;
  const { resource } = strategy.parts;
  if (resource === "databases") return 0;
  if (resource === "statefulsets") return 1;
  const total = strategy.sharing === "duplicate" ? all : whole.asked(parent);
  const spec = specOf(whole, parent);
  const own =
    resource === "daemonsets" ? daemonSetRollingLimits(spec, total) : rollingLimitsOf(spec, total);
  const { maxUnavailable, maxSurge } = rolloutOf(parent.metadata.annotations);
  const limit = (said: number | string | undefined, round: (exact: number) => number) =>
    said === undefined ? Infinity : amount(numeric(said), total, round);
  const unavailable = Math.min(own.unavailable, limit(maxUnavailable, Math.floor));
  const surge = Math.min(own.surge, limit(maxSurge, Math.ceil));
  const isStuck = resource === "daemonsets" && unavailable === 0 && surge === 0;
  return whole.isOnce || isStuck ? Math.max(1, unavailable) : unavailable;
}

/** Of kinds of people's own a cluster may stop all that it has. */
function owned(whole: SimulatedWorkload, part: Workload): number {
  return whole.kind.strategy.parts.resource === "databases" ? podsOf(whole, part) : 0;
}

function numeric(limit: number | string): number | string {
  return typeof limit === "string" && !limit.endsWith("%") ? Number(limit) : limit;
}

function specOf({ kind: { strategy } }: SimulatedWorkload, parent: Workload): JsonObject {
  return strategy.specFor(parent, { replicas: strategy.asked(parent) }, "");
}

function templateOf(spec: JsonObject): string {
  return JSON.stringify(spec["template"] ?? null);
}
