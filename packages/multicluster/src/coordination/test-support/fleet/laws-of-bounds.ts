/** What Locations bound: nobody is promised more than they allow, what has no place says so, and nothing waits that there is room for. */
import assert from "node:assert/strict";
import { inFlightReplicas, readInFlight } from "../../../scheduling/index.ts";
import { readMoveRecord } from "../../move-record.ts";
import { desiredReplicasIn, readPlacementHistory } from "../../placement-history.ts";
import { rolloutOf } from "../../rollout.ts";
import { conditionsOf, type Workload } from "../../workload.ts";
import {
  type LimitedLocation,
  type LocationLimitsModel,
  podsInFlight,
  podsOf,
  podsRequested,
} from "./bounds.ts";
import type { ClusterSet, SimulatedTarget } from "./fleet.ts";
import { isSelected } from "./permissions.ts";
import type { ObservedWorkload, SimulatedWorkload } from "./whole.ts";

function isInside(fleet: ClusterSet, { includes }: LimitedLocation): (cluster: string) => boolean {
  return (cluster) => {
    const target = fleet.targets.get(cluster);
    return target !== undefined && includes(target);
  };
}

/** Of a whole that is given more than before: all promises to its tenant keep to what a Location has ever allowed. */
export function checkReservations(
  fleet: ClusterSet,
  bounds: LocationLimitsModel,
  { whole, read }: { readonly whole: SimulatedWorkload; readonly read: Workload },
  decide: () => void,
): void {
  const before = bounds.locations.map((one) => {
    const isIn = isInside(fleet, one);
    return Math.max(bounds.promised(whole, isIn), podsRequested([whole], whole.tenant, isIn));
  });
  decide();
  // Where moves are paused, or were when it was read, what is there twice stays for a while.
  const isPaused = [whole.parent, read].some(
    ({ metadata }) => rolloutOf(metadata.annotations).paused === true,
  );
  if (bounds.isLifted || isPaused) return;
  for (const [index, location] of bounds.locations.entries()) {
    const isIn = isInside(fleet, location);
    const own = bounds.promised(whole, isIn);
    if (own <= (before[index] ?? 0)) continue;
    const all = fleet.wholes
      .filter(({ tenant }) => tenant === whole.tenant)
      .reduce((sum, one) => sum + Math.min(bounds.promised(one, isIn), mostOf(one)), 0);
    const text = `${all} pods of ${whole.tenant} are promised in ${location.name}, ${own} of them to ${whole.name}`;
    assert.ok(all <= location.podsMost, `${text}; it never allowed more than ${location.podsMost}`);
  }
}

function mostOf(whole: SimulatedWorkload): number {
  const isCopied = whole.kind.strategy.sharing === "duplicate";
  return isCopied ? Number.POSITIVE_INFINITY : podsOf(whole, whole.asked());
}

/** How many there were to be where not all of them may; of what is meant to be nowhere for a moment, what was meant before. */
export function desiredReplicasOf(
  { bounds }: ClusterSet,
  whole: SimulatedWorkload,
  seen: ObservedWorkload,
): number {
  if (bounds === undefined) return Number.POSITIVE_INFINITY;
  const records = readPlacementHistory(seen.parent.metadata.annotations);
  const last = records.find((one) => desiredReplicasIn(one) > 0);
  const meant = last === undefined ? Number.POSITIVE_INFINITY : desiredReplicasIn(last);
  // Of numbers that went with a cluster, none comes back while bounds are lower.
  return whole.kind.law === "numbered" ? Math.min(meant, thereOf(whole, seen)) : meant;
}

function thereOf({ kind }: SimulatedWorkload, { parent, parts }: ObservedWorkload): number {
  let there = inFlightReplicas(readInFlight(parent.metadata.annotations));
  for (const part of parts) there += kind.strategy.shareOf(part).replicas;
  return there;
}

function placedOf(parent: Workload) {
  return conditionsOf(parent).find(({ type }) => type === "Placed");
}

export function isLimited({ parent }: SimulatedWorkload): boolean {
  const placed = placedOf(parent);
  return placed?.reason === "NoCapacity" && /Location (everything|zone-a)/.test(placed.message);
}

