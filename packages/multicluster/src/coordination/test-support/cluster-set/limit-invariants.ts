/**
 * Invariants of Location limits: no workload reserves more than they permit, unscheduled replicas
 * are reported, and nothing waits while capacity exists.
 */
import assert from "node:assert/strict";
import { inFlightReplicas } from "../../../scheduling/index.ts";
import { assignedReplicasIn, lastAssignment, recordedInFlight } from "../../placement-record.ts";
import { rolloutOf } from "../../rollout-policy.ts";
import { conditionsOf, type Workload } from "../../workload.ts";
import type { ClusterSet, SimulatedTarget } from "./cluster-set.ts";
import { isSelected } from "./eligibility.ts";
import {
  type LimitedLocation,
  type LocationLimitsModel,
  podsInFlight,
  podsOf,
  podsRequested,
} from "./location-limits.ts";
import type { ObservedWorkload, SimulatedWorkload } from "./simulated-workload.ts";

function isInside(
  clusterSet: ClusterSet,
  { matches }: LimitedLocation,
): (cluster: string) => boolean {
  return (cluster) => {
    const target = clusterSet.targets.get(cluster);
    return target !== undefined && matches(target);
  };
}

/**
 * When a workload scales up: all reservations of its tenant stay within the highest limit that a
 * Location has had.
 */
export function checkReservations(
  clusterSet: ClusterSet,
  limits: LocationLimitsModel,
  { whole: workload, read }: { readonly whole: SimulatedWorkload; readonly read: Workload },
  decide: () => void,
): void {
  const before = limits.locations.map((one) => {
    const isIn = isInside(clusterSet, one);
    return Math.max(
      limits.promised(workload, isIn),
      podsRequested([workload], workload.tenant, isIn),
    );
  });
  decide();
  // While moves are paused, or were when the state was read, replicas that exist twice stay for a
  // while.
  const isPaused = [workload.parent, read].some(
    ({ metadata }) => rolloutOf(metadata.annotations).paused === true,
  );
  if (limits.isUnlimited || isPaused) return;
  for (const [index, location] of limits.locations.entries()) {
    const isIn = isInside(clusterSet, location);
    const own = limits.promised(workload, isIn);
    if (own <= (before[index] ?? 0)) continue;
    const all = clusterSet.workloads
      .filter(({ tenant }) => tenant === workload.tenant)
      .reduce((sum, one) => sum + Math.min(limits.promised(one, isIn), mostOf(one)), 0);
    const text = `${all} pods of ${workload.tenant} are promised in ${location.name}, ${own} of them to ${workload.name}`;
    assert.ok(all <= location.podsMost, `${text}; it never allowed more than ${location.podsMost}`);
  }
}

function mostOf(workload: SimulatedWorkload): number {
  const isCopied = workload.kind.strategy.capabilities.unit === "Everywhere";
  return isCopied ? Number.POSITIVE_INFINITY : podsOf(workload, workload.desiredReplicas());
}

/**
 * The desired replicas under limits; for replicas that are temporarily unassigned, the previous
 * assignment.
 */
export function desiredReplicasOf(
  { limits }: ClusterSet,
  workload: SimulatedWorkload,
  observed: ObservedWorkload,
): number {
  if (limits === undefined) return Number.POSITIVE_INFINITY;
  const records = observed.record?.history ?? [];
  const last = records.find((one) => assignedReplicasIn(one) > 0);
  const meant = last === undefined ? Number.POSITIVE_INFINITY : assignedReplicasIn(last);
  // Ordinals that were lost with a cluster do not return while limits are lower.
  return workload.kind.invariants === "ordinal"
    ? Math.min(meant, thereOf(workload, observed))
    : meant;
}

function thereOf({ kind }: SimulatedWorkload, { record, copies }: ObservedWorkload): number {
  let there = inFlightReplicas(recordedInFlight(record));
  for (const copy of copies) there += kind.strategy.shareOf(copy).replicas;
  return there;
}

function placedOf(parent: Workload) {
  return conditionsOf(parent).find(({ type }) => type === "Scheduled");
}

export function isLimited({ parent }: SimulatedWorkload): boolean {
  const placed = placedOf(parent);
  const isShort = placed?.reason === "Unschedulable" || placed?.reason === "PartiallyScheduled";
  return isShort && /\(Location (everything|zone-a)\)/.test(placed.message);
}

