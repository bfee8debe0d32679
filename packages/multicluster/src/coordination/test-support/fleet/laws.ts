/**
 * What must hold whatever happens, kind by kind; in the world as it is, and not as it is reported. What is done in good faith is no offence: where somebody could not know,
 * the law says so, and by how much. docs/adr/0043 has the reasons.
 */
import assert from "node:assert/strict";
import {
  assignedCluster,
  isFenceable,
  requestedOrdinalsAnnotation,
  softFinalizersOf,
} from "../../../api/index.ts";
import { completedByCopy, desiredCompletions } from "../../kinds/job-facts.ts";
import { requestedOrdinals } from "../../ordinal-volumes.ts";
import { statusCount, type Workload } from "../../workload.ts";
import { CronJobCopy, StatefulSetCopy } from "./copies.ts";
import type { ClusterSet, PhysicalCluster } from "./fleet.ts";
import { desiredReplicasOf } from "./laws-of-bounds.ts";
import { checkScaleDown, minimumOf } from "./laws-of-less.ts";
import { checkScaleUp } from "./laws-of-more.ts";
import {
  availabilityAtRisk,
  checkRollout,
  checkScaleDownDuringRollout,
} from "./laws-of-rolling.ts";
import { mustMove } from "./permissions.ts";
import { reliablyReady, reportedReady } from "./readiness.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./whole.ts";

/** After every step of the world. */
export function checkAfterStep(fleet: ClusterSet, whole: SimulatedWorkload): void {
  const { law } = whole.kind;
  if (law === "numbered") checkOrdinals(fleet, whole);
  if (!whole.isOnce) return;
  const copies = fleet.copiesOf(whole);
  const running = copies.reduce((sum, [, copy]) => sum + copy.running, 0);
  if (law === "single") {
    const keepers = copies.filter(([, copy]) => copy instanceof CronJobCopy && copy.keeps);
    assert.ok(keepers.length <= 1, `${whole.name} is kept by ${names(keepers)}`);
  } else if (law === "divided") {
    const asked = askedOfLate(fleet, whole);
    assert.ok(running <= asked, `${running} of ${whole.name} run, ${asked} are asked for`);
  } else if (law === "ending") {
    const left = desiredCompletions(whole.parent) - completedUnits(whole);
    assert.ok(running <= left, `${running} of ${whole.name} run, ${left} are left to do`);
  }
}

/** What clusters have said that they have done. */
function completedUnits(whole: SimulatedWorkload): number {
  let done = 0;
  for (const part of whole.parts.values()) done += statusCount(part, "succeeded");
  for (const [name, units] of completedByCopy(whole.parent))
    if (!whole.parts.has(name)) done += units;
  return done;
}

/**
 * Who asks for fewer is served a little later: when nobody holds them any more, clusters hear of it late, and one that is cut off when its lease is over; what its agent cannot
 * stop, when it is back.
 */
const lateMs = 120_000;

function askedOfLate(fleet: ClusterSet, whole: SimulatedWorkload): number {
  const { askedAtMs } = whole;
  const { nowMs } = fleet;
  askedAtMs.set(Math.max(whole.asked(), heldOf(whole)), nowMs);
  const isStoppable = isFenceable(whole.kind.strategy.parts);
  if (!isStoppable && fleet.copiesOf(whole).some(([name]) => isOutOfReach(fleet, name)))
    for (const asked of askedAtMs.keys()) askedAtMs.set(asked, nowMs);
  for (const [asked, atMs] of askedAtMs) if (atMs < nowMs - lateMs) askedAtMs.delete(asked);
  return Math.max(...askedAtMs.keys());
}

function isOutOfReach(fleet: ClusterSet, name: string): boolean {
  return fleet.targets.get(name)?.isReady !== true || fleet.clusters.get(name)?.isUp !== true;
}

function heldOf({ parts, kind }: SimulatedWorkload): number {
  let held = 0;
  for (const part of parts.values())
    if (softFinalizersOf(part.metadata.annotations, clusterOf(part)).length > 0)
      held += kind.strategy.shareOf(part).replicas;
  return held;
}

function names(copies: readonly (readonly [string, unknown])[]): string {
  return copies.map(([cluster]) => cluster).join(" and ");
}

/** No number in two clusters; with claims, only where its claim is. */
function checkOrdinals(fleet: ClusterSet, whole: SimulatedWorkload): void {
  const found = new Map<number, string>();
  for (const [cluster, copy] of fleet.copiesOf(whole)) {
    if (!(copy instanceof StatefulSetCopy)) continue;
    for (const number of copy.numbers.keys()) {
      const other = found.get(number);
      const text = `${number} of ${whole.name} runs in ${other} and ${cluster}`;
      assert.equal(other, undefined, text);
      found.set(number, cluster);
      if (whole.kind.hasClaims !== true) continue;
      const home = whole.claims.get(number)?.home;
      assert.equal(
        home,
        cluster,
        `${number} of ${whole.name} runs in ${cluster}, its claim is in ${home}`,
      );
    }
  }
}

