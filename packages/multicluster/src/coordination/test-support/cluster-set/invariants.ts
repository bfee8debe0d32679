/**
 * The invariants, for each kind; checked in the simulation, and not in its reports. An action in
 * good faith breaks no invariant: where the coordinator could not know, the invariant says so, and
 * by how much. docs/adr/0043 has the reasons.
 */
import assert from "node:assert/strict";
import { assignedCluster, isFenceable, softFinalizersOf } from "../../../api/index.ts";
import { desiredCompletions } from "../../kinds/job-state.ts";
import { type PlacementRecord, requestedOrdinals } from "../../placement-record.ts";
import { statusCount, type Workload } from "../../workload.ts";
import type { ClusterSet, PhysicalCluster } from "./cluster-set.ts";
import { mustMove } from "./eligibility.ts";
import { desiredReplicasOf } from "./limit-invariants.ts";
import { reliablyReady, reportedReady } from "./readiness.ts";
import {
  availabilityAtRisk,
  checkRollout,
  checkScaleDownDuringRollout,
} from "./rollout-invariants.ts";
import { checkScaleDown, minimumOf } from "./scale-down-invariants.ts";
import { checkScaleUp } from "./scale-up-invariants.ts";
import { CronJobCopy, StatefulSetCopy } from "./simulated-copies.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./simulated-workload.ts";

/** Checks after every step of the simulation. */
export function checkAfterStep(clusterSet: ClusterSet, workload: SimulatedWorkload): void {
  const { invariants } = workload.kind;
  if (invariants === "ordinal") checkOrdinals(clusterSet, workload);
  if (!workload.isStopBeforeStart) return;
  const copies = clusterSet.copiesOf(workload);
  const running = copies.reduce((sum, [, copy]) => sum + copy.running, 0);
  if (invariants === "single") {
    const keepers = copies.filter(([, copy]) => copy instanceof CronJobCopy && copy.isScheduling);
    assert.ok(keepers.length <= 1, `${workload.name} is kept by ${names(keepers)}`);
  } else if (invariants === "divided") {
    const requested = askedOfLate(clusterSet, workload);
    assert.ok(
      running <= requested,
      `${running} of ${workload.name} run, ${requested} are asked for`,
    );
  } else if (invariants === "finite") {
    const left = desiredCompletions(workload.parent) - completedUnits(workload);
    assert.ok(running <= left, `${running} of ${workload.name} run, ${left} are left to do`);
  }
}

/** The completions that clusters have reported. */
function completedUnits(workload: SimulatedWorkload): number {
  let done = 0;
  for (const copy of workload.copies.values()) done += statusCount(copy, "succeeded");
  for (const [name, units] of Object.entries(workload.record?.completions ?? {}))
    if (!workload.copies.has(name)) done += units;
  return done;
}

/**
 * A scale-down takes effect later: when no finalizer blocks it, clusters observe it late, and a
 * disconnected cluster when its lease expires; a workload that its agent cannot stop, when the
 * cluster is back.
 */
const lateMs = 120_000;

function askedOfLate(clusterSet: ClusterSet, workload: SimulatedWorkload): number {
  const { requestedAtMs } = workload;
  const { nowMs } = clusterSet;
  requestedAtMs.set(Math.max(workload.desiredReplicas(), heldOf(workload)), nowMs);
  const isStoppable = isFenceable(workload.kind.strategy.copies);
  if (
    !isStoppable &&
    clusterSet.copiesOf(workload).some(([name]) => isOutOfReach(clusterSet, name))
  )
    for (const requested of requestedAtMs.keys()) requestedAtMs.set(requested, nowMs);
  for (const [requested, atMs] of requestedAtMs)
    if (atMs < nowMs - lateMs) requestedAtMs.delete(requested);
  return Math.max(...requestedAtMs.keys());
}

function isOutOfReach(clusterSet: ClusterSet, name: string): boolean {
  return (
    clusterSet.targets.get(name)?.isReady !== true || clusterSet.clusters.get(name)?.isUp !== true
  );
}

function heldOf({ copies, kind }: SimulatedWorkload): number {
  let held = 0;
  for (const copy of copies.values())
    if (softFinalizersOf(copy.metadata.annotations, clusterOf(copy)).length > 0)
      held += kind.strategy.shareOf(copy).replicas;
  return held;
}

function names(copies: readonly (readonly [string, unknown])[]): string {
  return copies.map(([cluster]) => cluster).join(" and ");
}

/** No ordinal is in two clusters; with claims, it is only in the cluster of its claim. */
function checkOrdinals(clusterSet: ClusterSet, workload: SimulatedWorkload): void {
  const found = new Map<number, string>();
  for (const [cluster, copy] of clusterSet.copiesOf(workload)) {
    if (!(copy instanceof StatefulSetCopy)) continue;
    for (const number of copy.ordinals.keys()) {
      const other = found.get(number);
      const text = `${number} of ${workload.name} runs in ${other} and ${cluster}`;
      assert.equal(other, undefined, text);
      found.set(number, cluster);
      if (workload.kind.hasClaims !== true) continue;
      const home = workload.claims.get(number)?.home;
      assert.equal(
        home,
        cluster,
        `${number} of ${workload.name} runs in ${cluster}, its claim is in ${home}`,
      );
    }
  }
}

