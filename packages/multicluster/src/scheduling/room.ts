/**
 * Room: how many replicas fit, from what there is less what others have reserved.
 *
 * What a SyncTarget's bounds name takes the place of what its cluster reports. A cluster that reports nothing is not full. What surely runs has its room,
 * whatever the sums say: too little capacity keeps work from coming, and never stops any.
 */
import { podsResource, type ResourceLimits, workloadsResource } from "../api/index.ts";
import { formatQuantity, parseResourceAmounts, type ResourceAmounts } from "./amounts.ts";
import type { CurrentReplicas, ReplicaLimit } from "./assess.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { LocationLimits } from "./located.ts";

/** What others take: all but the workload itself. */
export interface Usage {
  /** How much of a resource of one cluster, from all workspaces. */
  inCluster(candidate: ClusterCandidate): (resource: string) => number;
  /** Of some clusters together, by the workspace of the workload. */
  byWorkspace(targets: readonly string[]): ResourceAmounts;
}

export interface ReplicaRequirements {
  /** Of each replica. */
  readonly requests: ResourceAmounts;
  readonly present: CurrentReplicas;
}

const none: ResourceAmounts = new Map();
const noneOf = () => 0;
export const noUsage: Usage = { inCluster: () => noneOf, byWorkspace: () => none };

export function maxAvailableReplicas(
  candidate: ClusterCandidate,
  demand: ReplicaRequirements,
  usage: Usage,
): ReplicaLimit | undefined {
  const limits = limitsOf(candidate);
  if (limits === undefined) return undefined;
  return atLeastPresent(
    estimateReplicas(limits, usage.inCluster(candidate), demand),
    demand.present,
  );
}

/** What one workspace may use of some clusters bounds all of them together. */
export function maxReplicasWithinLocation(
  { location, bounds }: Pick<LocationLimits, "location" | "bounds">,
  demand: ReplicaRequirements,
  usedByOthers: ResourceAmounts,
): ReplicaLimit | undefined {
  const room = estimateReplicas(limitsFrom(bounds), (name) => usedByOthers.get(name) ?? 0, demand);
  const bound = atLeastPresent(room, demand.present);
  if (bound === undefined) return undefined;
  return { replicas: bound.replicas, because: `Location ${location}: ${bound.because}` };
}

type ResourceLimitLookup = (resource: string) => number | undefined;

/** Of the same candidate again and again: reading its quantities is most of the work. */
const known = new WeakMap<ClusterCandidate, ResourceLimitLookup | "none">();

function limitsOf(candidate: ClusterCandidate): ResourceLimitLookup | undefined {
  let limits = known.get(candidate);
  if (limits === undefined) {
    limits = readLimits(candidate) ?? "none";
    known.set(candidate, limits);
  }
  return limits === "none" ? undefined : limits;
}

function readLimits({ bounds, allocatable }: ClusterCandidate): ResourceLimitLookup | undefined {
  const isReported = allocatable !== undefined && Object.keys(allocatable).length > 0;
  if (bounds === undefined && !isReported) return undefined;
  const bounded = parseResourceAmounts(bounds);
  const reported = parseResourceAmounts(allocatable);
  return (resource) =>
    bounded.get(resource) ??
    reported.get(resource) ??
    // Of what only some nodes have, a cluster that does not speak of it has none.
    (isReported && isExtended(resource) ? 0 : undefined);
}

function limitsFrom(bounds: ResourceLimits): ResourceLimitLookup {
  const bounded = parseResourceAmounts(bounds);
  return (resource) => bounded.get(resource);
}

function isExtended(resource: string): boolean {
  return resource.includes("/") || resource.startsWith("hugepages-");
}

/** The tightest. Why is only said when it is asked for: most clusters have more room than anybody wants. */
function estimateReplicas(
  limits: ResourceLimitLookup,
  used: (resource: string) => number,
  { requests, present }: ReplicaRequirements,
): ReplicaLimit | undefined {
  let tightest: InsufficientResource | undefined;
  for (const [resource, each] of requests) {
    const limit = limits(resource);
    if (limit === undefined || each <= 0) continue;
    const taken = used(resource);
    const replicas = Math.max(0, Math.floor((limit - taken) / each));
    const isTighter =
      tightest === undefined ||
      replicas < tightest.replicas ||
      (replicas === tightest.replicas && resource < tightest.resource);
    if (isTighter) tightest = { replicas, resource, limit, taken, each };
  }
  const workloads = limits(workloadsResource);
  const others = workloads === undefined ? 0 : used(workloadsResource);
  if (workloads !== undefined && others + 1000 > workloads && present.replicas === 0)
    return { replicas: 0, because: `${others / 1000} of ${workloads / 1000} workloads are here` };
  return tightest && new InsufficientResourceLimit(tightest.replicas, tightest);
}

interface InsufficientResource {
  readonly replicas: number;
  readonly resource: string;
  readonly limit: number;
  readonly taken: number;
  readonly each: number;
}

class InsufficientResourceLimit implements ReplicaLimit {
  readonly replicas: number;
  readonly #shortage: InsufficientResource;

  constructor(replicas: number, shortage: InsufficientResource) {
    this.replicas = replicas;
    this.#shortage = shortage;
  }

  get because(): string {
    const { resource, limit, taken, each } = this.#shortage;
    const text = (amount: number) => formatQuantity(resource, amount);
    const asked = resource === podsResource ? "" : `, and each replica asks for ${text(each)}`;
    return `${text(taken)} of ${text(limit)} ${resource} is reserved by others${asked}`;
  }

  withReplicas(replicas: number): ReplicaLimit {
    return new InsufficientResourceLimit(replicas, this.#shortage);
  }
}

function atLeastPresent(
  bound: ReplicaLimit | undefined,
  present: CurrentReplicas,
): ReplicaLimit | undefined {
  const running = Math.min(present.replicas, present.available);
  return bound instanceof InsufficientResourceLimit && bound.replicas < running
    ? bound.withReplicas(running)
    : bound;
}
