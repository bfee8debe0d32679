/**
 * The scheduler: for one workload and every cluster, whether it may be there, how much of it, and why. Pure; the answer depends on nothing but what is
 * handed in, and not on its order.
 *
 * Whether a cluster is healthy is judged elsewhere (standing), and how many replicas each gets is computed elsewhere (distribute), from this.
 */
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import type { Taint, Toleration } from "../api/index.ts";
import { affinityTermsOf, type ExistingWorkload, type WorkloadAffinityTerms } from "./affinity.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { LocationLimits } from "./located.ts";
import { defaultPolicy, type Policy } from "./policy.ts";
import {
  maxAvailableReplicas,
  maxReplicasWithinLocation,
  noUsage,
  type ReplicaRequirements,
  type Usage,
} from "./room.ts";
import type { SchedulableWorkload } from "./workload.ts";

export interface SchedulingInput {
  readonly workload: SchedulableWorkload;
  readonly candidates: readonly ClusterCandidate[];
  readonly policy?: Policy | undefined;
  /** What the workspace may use of clusters at most, whatever chose them. */
  readonly allowances?: readonly LocationLimits[] | undefined;
  /** What the object itself says. */
  readonly wish?: WorkloadPreferences | undefined;
  /** How many of it there should be; as many as there are if left out. */
  readonly asked?: number | undefined;
  /** What each cluster has of it. */
  readonly present: (cluster: string) => CurrentReplicas;
  /** What others take of the clusters; nothing if left out. */
  readonly usage?: Usage | undefined;
  /** Other workloads of the namespace. */
  readonly neighbours?: readonly ExistingWorkload[] | undefined;
}

export interface WorkloadPreferences {
  readonly selector?: LabelSelector | undefined;
  readonly weights: ReadonlyMap<string, number>;
}

export interface CurrentReplicas {
  readonly replicas: number;
  /** Those of them that surely run. */
  readonly available: number;
}

export interface SchedulingResult {
  /** What was followed. */
  readonly policy: Policy;
  readonly prospects: ReadonlyMap<string, ClusterSchedulingResult>;
  /** What bounds some clusters together. */
  readonly quotas: readonly SharedReplicaLimit[];
  /** Of each domain that is spread over, from the widest: how uneven it may be. */
  readonly maxSkews: readonly number[];
}

/** What a cluster is to a workload. */
export interface ClusterSchedulingResult {
  /** Why it may not be there at all: what is there has to leave. */
  readonly expelled: readonly string[];
  /** Why nothing new may go there: what is there stays. */
  readonly refused: readonly string[];
  /** Relative to the others; whole, and at least 1. */
  readonly weight: number;
  /** How its weight came about, where it is not the usual one. */
  readonly scores: readonly ScoreFactor[];
  /** Replicas that there is room for, those that are there included; undefined: any number. */
  readonly room: ReplicaLimit | undefined;
  /** Its values of the labels that are spread over, the widest first. */
  readonly domains: readonly string[];
}

export interface ScoreFactor {
  readonly text: string;
  /** What the weight is multiplied by. */
  readonly factor: number;
}

/** What the workspace may use of some clusters together. */
export interface SharedReplicaLimit {
  readonly clusters: ReadonlySet<string>;
  /** How many there may be of the workload, with what it has there; undefined: any number. */
  boundWith(present: CurrentReplicas): ReplicaLimit | undefined;
}

export interface ReplicaLimit {
  readonly replicas: number;
  readonly because: string;
}

/** As much a preference weighs: what is not preferred gets a tenth. */
const preference = 10;
/** So many preferences count. */
const preferencesMax = 3;
/** The greatest weight that there can be, for sums that are exact. */
export const clusterWeightMax = 1000 * preference ** preferencesMax;

/** Most clusters have nothing against a workload: that costs nothing to say. */
const none: readonly string[] = [];
const noScores: readonly ScoreFactor[] = [];

