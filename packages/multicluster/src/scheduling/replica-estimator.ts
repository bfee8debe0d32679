/**
 * The most replicas that fit into a cluster, from its capacity less the reservations of other
 * workloads.
 *
 * Resource limits of a SyncTarget override the reported capacity. A cluster that reports no
 * capacity is not full. Available replicas keep their capacity, whatever the sums are: insufficient
 * capacity prevents new replicas, and never stops any.
 */
import { podsResource, type ResourceLimits, workloadsResource } from "../api/index.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { CurrentReplicas, ReplicaLimit } from "./filter-and-score.ts";
import { formatQuantity, parseResourceAmounts, type ResourceAmounts } from "./resource-amounts.ts";
import type { LocationLimits } from "./workspace-locations.ts";

/** The reservations of all other workloads. */
export interface Usage {
  /** The reserved amount of a resource of one cluster, by all workspaces. */
  inCluster(candidate: ClusterCandidate): (resource: string) => number;
  /** The reserved amounts of several clusters together, by the workload's workspace. */
  byWorkspace(targets: readonly string[]): ResourceAmounts;
}

export interface ReplicaRequirements {
  /** The requests of each replica. */
  readonly requests: ResourceAmounts;
  readonly currentReplicas: CurrentReplicas;
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
  const source = { kind: "SyncTarget", name: candidate.name } as const;
  return atLeastPresent(
    estimateReplicas(limits, usage.inCluster(candidate), demand, source),
    demand.currentReplicas,
  );
}

/** The limit of a Location applies to all of its clusters together. */
export function maxReplicasWithinLocation(
  { location, resourceLimits }: Pick<LocationLimits, "location" | "resourceLimits">,
  demand: ReplicaRequirements,
  usedByOthers: ResourceAmounts,
): ReplicaLimit | undefined {
  const used = (name: string) => usedByOthers.get(name) ?? 0;
  const source = { kind: "Location", name: location } as const;
  return atLeastPresent(
    estimateReplicas(limitsFrom(resourceLimits), used, demand, source),
    demand.currentReplicas,
  );
}

/** The object that limits a resource. */
interface LimitSource {
  readonly kind: "SyncTarget" | "Location";
  readonly name: string;
}

type ResourceLimitLookup = (resource: string) => number | undefined;

/**
 * Cache of parsed limits: the same candidate is evaluated repeatedly, and parsing quantities is
 * most of the work.
 */
const known = new WeakMap<ClusterCandidate, ResourceLimitLookup | "none">();

function limitsOf(candidate: ClusterCandidate): ResourceLimitLookup | undefined {
  let limits = known.get(candidate);
  if (limits === undefined) {
    limits = readLimits(candidate) ?? "none";
    known.set(candidate, limits);
  }
  return limits === "none" ? undefined : limits;
}

function readLimits({
  resourceLimits,
  allocatable,
  registrations = 1,
}: ClusterCandidate): ResourceLimitLookup | undefined {
  const isReported = allocatable !== undefined && Object.keys(allocatable).length > 0;
  if (resourceLimits === undefined && !isReported) return undefined;
  const bounded = parseResourceAmounts(resourceLimits);
  // A cluster that is registered several times has its capacity once: each has its share.
  const reported = new Map(
    [...parseResourceAmounts(allocatable)].map(([name, all]) => [
      name,
      Math.floor(all / Math.max(registrations, 1)),
    ]),
  );
  return (resource) =>
    bounded.get(resource) ??
    reported.get(resource) ??
    // A cluster that does not report an extended resource has none.
    (isReported && isExtended(resource) ? 0 : undefined);
}

function limitsFrom(limits: ResourceLimits): ResourceLimitLookup {
  const bounded = parseResourceAmounts(limits);
  return (resource) => bounded.get(resource);
}

function isExtended(resource: string): boolean {
  return resource.includes("/") || resource.startsWith("hugepages-");
}

/**
 * The tightest limit. The reason is formatted on demand: most clusters have more capacity than
 * requested.
 */
function estimateReplicas(
  limits: ResourceLimitLookup,
  used: (resource: string) => number,
  { requests, currentReplicas }: ReplicaRequirements,
  source: LimitSource,
): ReplicaLimit | undefined {
  let tightest: InsufficientResource | undefined;
  for (const [resource, perReplica] of requests) {
    const limit = limits(resource);
    if (limit === undefined || perReplica <= 0) continue;
    const reserved = used(resource);
    const replicas = Math.max(0, Math.floor((limit - reserved) / perReplica));
    const isTighter =
      tightest === undefined ||
      replicas < tightest.replicas ||
      (replicas === tightest.replicas && resource < tightest.resource);
    if (isTighter) tightest = { replicas, resource, limit, reserved, perReplica };
  }
  const workloads = limits(workloadsResource);
  const others = workloads === undefined ? 0 : used(workloadsResource);
  if (workloads !== undefined && others + 1000 > workloads && currentReplicas.replicas === 0)
    return {
      replicas: 0,
      reason: `workload limit reached: ${others / 1000}/${workloads / 1000} (${source.kind} ${source.name})`,
    };
  return tightest && new InsufficientResourceLimit(tightest.replicas, tightest, source);
}

interface InsufficientResource {
  readonly replicas: number;
  readonly resource: string;
  readonly limit: number;
  readonly reserved: number;
  readonly perReplica: number;
}

class InsufficientResourceLimit implements ReplicaLimit {
  readonly replicas: number;
  readonly #shortage: InsufficientResource;
  readonly #source: LimitSource;

  constructor(replicas: number, shortage: InsufficientResource, source: LimitSource) {
    this.replicas = replicas;
    this.#shortage = shortage;
    this.#source = source;
  }

  /** Of a resource other than Pods, clusters that have too little of it are counted together. */
  get reason(): string {
    const { resource, limit, reserved, perReplica } = this.#shortage;
    const { kind, name } = this.#source;
    if (resource !== podsResource)
      return `Insufficient ${resource}${kind === "Location" ? ` (Location ${name})` : ""}`;
    const used = this.#text(reserved + this.replicas * perReplica);
    return `pod limit reached: ${used}/${this.#text(limit)} (${kind} ${name})`;
  }

  get detail(): string | undefined {
    const { resource, limit, reserved, perReplica } = this.#shortage;
    if (resource === podsResource) return undefined;
    return `${this.#text(reserved)} of ${this.#text(limit)} reserved by other workloads, each replica requests ${this.#text(perReplica)}`;
  }

  #text(amount: number): string {
    return formatQuantity(this.#shortage.resource, amount);
  }

  withReplicas(replicas: number): ReplicaLimit {
    return new InsufficientResourceLimit(replicas, this.#shortage, this.#source);
  }
}

function atLeastPresent(
  limit: ReplicaLimit | undefined,
  present: CurrentReplicas,
): ReplicaLimit | undefined {
  const running = Math.min(present.replicas, present.available);
  return limit instanceof InsufficientResourceLimit && limit.replicas < running
    ? limit.withReplicas(running)
    : limit;
}