/** The invariants of limits when nothing happens any more. */
export function checkLimitsWhenQuiescent(
  clusterSet: ClusterSet,
  limits: LocationLimitsModel,
): void {
  for (const location of limits.locations)
    for (const tenant of new Set(clusterSet.workloads.map((one) => one.tenant))) {
      const requested = clusterSet.workloads
        .filter((one) => one.tenant === tenant)
        .reduce((sum, one) => sum + leftOf(clusterSet, one, isInside(clusterSet, location)), 0);
      const text = `${tenant} has ${requested} pods in ${location.name} at rest`;
      assert.ok(
        requested <= location.podsMost,
        `${text}; it never allowed more than ${location.podsMost}`,
      );
    }
  for (const workload of clusterSet.workloads)
    if (isLimited(workload) && !hasFailed(workload)) checkWaiting(clusterSet, limits, workload);
}

/**
 * The existing Pods; replicas whose disruption is blocked and that have no feasible cluster stay in
 * addition to their replacements (ADR 0054), and do not count.
 */
function leftOf(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  isIn: (cluster: string) => boolean,
): number {
  const { parent, record, tenant } = workload;
  if (placedOf(parent)?.status !== "False") return podsRequested([workload], tenant, isIn);
  const last = lastAssignment(record);
  const stays = (cluster: string) => {
    const target = clusterSet.targets.get(cluster);
    const isLeft = clusterSet.evaluation(cluster).isDraining === true;
    return target !== undefined && !isLeft && isSelected(parent, target) && isIn(cluster);
  };
  let kept = 0;
  for (const [cluster, share] of Object.entries(last?.retained ?? {}))
    if (stays(cluster)) kept += podsOf(workload, share);
  return podsRequested([workload], tenant, stays) - kept;
}

/**
 * For duplicated workloads: a copy that no record contains, where a Location permits no more than
 * exist. A lowered limit stops nothing that was decided.
 */
export function isBeyondLimits(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  observed: ObservedWorkload,
  cluster: string,
): boolean {
  const { limits } = clusterSet;
  if (workload.kind.invariants !== "duplicated" || limits?.isUnlimited !== false) return false;
  const last = lastAssignment(observed.record);
  if (last === undefined || assignedReplicasIn(last, (name) => name === cluster) > 0) return false;
  return limits.locations.some((location) => {
    const isIn = isInside(clusterSet, location);
    const own = podsRequested([workload], workload.tenant, isIn) - askedIn(workload, cluster);
    const others = clusterSet.workloads
      .filter((one) => one.tenant === workload.tenant && one !== workload)
      .reduce((sum, one) => sum + Math.max(limits.promised(one, isIn), takenBy(one, isIn)), own);
    return isIn(cluster) && others >= location.pods;
  });
}

function takenBy(workload: SimulatedWorkload, isIn: (cluster: string) => boolean): number {
  const { tenant } = workload;
  return podsRequested([workload], tenant, isIn) + podsInFlight([workload], tenant, isIn);
}

function askedIn(workload: SimulatedWorkload, cluster: string): number {
  return podsRequested([workload], workload.tenant, (name) => name === cluster);
}

function isOpen(
  clusterSet: ClusterSet,
  { parent }: SimulatedWorkload,
  target: SimulatedTarget,
): boolean {
  return clusterSet.evaluation(target.name).state === "Ready" && isSelected(parent, target);
}

/** A move that was rolled back is not retried before its author changes the request. */
function hasFailed({ record }: SimulatedWorkload): boolean {
  return record?.clusters?.some(({ move }) => move?.rolledBack === true) === true;
}

/** No replica waits that fits into an eligible cluster. */
function checkWaiting(
  clusterSet: ClusterSet,
  limits: LocationLimitsModel,
  workload: SimulatedWorkload,
): void {
  const each = podsOf(workload, 1);
  for (const target of clusterSet.targets.values()) {
    if (!isOpen(clusterSet, workload, target) || workload.kind.invariants !== "divided") continue;
    const isFull = limits.locations.some((location) => {
      if (!location.matches(target)) return false;
      const requested = podsRequested(
        clusterSet.workloads,
        workload.tenant,
        isInside(clusterSet, location),
      );
      return requested + each > location.pods;
    });
    assert.ok(isFull, `${workload.name} waits though ${target.name} would take it`);
  }
}
