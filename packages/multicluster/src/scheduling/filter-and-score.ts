/**
 * The scheduler: filters and scores every cluster for one workload, with the most replicas and the
 * reasons. Pure; the result depends only on the input, and not on its order.
 *
 * Cluster states are evaluated in `coordination/cluster-state.ts`, and the replicas of each cluster
 * are computed in `coordination/stepper/distribute.ts`, from this result.
 */
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import type { Taint, Toleration } from "../api/index.ts";
import { affinityTermsOf, type ExistingWorkload, type WorkloadAffinityTerms } from "./affinity.ts";
import type { ClusterCandidate } from "./candidate.ts";
import { defaultPolicy, type Policy } from "./policy.ts";
import {
  maxAvailableReplicas,
  maxReplicasWithinLocation,
  noUsage,
  type ReplicaRequirements,
  type Usage,
} from "./replica-estimator.ts";
import type { SchedulableWorkload } from "./workload.ts";
import type { LocationLimits } from "./workspace-locations.ts";

export interface SchedulingInput {
  readonly workload: SchedulableWorkload;
  readonly candidates: readonly ClusterCandidate[];
  readonly policy?: Policy | undefined;
  /** The workspace's limits on clusters, however the clusters were selected. */
  readonly locationLimits?: readonly LocationLimits[] | undefined;
  /** The placement preferences of the object itself. */
  readonly preferences?: WorkloadPreferences | undefined;
  /** The desired replicas of the workload; the existing ones if omitted. */
  readonly desiredReplicas?: number | undefined;
  /** The replicas of the workload in each cluster. */
  readonly currentReplicas: (cluster: string) => CurrentReplicas;
  /** The resources that other workloads reserve in the clusters; none if omitted. */
  readonly usage?: Usage | undefined;
  /** Other workloads of the namespace. */
  readonly existingWorkloads?: readonly ExistingWorkload[] | undefined;
}

export interface WorkloadPreferences {
  readonly selector?: LabelSelector | undefined;
  readonly weights: ReadonlyMap<string, number>;
}

export interface CurrentReplicas {
  readonly replicas: number;
  /** The available ones of these replicas. */
  readonly available: number;
}

export interface SchedulingResult {
  /** The policy that was applied. */
  readonly policy: Policy;
  readonly clusters: ReadonlyMap<string, ClusterSchedulingResult>;
  /** The limits on several clusters together. */
  readonly quotas: readonly SharedReplicaLimit[];
  /** The largest permitted skew of each topology level, the widest first. */
  readonly maxSkews: readonly number[];
}

/** The scheduling result of one cluster for a workload. */
export interface ClusterSchedulingResult {
  /** The reasons why the workload must leave the cluster. */
  readonly evictionReasons: readonly string[];
  /** The reasons why the cluster is filtered out for new replicas; existing ones stay. */
  readonly filterReasons: readonly string[];
  /** The relative weight: an integer of at least 1. */
  readonly weight: number;
  /** The factors of the weight, where it is not the default. */
  readonly scores: readonly ScoreFactor[];
  /** The most replicas that fit, existing ones included; undefined without a limit. */
  readonly maxReplicas: ReplicaLimit | undefined;
  /** The cluster's values of the topology labels, the widest first. */
  readonly domains: readonly string[];
}

export interface ScoreFactor {
  readonly reason: string;
  /** The factor of the weight. */
  readonly factor: number;
}

/** The workspace's limit on several clusters together. */
export interface SharedReplicaLimit {
  readonly clusters: ReadonlySet<string>;
  /**
   * The most replicas of the workload, its existing ones there included; undefined without a limit.
   */
  limitWith(present: CurrentReplicas): ReplicaLimit | undefined;
}

export interface ReplicaLimit {
  readonly replicas: number;
  /** In the words of kube-scheduler, as in `Insufficient cpu`. */
  readonly reason: string;
  /** The figures behind it. */
  readonly detail?: string | undefined;
}

/** The effect of a preferred term: a cluster that does not satisfy it has a tenth of the weight. */
const preference = 10;
/** The most preferred terms that count. */
const preferencesMax = 3;

/** Shared empty lists: most clusters have no reasons and no score factors. */
const none: readonly string[] = [];
const noScores: readonly ScoreFactor[] = [];

function joined(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one.length === 0) return other;
  return other.length === 0 ? one : [...one, ...other];
}