/** A namespace in a cluster belongs to one tenant. */
export function checkBeforeDelivery(
  physicalCluster: PhysicalCluster,
  namespace: string,
  { tenant, name }: SimulatedWorkload,
): void {
  const owner = physicalCluster.tenants.get(namespace) ?? tenant;
  assert.equal(owner, tenant, `${name} is brought into ${namespace}, which is ${owner}'s`);
  physicalCluster.tenants.set(namespace, tenant);
}

/** Volumes are requested only in registered clusters. */
export function checkBeforeVolumeRequest(clusterSet: ClusterSet, record: PlacementRecord): void {
  for (const cluster of requestedOrdinals(record).keys())
    assert.ok(
      clusterSet.targets.has(cluster),
      `claims are sent to ${cluster}, which is not registered`,
    );
}

/** Before a copy is created: a single workload is in no other reachable cluster. */
export function checkBeforeCreation(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  made: Workload,
  observed: ObservedWorkload,
): void {
  const { invariants, strategy } = workload.kind;
  checkScaleUp({ clusterSet, workload, observed, before: undefined, after: made });
  if (invariants === "finite") checkUnits(clusterSet, workload, made, observed);
  if (invariants !== "single") return;
  const others = [...workload.copies.values()].filter(
    (copy) => clusterSet.evaluation(clusterOf(copy)).state !== "Unreachable",
  );
  const where = others.map(clusterOf).join(", ");
  const text = `${workload.name} is started in ${assignedCluster(made.metadata.labels)} beside ${where}`;
  assert.equal(where, "", `${text} (${strategy.name})`);
}

/**
 * No completion starts that a reachable cluster has started or done; nor one that an unreachable
 * cluster has reported as done: a cluster that is about to be back may report between the read and
 * the write.
 */
function checkUnits(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  made: Workload,
  observed: ObservedWorkload,
): void {
  if (workload.isStopBeforeStart) {
    const running = clusterSet
      .copiesOf(workload)
      .filter(
        ([name, copy]) => clusterSet.evaluation(name).state === "Unreachable" && copy.running > 0,
      );
    assert.equal(
      names(running),
      "",
      `${workload.name} is begun though it may run in a lost cluster`,
    );
  }
  let units = desiredCompletions(made);
  for (const copy of workload.copies.values()) {
    const { state } = clusterSet.evaluation(clusterOf(copy));
    const isSeen = state !== "Unreachable" && state !== "Unregistered";
    const isGoing = copy.metadata.deletionTimestamp !== undefined;
    const known = isSeen ? copy : (observed.copies.find(isSame(copy)) ?? copy);
    units += isSeen && !isGoing ? desiredCompletions(copy) : statusCount(known, "succeeded");
  }
  for (const [name, done] of Object.entries(workload.record?.completions ?? {}))
    if (!workload.copies.has(name)) units += done;
  const requested = desiredCompletions(workload.parent);
  assert.ok(
    units <= requested,
    `${units} of ${workload.name} are begun, ${requested} are asked for`,
  );
}

function isSame({ metadata: { uid } }: Workload): (other: Workload) => boolean {
  return ({ metadata }) => metadata.uid === uid;
}

/** A write to an existing copy. */
export function checkedWrite(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  { metadata: { name } }: Workload,
  observed: ObservedWorkload,
  write: () => void,
): void {
  const before = workload.copies.get(name);
  assert.ok(before !== undefined);
  // The author may have scaled the workload since it was read.
  const wished = Math.min(workload.desiredReplicas(), workload.desiredReplicas(observed.parent));
  const desired = desiredReplicasOf(clusterSet, workload, observed);
  // Any ordinals may be the desired ones.
  const requested = workload.kind.invariants === "ordinal" ? wished : Math.min(wished, desired);
  const ready = reliablyReady(clusterSet, workload, requested);
  const reported = reportedReady(clusterSet, workload, observed, requested);
  const isToLeave = mustMove(clusterSet, workload, clusterOf(before), observed);
  const stake = availabilityAtRisk(clusterSet, workload, observed, before);
  write();
  const found = workload.copies.get(name);
  const after = found?.metadata.deletionTimestamp === undefined ? found : undefined;
  const share = (one: Workload) => workload.kind.strategy.shareOf(one).replicas;
  const change = { clusterSet, workload, observed, before };
  if (after === undefined || share(after) < share(before))
    checkScaleDown({ ...change, after, requested, desired, ready, reported, mustMove: isToLeave });
  else if (share(after) > share(before)) checkScaleUp({ ...change, after });
  if (after === undefined) return;
  checkRollout({ ...change, after, stake });
  const isCut = workload.kind.invariants === "divided" && share(after) < share(before);
  if (isCut)
    checkScaleDownDuringRollout(
      { ...change, after, stake },
      minimumOf({ workload, observed, requested, desired }),
    );
}
