/**
 * How a Deployment's ReplicaSets are resized, step by step: Kubernetes' arithmetic, without I/O.
 *
 * Two limits hold in every intermediate state: never more than replicas + maxSurge Pods are
 * requested, and never fewer than replicas - maxUnavailable available Pods are kept.
 */
import type { Deployment, ReplicaSet } from "../api/index.ts";
import { desiredAnnotation, maxAnnotation } from "./revisions.ts";

/** A ReplicaSet and its desired size. */
export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

export interface RollingLimits {
  readonly surge: number;
  readonly unavailable: number;
}

export function rollingLimitsOf({ spec }: Deployment): RollingLimits {
  const replicas = spec.replicas ?? 1;
  if (spec.strategy?.type === "Recreate") return { surge: 0, unavailable: 0 };
  const { maxSurge = "25%", maxUnavailable = "25%" } = spec.strategy?.rollingUpdate ?? {};
  const surge = amount(maxSurge, replicas, Math.ceil);
  const unavailable = amount(maxUnavailable, replicas, Math.floor);
  // Both limits can round to zero, and then no step would be possible.
  if (surge === 0 && unavailable === 0) return { surge: 0, unavailable: Math.min(1, replicas) };
  return { surge, unavailable: Math.min(unavailable, replicas) };
}

export function amount(
  value: number | string,
  total: number,
  round: (value: number) => number,
): number {
  if (typeof value === "number") return value;
  const percent = Number(value.replace(/%$/, ""));
  return round((percent * total) / 100);
}

export function replicasOf({ spec }: ReplicaSet): number {
  return spec.replicas ?? 1;
}

export function availableOf({ status }: ReplicaSet): number {
  return status?.availableReplicas ?? 0;
}

function total(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number {
  return sets.reduce((sum, set) => sum + count(set), 0);
}

/**
 * The permitted size of the new ReplicaSet. `current` is undefined when it is about to be created.
 */
export function newSetReplicas(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): number {
  const wanted = deployment.spec.replicas ?? 1;
  const present = current === undefined ? 0 : replicasOf(current);
  if (deployment.spec.strategy?.type === "Recreate") return wanted;
  if (present >= wanted) return wanted;
  const all = present + total(old, replicasOf);
  const room = wanted + rollingLimitsOf(deployment).surge - all;
  return room <= 0 ? present : present + Math.min(room, wanted - present);
}

/**
 * The scale-down of old ReplicaSets: first unavailable Pods, then as many as the new ReplicaSet's
 * available Pods replace.
 */
export function scaleDownOldSets(
  deployment: Deployment,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
): Resize[] {
  const sets = byAge(old).filter((set) => replicasOf(set) > 0);
  const availableMin = (deployment.spec.replicas ?? 1) - rollingLimitsOf(deployment).unavailable;
  const newUnavailable = replicasOf(current) - availableOf(current);
  const downMax = replicasOf(current) + total(sets, replicasOf) - availableMin - newUnavailable;
  if (sets.length === 0 || downMax <= 0) return [];
  const sizes = new Map(sets.map((set) => [set, replicasOf(set)]));
  let left = downMax;
  for (const set of sets) {
    const useless = Math.max(0, replicasOf(set) - availableOf(set));
    const down = Math.min(useless, left);
    sizes.set(set, replicasOf(set) - down);
    left -= down;
  }
  let spare = availableOf(current) + total(sets, availableOf) - availableMin;
  for (const set of sets) {
    const size = sizes.get(set) ?? 0;
    const down = Math.max(0, Math.min(size, spare));
    sizes.set(set, size - down);
    spare -= down;
  }
  return resizes(sizes);
}

/**
 * The desired replicas changed during a rollout: the change is distributed in proportion to the
 * ReplicaSets' sizes.
 */
export function scaleProportionally(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Resize[] {
  const wanted = deployment.spec.replicas ?? 1;
  const all = current === undefined ? [...old] : [...old, current];
  const active = all.filter((set) => replicasOf(set) > 0);
  const only =
    active.length === 1 ? active[0] : active.length === 0 ? newest(all, current) : undefined;
  if (only !== undefined) return [{ set: only, replicas: wanted }];
  if (current !== undefined && isSaturated(deployment, current))
    return old.filter((set) => replicasOf(set) > 0).map((set) => ({ set, replicas: 0 }));
  if (deployment.spec.strategy?.type === "Recreate") return [];
  const allowed = wanted > 0 ? wanted + rollingLimitsOf(deployment).surge : 0;
  return shareOut(deployment, active, allowed - total(active, replicasOf));
}

function shareOut(deployment: Deployment, active: readonly ReplicaSet[], toAdd: number): Resize[] {
  const newFirst = toAdd > 0;
  const sets = [...active].sort(
    (a, b) => replicasOf(b) - replicasOf(a) || (newFirst ? compareAge(b, a) : compareAge(a, b)),
  );
  const sizes = new Map<ReplicaSet, number>();
  let added = 0;
  for (const set of sets) {
    const share = toAdd === 0 ? 0 : shareOf(deployment, set, toAdd - added);
    sizes.set(set, replicasOf(set) + share);
    added += share;
  }
  const [first] = sets;
  if (first !== undefined && toAdd !== 0)
    sizes.set(first, Math.max(0, (sizes.get(first) ?? 0) + toAdd - added));
  return [...sizes].map(([set, replicas]) => ({ set, replicas }));
}

function shareOf(deployment: Deployment, set: ReplicaSet, allowed: number): number {
  const wanted = deployment.spec.replicas ?? 1;
  if (allowed === 0 || replicasOf(set) === 0) return 0;
  const size = replicasOf(set);
  const before =
    Number(set.metadata.annotations?.[maxAnnotation] ?? 0) || (deployment.status?.replicas ?? 0);
  const fraction =
    wanted === 0
      ? -size
      : before === 0
        ? 0
        : Math.round((size * (wanted + rollingLimitsOf(deployment).surge)) / before) - size;
  return allowed > 0 ? Math.min(fraction, allowed) : Math.max(fraction, allowed);
}

function isSaturated(deployment: Deployment, set: ReplicaSet): boolean {
  const desired = Number(set.metadata.annotations?.[desiredAnnotation] ?? Number.NaN);
  const wanted = deployment.spec.replicas ?? 1;
  return replicasOf(set) === wanted && desired === wanted && availableOf(set) === wanted;
}

/** Whether the ReplicaSets were sized for another number of desired replicas. */
export function isScaling(deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some((set) => {
    const desired = set.metadata.annotations?.[desiredAnnotation];
    return (
      replicasOf(set) > 0 && desired !== undefined && Number(desired) !== deployment.spec.replicas
    );
  });
}

function newest(
  sets: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
): ReplicaSet | undefined {
  return current ?? byAge(sets).at(-1);
}

function resizes(sizes: ReadonlyMap<ReplicaSet, number>): Resize[] {
  return [...sizes]
    .filter(([set, replicas]) => replicas !== replicasOf(set))
    .map(([set, replicas]) => ({ set, replicas }));
}

export function byAge(sets: readonly ReplicaSet[]): ReplicaSet[] {
  return [...sets].sort(compareAge);
}

function compareAge(a: ReplicaSet, b: ReplicaSet): number {
  const [left = "", right = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (left !== right) return left < right ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}