export function filterAndScore(input: SchedulingInput): SchedulingResult {
  const { workload, candidates, policy = defaultPolicy, preferences, usage = noUsage } = input;
  const affinity = affinityTermsOf(policy, input.existingWorkloads ?? [], candidates);
  const spread = policy.spread ?? [];
  const opinions = candidates.map((one) => {
    const penalties = joined(preferNoSchedule(one, workload, policy), affinity.scorePenalties(one));
    return { candidate: one, penalties: penalties.slice(0, preferencesMax) };
  });
  const worst = Math.max(0, ...opinions.map(({ penalties }) => penalties.length));
  const clusters = new Map<string, ClusterSchedulingResult>();
  for (const { candidate, penalties } of opinions) {
    const { name } = candidate;
    const weight = weightOf(name, policy, preferences);
    const demand: ReplicaRequirements = {
      requests: workload.requests,
      currentReplicas: input.currentReplicas(name),
    };
    const scores: readonly ScoreFactor[] =
      penalties.length === 0
        ? noScores
        : penalties.map((reason) => ({ reason, factor: 1 / preference }));
    clusters.set(name, {
      evictionReasons: evictionReasonsFor(candidate, input, weight),
      filterReasons: filterReasonsFor(candidate, input, affinity.filterReasons(candidate)),
      weight: Math.max(1, weight) * preference ** (worst - penalties.length),
      scores: weight === 1 ? scores : [{ reason: `weight ${weight}`, factor: weight }, ...scores],
      maxReplicas: maxAvailableReplicas(candidate, demand, usage),
      domains:
        spread.length === 0
          ? none
          : spread.map(({ topologyKey }) => candidate.labels[topologyKey] ?? ""),
    });
  }
  if (affinity.hasAntiAffinityViolations)
    for (const candidate of candidates)
      evictAntiAffinityConflicts(candidate, affinity, clusters, input);
  if (affinity.mayViolateAffinity) evictAffinityViolations(affinity, clusters, input);
  return {
    policy,
    clusters,
    quotas: quotasOf(input),
    maxSkews: (policy.spread ?? []).map(({ maxSkew = 1 }) => maxSkew),
  };
}

/**
 * A workload that violates a required anti-affinity leaves, if other clusters have capacity for all
 * of it.
 */
function evictAntiAffinityConflicts(
  candidate: ClusterCandidate,
  affinity: WorkloadAffinityTerms,
  results: Map<string, ClusterSchedulingResult>,
  input: SchedulingInput,
): void {
  const { name } = candidate;
  const result = results.get(name);
  const conflicts =
    input.currentReplicas(name).replicas === 0 ? none : affinity.antiAffinityViolations(candidate);
  if (conflicts.length === 0 || result === undefined) return;
  if (!hasCapacityWithout(new Set([name]), results, input)) return;
  results.set(name, { ...result, evictionReasons: [...result.evictionReasons, ...conflicts] });
}

/**
 * Whether all desired replicas fit without the `left` clusters. The result does not depend on the
 * progress of a move: replicas in the new cluster are part of its capacity, so a move that uses up
 * the capacity is not cancelled for that.
 */
function hasCapacityWithout(
  left: ReadonlySet<string>,
  results: ReadonlyMap<string, ClusterSchedulingResult>,
  { currentReplicas, candidates, desiredReplicas }: SchedulingInput,
): boolean {
  let places = 0;
  for (const { name } of candidates) {
    const result = results.get(name);
    if (result === undefined || result.evictionReasons.length > 0 || left.has(name)) continue;
    const { filterReasons, maxReplicas } = result;
    if (filterReasons.length === 0 && maxReplicas === undefined) return true;
    places +=
      filterReasons.length > 0 ? currentReplicas(name).replicas : (maxReplicas?.replicas ?? 0);
  }
  const there = candidates.reduce((sum, { name }) => sum + currentReplicas(name).replicas, 0);
  return places >= (desiredReplicas ?? there);
}

/**
 * A workload that violates a required affinity follows its target, if the target's clusters have
 * capacity for all of it.
 */
function evictAffinityViolations(
  affinity: WorkloadAffinityTerms,
  results: Map<string, ClusterSchedulingResult>,
  input: SchedulingInput,
): void {
  const { currentReplicas, candidates } = input;
  const violations = new Map<string, readonly string[]>();
  for (const candidate of candidates) {
    const isHere = currentReplicas(candidate.name).replicas > 0;
    const reasons = isHere ? affinity.affinityViolations(candidate) : none;
    if (reasons.length > 0) violations.set(candidate.name, reasons);
  }
  if (violations.size === 0) return;
  const led = new Map(results);
  for (const candidate of candidates) {
    const result = led.get(candidate.name);
    if (result === undefined) continue;
    const reasons = affinity
      .missingAffinityTargets(candidate)
      .filter((text) => !result.filterReasons.includes(text));
    if (reasons.length === 0) continue;
    led.set(candidate.name, { ...result, filterReasons: joined(result.filterReasons, reasons) });
  }
  if (!hasCapacityWithout(new Set(violations.keys()), led, input)) return;
  for (const [name, result] of led) {
    const reasons = violations.get(name) ?? none;
    results.set(name, { ...result, evictionReasons: joined(result.evictionReasons, reasons) });
  }
}