/** When nothing happens any more, bounds as they are. */
export function checkLimitsWhenQuiescent(fleet: ClusterSet, bounds: LocationLimitsModel): void {
  for (const location of bounds.locations)
    for (const tenant of new Set(fleet.wholes.map((one) => one.tenant))) {
      const asked = fleet.wholes
        .filter((one) => one.tenant === tenant)
        .reduce((sum, one) => sum + leftOf(fleet, one, isInside(fleet, location)), 0);
      const text = `${tenant} has ${asked} pods in ${location.name} at rest`;
      assert.ok(
        asked <= location.podsMost,
        `${text}; it never allowed more than ${location.podsMost}`,
      );
    }
  for (const whole of fleet.wholes)
    if (isLimited(whole) && !hasFailed(whole)) checkWaiting(fleet, bounds, whole);
}

/** What is there; of what is held, what has nowhere to go stays beside what has replaced a part of it (ADR 0054), and does not count. */
function leftOf(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  isIn: (cluster: string) => boolean,
): number {
  const { parent, tenant } = whole;
  if (placedOf(parent)?.status !== "False") return podsRequested([whole], tenant, isIn);
  const [last] = readPlacementHistory(parent.metadata.annotations);
  const stays = (cluster: string) => {
    const target = fleet.targets.get(cluster);
    const isLeft = fleet.judgement(cluster).isLeaving === true;
    return target !== undefined && !isLeft && isSelected(parent, target) && isIn(cluster);
  };
  let kept = 0;
  for (const [cluster, share] of Object.entries(last?.kept ?? {}))
    if (stays(cluster)) kept += podsOf(whole, share);
  return podsRequested([whole], tenant, stays) - kept;
}

/** Of what is in every cluster: a copy that is not on record, where a Location allows no more than there are. Bounds that are lowered stop nothing that was decided. */
export function isBeyondLimits(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  seen: ObservedWorkload,
  cluster: string,
): boolean {
  const { bounds } = fleet;
  if (whole.kind.law !== "everywhere" || bounds?.isLifted !== false) return false;
  const [last] = readPlacementHistory(seen.parent.metadata.annotations);
  if (last === undefined || desiredReplicasIn(last, (name) => name === cluster) > 0) return false;
  return bounds.locations.some((location) => {
    const isIn = isInside(fleet, location);
    const own = podsRequested([whole], whole.tenant, isIn) - askedIn(whole, cluster);
    const others = fleet.wholes
      .filter((one) => one.tenant === whole.tenant && one !== whole)
      .reduce((sum, one) => sum + Math.max(bounds.promised(one, isIn), takenBy(one, isIn)), own);
    return isIn(cluster) && others >= location.pods;
  });
}

function takenBy(whole: SimulatedWorkload, isIn: (cluster: string) => boolean): number {
  const { tenant } = whole;
  return podsRequested([whole], tenant, isIn) + podsInFlight([whole], tenant, isIn);
}

function askedIn(whole: SimulatedWorkload, cluster: string): number {
  return podsRequested([whole], whole.tenant, (name) => name === cluster);
}

function isOpen(
  fleet: ClusterSet,
  { parent }: SimulatedWorkload,
  target: SimulatedTarget,
): boolean {
  return fleet.judgement(target.name).standing === "accepting" && isSelected(parent, target);
}

/** What was given up is not tried again before its author asks for something else. */
function hasFailed({ parts }: SimulatedWorkload): boolean {
  return [...parts.values()].some(
    ({ metadata }) => readMoveRecord(metadata.annotations)?.isRolledBack === true,
  );
}

/** Nothing waits that would fit into a cluster that takes it. */
function checkWaiting(
  fleet: ClusterSet,
  bounds: LocationLimitsModel,
  whole: SimulatedWorkload,
): void {
  const each = podsOf(whole, 1);
  for (const target of fleet.targets.values()) {
    if (!isOpen(fleet, whole, target) || whole.kind.law !== "divided") continue;
    const isFull = bounds.locations.some((location) => {
      if (!location.includes(target)) return false;
      const asked = podsRequested(fleet.wholes, whole.tenant, isInside(fleet, location));
      return asked + each > location.pods;
    });
    assert.ok(isFull, `${whole.name} waits though ${target.name} would take it`);
  }
}