/** A namespace in a cluster is of one tenant. */
export function checkBeforeDelivery(
  machine: PhysicalCluster,
  namespace: string,
  { tenant, name }: SimulatedWorkload,
): void {
  const owner = machine.tenants.get(namespace) ?? tenant;
  assert.equal(owner, tenant, `${name} is brought into ${namespace}, which is ${owner}'s`);
  machine.tenants.set(namespace, tenant);
}

/** Data goes to clusters that are registered. */
export function checkBeforeVolumeRequest(
  fleet: ClusterSet,
  annotations: Readonly<Record<string, string>> | undefined,
): void {
  if (annotations?.[requestedOrdinalsAnnotation] === undefined) return;
  for (const cluster of requestedOrdinals({ metadata: { name: "", annotations } }).keys())
    assert.ok(fleet.targets.has(cluster), `claims are sent to ${cluster}, which is not registered`);
}

/** Before a part is made: what is in one place only is nowhere else that can be seen. */
export function checkBeforeCreation(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  made: Workload,
  seen: ObservedWorkload,
): void {
  const { law, strategy } = whole.kind;
  checkScaleUp({ fleet, whole, seen, before: undefined, after: made });
  if (law === "ending") checkUnits(fleet, whole, made, seen);
  if (law !== "single") return;
  const others = [...whole.parts.values()].filter(
    (part) => fleet.judgement(clusterOf(part)).standing !== "lost",
  );
  const where = others.map(clusterOf).join(", ");
  const text = `${whole.name} is started in ${assignedCluster(made.metadata.labels)} beside ${where}`;
  assert.equal(where, "", `${text} (${strategy.name})`);
}

/** Nothing is begun that a cluster that can be seen does, or has done; of one that cannot, nothing that it was known to have done: when it is about to be back, it may report between the read and the write. */
function checkUnits(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  made: Workload,
  seen: ObservedWorkload,
): void {
  if (whole.isOnce) {
    const running = fleet
      .copiesOf(whole)
      .filter(([name, copy]) => fleet.judgement(name).standing === "lost" && copy.running > 0);
    assert.equal(names(running), "", `${whole.name} is begun though it may run in a lost cluster`);
  }
  let units = desiredCompletions(made);
  for (const part of whole.parts.values()) {
    const { standing } = fleet.judgement(clusterOf(part));
    const isSeen = standing !== "lost" && standing !== "gone";
    const isGoing = part.metadata.deletionTimestamp !== undefined;
    const known = isSeen ? part : (seen.parts.find(isSame(part)) ?? part);
    units += isSeen && !isGoing ? desiredCompletions(part) : statusCount(known, "succeeded");
  }
  for (const [name, done] of completedByCopy(whole.parent))
    if (!whole.parts.has(name)) units += done;
  const asked = desiredCompletions(whole.parent);
  assert.ok(units <= asked, `${units} of ${whole.name} are begun, ${asked} are asked for`);
}

function isSame({ metadata: { uid } }: Workload): (other: Workload) => boolean {
  return ({ metadata }) => metadata.uid === uid;
}

/** A write to a part that is there. */
export function checkedWrite(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  { metadata: { name } }: Workload,
  seen: ObservedWorkload,
  write: () => void,
): void {
  const before = whole.parts.get(name);
  assert.ok(before !== undefined);
  // Somebody may have asked for others since it was read.
  const wished = Math.min(whole.asked(), whole.asked(seen.parent));
  const meant = desiredReplicasOf(fleet, whole, seen);
  // Of numbers, any may be those that are.
  const asked = whole.kind.law === "numbered" ? wished : Math.min(wished, meant);
  const ready = reliablyReady(fleet, whole, asked);
  const reported = reportedReady(fleet, whole, seen, asked);
  const isToLeave = mustMove(fleet, whole, clusterOf(before), seen);
  const stake = availabilityAtRisk(fleet, whole, seen, before);
  write();
  const found = whole.parts.get(name);
  const after = found?.metadata.deletionTimestamp === undefined ? found : undefined;
  const share = (one: Workload) => whole.kind.strategy.shareOf(one).replicas;
  const change = { fleet, whole, seen, before };
  if (after === undefined || share(after) < share(before))
    checkScaleDown({ ...change, after, asked, meant, ready, reported, isToLeave });
  else if (share(after) > share(before)) checkScaleUp({ ...change, after });
  if (after === undefined) return;
  checkRollout({ ...change, after, stake });
  const isCut = whole.kind.law === "divided" && share(after) < share(before);
  if (isCut)
    checkScaleDownDuringRollout(
      { ...change, after, stake },
      minimumOf({ whole, seen, asked, meant }),
    );
}
