/**
 * The scheduler: filters and scores every cluster for one workload, with the most replicas and the
 * reasons. Pure; the result depends only on the input, and not on its order.
 *
 * Cluster states are evaluated in `coordination/cluster-state.ts`, and the replicas of each cluster
 * are computed in `coordination/stepper/distribute.ts`, from this result.
 */
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import { affinityTermsOf, type ExistingWorkload, type WorkloadAffinityTerms } from "./affinity.ts";
import type { ClusterCandidate } from "./candidate.ts";
import { defaultPolicy, type Policy } from "./policy.ts";
import {
  maxAvailableReplicas,
  maxReplicasWithinLocation,
  noUsage,
  type Usage,
} from "./replica-estimator.ts";
import {
  type ClusterRule,
  evictionRules,
  filterRules,
  hasEffect,
  messagesOf,
  type RuleContext,
  type RuleDescription,
  type RuleRecord,
  scoreRules,
  weightOf,
  weightRule,
} from "./rules.ts";
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
  /** What the rules found against the cluster, and the factors of its weight. */
  readonly records: readonly RuleRecord[];
  /** The relative weight: an integer of at least 1. */
  readonly weight: number;
  /** The most replicas that fit, existing ones included; undefined without a limit. */
  readonly maxReplicas: ReplicaLimit | undefined;
  /** The cluster's values of the topology labels, the widest first. */
  readonly domains: readonly string[];
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

/** Shared empty lists: most clusters have no records. */
const none: readonly string[] = [];
const noRecords: readonly RuleRecord[] = [];

export function filterAndScore(input: SchedulingInput): SchedulingResult {
  const { workload, candidates, policy = defaultPolicy, preferences, usage = noUsage } = input;
  const affinity = affinityTermsOf(policy, input.existingWorkloads ?? [], candidates);
  const context: RuleContext = { workload, policy, preferences, affinity };
  const { spread = [] } = policy;
  const opinions = candidates.map((candidate) => {
    const penalties = recordsOf(scoreRules, candidate, context).slice(0, preferencesMax);
    return { candidate, penalties };
  });
  const worst = Math.max(0, ...opinions.map(({ penalties }) => penalties.length));
  const clusters = new Map<string, ClusterSchedulingResult>();
  for (const { candidate, penalties } of opinions) {
    const { name } = candidate;
    const weight = weightOf(name, context);
    const demand = { requests: workload.requests, currentReplicas: input.currentReplicas(name) };
    const filtered = recordsOf(filterRules, candidate, context);
    const weighed = weight === 1 ? noRecords : [recordOf(weightRule, name, `weight ${weight}`)];
    clusters.set(name, {
      records: joined(joined(filtered, weighed), penalties),
      weight: Math.max(1, weight) * preference ** (worst - penalties.length),
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
    maxSkews: spread.map(({ maxSkew = 1 }) => maxSkew),
  };
}

/** The records of a list of rules about one cluster, in the order of the list. */
function recordsOf(
  rules: readonly ClusterRule[],
  candidate: ClusterCandidate,
  context: RuleContext,
): readonly RuleRecord[] {
  let records = noRecords;
  for (const rule of rules) {
    const messages = rule.check(candidate, context);
    if (messages.length === 0) continue;
    records = joined(
      records,
      messages.map((message) => recordOf(rule, candidate.name, message)),
    );
  }
  return records;
}

function recordOf({ name, verdict }: RuleDescription, cluster: string, message: string) {
  return { rule: name, cluster, verdict, message };
}

function joined<Item>(one: readonly Item[], other: readonly Item[]): readonly Item[] {
  if (one.length === 0) return other;
  return other.length === 0 ? one : [...one, ...other];
}

/** The result with further messages of a rule. */
function withMessages(
  result: ClusterSchedulingResult,
  rule: RuleDescription,
  cluster: string,
  messages: readonly string[],
): ClusterSchedulingResult {
  if (messages.length === 0) return result;
  const records = messages.map((message) => recordOf(rule, cluster, message));
  return { ...result, records: joined(result.records, records) };
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
  results.set(name, withMessages(result, evictionRules.antiAffinity, name, conflicts));
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
    if (result === undefined || hasEffect(result, "Evict") || left.has(name)) continue;
    const { maxReplicas } = result;
    const isRejected = hasEffect(result, "Reject");
    if (!isRejected && maxReplicas === undefined) return true;
    places += isRejected ? currentReplicas(name).replicas : (maxReplicas?.replicas ?? 0);
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
    const known = messagesOf(result, "Reject");
    const reasons = affinity
      .missingAffinityTargets(candidate)
      .filter((text) => !known.includes(text));
    const { name } = candidate;
    led.set(name, withMessages(result, missingAffinityTarget, name, reasons));
  }
  if (!hasCapacityWithout(new Set(violations.keys()), led, input)) return;
  for (const [name, result] of led) {
    const reasons = violations.get(name) ?? none;
    results.set(name, withMessages(result, evictionRules.affinity, name, reasons));
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

/** While a workload follows its target, clusters without the target get nothing of it. */
const missingAffinityTarget: RuleDescription = { ...evictionRules.affinity, verdict: "Reject" };