const noQuotas: readonly SharedReplicaLimit[] = [];

function quotasOf(input: SchedulingInput): readonly SharedReplicaLimit[] {
  const { locationLimits = [], workload, candidates, usage = noUsage } = input;
  if (locationLimits.length === 0) return noQuotas;
  return locationLimits.map((allowance) => {
    const names = candidates.filter(allowance.includes).map(({ name }) => name);
    return {
      clusters: new Set(names),
      limitWith: (currentReplicas) =>
        maxReplicasWithinLocation(
          allowance,
          { requests: workload.requests, currentReplicas },
          usage.byWorkspace(names),
        ),
    };
  });
}

/** The weights of the object replace those of the policy completely. */
function weightOf(
  name: string,
  policy: Policy,
  preferences: WorkloadPreferences | undefined,
): number {
  if (preferences !== undefined && preferences.weights.size > 0)
    return preferences.weights.get(name) ?? 1;
  return policy.weights?.[name] ?? 1;
}

function isSelected(
  candidate: ClusterCandidate,
  policy: Policy,
  preferences: WorkloadPreferences | undefined,
): boolean {
  if (preferences?.selector !== undefined) return preferences.selector.matches(candidate.labels);
  return policy.selectedLocation?.includes(candidate) ?? true;
}

function evictionReasonsFor(
  candidate: ClusterCandidate,
  { policy = defaultPolicy, preferences, workload }: SchedulingInput,
  weight: number,
): readonly string[] {
  const { selectedLocation } = policy;
  const isPlain = weight !== 0 && candidate.taints === undefined;
  if (isPlain && isSelected(candidate, policy, preferences)) return none;
  const found: string[] = [];
  if (!isSelected(candidate, policy, preferences)) {
    if (preferences?.selector !== undefined)
      found.push(`not selected by annotation cluster-selector ${preferences.selector}`);
    else if (selectedLocation?.location !== undefined)
      found.push(
        `not in Location ${selectedLocation.location} of Placement ${selectedLocation.placement}`,
      );
  }
  if (weight === 0) found.push("weight 0");
  for (const taint of untolerated(candidate, workload, policy, "NoExecute"))
    found.push(notTolerated(taint));
  return found;
}

function filterReasonsFor(
  candidate: ClusterCandidate,
  { policy = defaultPolicy, preferences, workload }: SchedulingInput,
  byAffinity: readonly string[],
): readonly string[] {
  const { selectedLocation } = policy;
  const isServed = candidate.resources?.includes(workload.resource) !== false;
  if (isServed && selectedLocation === undefined && candidate.taints === undefined)
    return byAffinity;
  const found: string[] = [];
  if (
    selectedLocation !== undefined &&
    selectedLocation.location === undefined &&
    preferences?.selector === undefined
  )
    found.push(`Placement ${selectedLocation.placement} has no Location`);
  if (!isServed)
    found.push(
      `does not serve ${workload.resource} in a compatible way (kubectl get apiresourceimports says why)`,
    );
  for (const taint of untolerated(candidate, workload, policy, "NoSchedule"))
    found.push(notTolerated(taint));
  found.push(...byAffinity);
  return found;
}

function preferNoSchedule(
  candidate: ClusterCandidate,
  workload: SchedulableWorkload,
  policy: Policy,
): readonly string[] {
  const found = untolerated(candidate, workload, policy, "PreferNoSchedule");
  return found.length === 0 ? none : found.map(notTolerated);
}

function untolerated(
  { taints }: ClusterCandidate,
  workload: SchedulableWorkload,
  { tolerations = [] }: Policy,
  effect: Taint["effect"],
): readonly Taint[] {
  if (taints === undefined) return noTaints;
  const all = [...tolerations, ...workload.tolerations];
  return taints.filter((taint) => taint.effect === effect && !all.some(tolerates(taint)));
}

const noTaints: readonly Taint[] = [];

function tolerates(taint: Taint): (toleration: Toleration) => boolean {
  return ({ key = "", operator = "Equal", value = "", effect = "" as never }) => {
    if ((effect as string) !== "" && effect !== taint.effect) return false;
    if (operator === "Exists") return key === "" || key === taint.key;
    return key === taint.key && value === (taint.value ?? "");
  };
}

function notTolerated({ key, value = "", effect }: Taint): string {
  return `untolerated taint ${key}${value === "" ? "" : `=${value}`}:${effect}`;
}