function joined(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one.length === 0) return other;
  return other.length === 0 ? one : [...one, ...other];
}

export function filterAndScore(input: SchedulingInput): SchedulingResult {
  const { workload, candidates, policy = defaultPolicy, wish, usage = noUsage } = input;
  const affinity = affinityTermsOf(policy, input.neighbours ?? [], candidates);
  const spread = policy.spread ?? [];
  const opinions = candidates.map((one) => {
    const penalties = joined(preferNoSchedule(one, workload, policy), affinity.dislikes(one));
    return { candidate: one, penalties: penalties.slice(0, preferencesMax) };
  });
  const worst = Math.max(0, ...opinions.map(({ penalties }) => penalties.length));
  const prospects = new Map<string, ClusterSchedulingResult>();
  for (const { candidate, penalties } of opinions) {
    const { name } = candidate;
    const weight = weightOf(name, policy, wish);
    const demand: ReplicaRequirements = {
      requests: workload.requests,
      present: input.present(name),
    };
    const scores: readonly ScoreFactor[] =
      penalties.length === 0
        ? noScores
        : penalties.map((text) => ({ text, factor: 1 / preference }));
    prospects.set(name, {
      expelled: evictionReasonsFor(candidate, input, weight),
      refused: filterReasonsFor(candidate, input, affinity.refusals(candidate)),
      weight: Math.max(1, weight) * preference ** (worst - penalties.length),
      scores: weight === 1 ? scores : [{ text: `weight ${weight}`, factor: weight }, ...scores],
      room: maxAvailableReplicas(candidate, demand, usage),
      domains:
        spread.length === 0
          ? none
          : spread.map(({ topologyKey }) => candidate.labels[topologyKey] ?? ""),
    });
  }
  if (affinity.hasConflicts)
    for (const candidate of candidates)
      evictAntiAffinityConflicts(candidate, affinity, prospects, input);
  if (affinity.mayStray) evictAffinityViolations(affinity, prospects, input);
  return {
    policy,
    prospects,
    quotas: quotasOf(input),
    maxSkews: (policy.spread ?? []).map(({ maxSkew = 1 }) => maxSkew),
  };
}

/** What must not be beside another workload leaves it, where there is somewhere else for all of it. */
function evictAntiAffinityConflicts(
  candidate: ClusterCandidate,
  affinity: WorkloadAffinityTerms,
  prospects: Map<string, ClusterSchedulingResult>,
  input: SchedulingInput,
): void {
  const { name } = candidate;
  const prospect = prospects.get(name);
  const conflicts = input.present(name).replicas === 0 ? none : affinity.conflicts(candidate);
  if (conflicts.length === 0 || prospect === undefined) return;
  if (!hasCapacityWithout(new Set([name]), prospects, input)) return;
  prospects.set(name, { ...prospect, expelled: [...prospect.expelled, ...conflicts] });
}

/**
 * Whether all that is asked for has a place without some clusters. It does not depend on how far a move has come: what is in the new place already is in its room, too, and
 * a move that takes up the last of it is not called off for that.
 */
function hasCapacityWithout(
  left: ReadonlySet<string>,
  prospects: ReadonlyMap<string, ClusterSchedulingResult>,
  { present, candidates, asked }: SchedulingInput,
): boolean {
  let places = 0;
  for (const { name } of candidates) {
    const prospect = prospects.get(name);
    if (prospect === undefined || prospect.expelled.length > 0 || left.has(name)) continue;
    const { refused, room } = prospect;
    if (refused.length === 0 && room === undefined) return true;
    places += refused.length > 0 ? present(name).replicas : (room?.replicas ?? 0);
  }
  const there = candidates.reduce((sum, { name }) => sum + present(name).replicas, 0);
  return places >= (asked ?? there);
}

