/** What Locations bound: nobody is promised more than they allow, what has no place says so, and nothing waits that there is room for. */
import assert from "node:assert/strict";
import { readUnderWay, replicasUnderWay } from "../../../scheduling/index.ts";
import { moveRecordOf } from "../../move-record.ts";
import { meantBy, readPlacementHistory } from "../../placement-history.ts";
import { rolloutOf } from "../../rollout.ts";
import { conditionsOf, type Workload } from "../../workload.ts";
import {
  type BoundedLocation,
  type FleetBounds,
  podsAsked,
  podsOf,
  podsUnderWay,
} from "./bounds.ts";
import type { Fleet, FleetTarget } from "./fleet.ts";
import { isSelected } from "./permissions.ts";
import type { Seen, Whole } from "./whole.ts";

function isInside(fleet: Fleet, { includes }: BoundedLocation): (cluster: string) => boolean {
  return (cluster) => {
    const target = fleet.targets.get(cluster);
    return target !== undefined && includes(target);
  };
}

/** Of a whole that is given more than before: all promises to its tenant keep to what a Location has ever allowed. */
export function checkPromises(
  fleet: Fleet,
  bounds: FleetBounds,
  { whole, read }: { readonly whole: Whole; readonly read: Workload },
  decide: () => void,
): void {
  const before = bounds.locations.map((one) => {
    const isIn = isInside(fleet, one);
    return Math.max(bounds.promised(whole, isIn), podsAsked([whole], whole.tenant, isIn));
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

function mostOf(whole: Whole): number {
  const isCopied = whole.kind.strategy.sharing === "duplicate";
  return isCopied ? Number.POSITIVE_INFINITY : podsOf(whole, whole.asked());
}

/** How many there were to be where not all of them may; of what is meant to be nowhere for a moment, what was meant before. */
export function meantOf({ bounds }: Fleet, whole: Whole, seen: Seen): number {
  if (bounds === undefined) return Number.POSITIVE_INFINITY;
  const records = readPlacementHistory(seen.parent.metadata.annotations);
  const last = records.find((one) => meantBy(one) > 0);
  const meant = last === undefined ? Number.POSITIVE_INFINITY : meantBy(last);
  // Of numbers that went with a cluster, none comes back while bounds are lower.
  return whole.kind.law === "numbered" ? Math.min(meant, thereOf(whole, seen)) : meant;
}

function thereOf({ kind }: Whole, { parent, parts }: Seen): number {
  let there = replicasUnderWay(readUnderWay(parent.metadata.annotations));
  for (const part of parts) there += kind.strategy.shareOf(part).replicas;
  return there;
}

function placedOf(parent: Workload) {
  return conditionsOf(parent).find(({ type }) => type === "Placed");
}

export function isHeldByBounds({ parent }: Whole): boolean {
  const placed = placedOf(parent);
  return placed?.reason === "NoCapacity" && /Location (everything|zone-a)/.test(placed.message);
}

/** When nothing happens any more, bounds as they are. */
export function checkBoundsAtRest(fleet: Fleet, bounds: FleetBounds): void {
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
    if (isHeldByBounds(whole) && !hasFailed(whole)) checkWaiting(fleet, bounds, whole);
}

/** What is there; of what is held, what has nowhere to go stays beside what has replaced a part of it (ADR 0054), and does not count. */
function leftOf(fleet: Fleet, whole: Whole, isIn: (cluster: string) => boolean): number {
  const { parent, tenant } = whole;
  if (placedOf(parent)?.status !== "False") return podsAsked([whole], tenant, isIn);
  const [last] = readPlacementHistory(parent.metadata.annotations);
  const stays = (cluster: string) => {
    const target = fleet.targets.get(cluster);
    const isLeft = fleet.judgement(cluster).isLeaving === true;
    return target !== undefined && !isLeft && isSelected(parent, target) && isIn(cluster);
  };
  let kept = 0;
  for (const [cluster, share] of Object.entries(last?.kept ?? {}))
    if (stays(cluster)) kept += podsOf(whole, share);
  return podsAsked([whole], tenant, stays) - kept;
}

/** Of what is in every cluster: a copy that is not on record, where a Location allows no more than there are. Bounds that are lowered stop nothing that was decided. */
export function isBeyondBounds(fleet: Fleet, whole: Whole, seen: Seen, cluster: string): boolean {
  const { bounds } = fleet;
  if (whole.kind.law !== "everywhere" || bounds?.isLifted !== false) return false;
  const [last] = readPlacementHistory(seen.parent.metadata.annotations);
  if (last === undefined || meantBy(last, (name) => name === cluster) > 0) return false;
  return bounds.locations.some((location) => {
    const isIn = isInside(fleet, location);
    const own = podsAsked([whole], whole.tenant, isIn) - askedIn(whole, cluster);
    const others = fleet.wholes
      .filter((one) => one.tenant === whole.tenant && one !== whole)
      .reduce((sum, one) => sum + Math.max(bounds.promised(one, isIn), takenBy(one, isIn)), own);
    return isIn(cluster) && others >= location.pods;
  });
}

function takenBy(whole: Whole, isIn: (cluster: string) => boolean): number {
  const { tenant } = whole;
  return podsAsked([whole], tenant, isIn) + podsUnderWay([whole], tenant, isIn);
}

function askedIn(whole: Whole, cluster: string): number {
  return podsAsked([whole], whole.tenant, (name) => name === cluster);
}

function isOpen(fleet: Fleet, { parent }: Whole, target: FleetTarget): boolean {
  return fleet.judgement(target.name).standing === "accepting" && isSelected(parent, target);
}

/** What was given up is not tried again before its author asks for something else. */
function hasFailed({ parts }: Whole): boolean {
  return [...parts.values()].some(
    ({ metadata }) => moveRecordOf(metadata.annotations)?.isRolledBack === true,
  );
}

/** Nothing waits that would fit into a cluster that takes it. */
function checkWaiting(fleet: Fleet, bounds: FleetBounds, whole: Whole): void {
  const each = podsOf(whole, 1);
  for (const target of fleet.targets.values()) {
    if (!isOpen(fleet, whole, target) || whole.kind.law !== "divided") continue;
    const isFull = bounds.locations.some((location) => {
      if (!location.includes(target)) return false;
      const asked = podsAsked(fleet.wholes, whole.tenant, isInside(fleet, location));
      return asked + each > location.pods;
    });
    assert.ok(isFull, `${whole.name} waits though ${target.name} would take it`);
  }
}