/** What must be near others and is not any more goes where they went, if there is room for all of it. */
function evictAffinityViolations(
  affinity: WorkloadAffinityTerms,
  prospects: Map<string, ClusterSchedulingResult>,
  input: SchedulingInput,
): void {
  const { present, candidates } = input;
  const strays = new Map<string, readonly string[]>();
  for (const candidate of candidates) {
    const isHere = present(candidate.name).replicas > 0;
    const because = isHere ? affinity.strays(candidate) : none;
    if (because.length > 0) strays.set(candidate.name, because);
  }
  if (strays.size === 0) return;
  const led = new Map(prospects);
  for (const candidate of candidates) {
    const prospect = led.get(candidate.name);
    if (prospect === undefined) continue;
    const because = affinity.unled(candidate).filter((text) => !prospect.refused.includes(text));
    if (because.length === 0) continue;
    led.set(candidate.name, { ...prospect, refused: joined(prospect.refused, because) });
  }
  if (!hasCapacityWithout(new Set(strays.keys()), led, input)) return;
  for (const [name, prospect] of led) {
    const because = strays.get(name) ?? none;
    prospects.set(name, { ...prospect, expelled: joined(prospect.expelled, because) });
  }
}

const noQuotas: readonly SharedReplicaLimit[] = [];

function quotasOf(input: SchedulingInput): readonly SharedReplicaLimit[] {
  const { allowances = [], workload, candidates, usage = noUsage } = input;
  if (allowances.length === 0) return noQuotas;
  return allowances.map((allowance) => {
    const names = candidates.filter(allowance.includes).map(({ name }) => name);
    return {
      clusters: new Set(names),
      boundWith: (present) =>
        maxReplicasWithinLocation(
          allowance,
          { requests: workload.requests, present },
          usage.byWorkspace(names),
        ),
    };
  });
}

/** The weights of the object take the place of those of the policy, all of them. */
function weightOf(name: string, policy: Policy, wish: WorkloadPreferences | undefined): number {
  if (wish !== undefined && wish.weights.size > 0) return wish.weights.get(name) ?? 1;
  return policy.weights?.[name] ?? 1;
}

function isSelected(
  candidate: ClusterCandidate,
  policy: Policy,
  wish: WorkloadPreferences | undefined,
): boolean {
  if (wish?.selector !== undefined) return wish.selector.matches(candidate.labels);
  return policy.choice?.includes(candidate) ?? true;
}

function evictionReasonsFor(
  candidate: ClusterCandidate,
  { policy = defaultPolicy, wish, workload }: SchedulingInput,
  weight: number,
): readonly string[] {
  const { choice } = policy;
  const isPlain = weight !== 0 && candidate.taints === undefined;
  if (isPlain && isSelected(candidate, policy, wish)) return none;
  const found: string[] = [];
  if (!isSelected(candidate, policy, wish)) {
    if (wish?.selector !== undefined)
      found.push(`the annotation cluster-selector ${wish.selector} does not select it`);
    else if (choice?.location !== undefined)
      found.push(`it is not in Location ${choice.location} of Placement ${choice.placement}`);
  }
  if (weight === 0) found.push("its weight is 0");
  for (const taint of untolerated(candidate, workload, policy, "NoExecute"))
    found.push(notTolerated(taint));
  return found;
}

function filterReasonsFor(
  candidate: ClusterCandidate,
  { policy = defaultPolicy, wish, workload }: SchedulingInput,
  byAffinity: readonly string[],
): readonly string[] {
  const { choice } = policy;
  const isServed = candidate.resources?.includes(workload.resource) !== false;
  if (isServed && choice === undefined && candidate.taints === undefined) return byAffinity;
  const found: string[] = [];
  if (choice !== undefined && choice.location === undefined && wish?.selector === undefined)
    found.push(`Placement ${choice.placement} has no Location`);
  if (!isServed)
    found.push(
      `it does not serve ${workload.resource} in a compatible way (kubectl get apiresourceimports says why)`,
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
  return `taint ${key}${value === "" ? "" : `=${value}`}:${effect} is not tolerated`;
}
