/**
 * Room: how many replicas fit, from what there is less what others have reserved.
 *
 * What a SyncTarget's bounds name takes the place of what its cluster reports. A cluster that reports nothing is not full. What surely runs has its room,
 * whatever the sums say: too little capacity keeps work from coming, and never stops any.
 */
import { type Bounds, podsResource, workloadsResource } from "../api/index.ts";
import { type Amounts, amountsOf, formatAmount } from "./amounts.ts";
import type { Bound, Presence } from "./assess.ts";
import type { Candidate } from "./candidate.ts";
import type { Allowance } from "./located.ts";

/** What others take: all but the workload itself. */
export interface Usage {
  /** How much of a resource of one cluster, from all workspaces. */
  inCluster(candidate: Candidate): (resource: string) => number;
  /** Of some clusters together, by the workspace of the workload. */
  byWorkspace(targets: readonly string[]): Amounts;
}

export interface Demand {
  /** Of each replica. */
  readonly requests: Amounts;
  readonly present: Presence;
}

const none: Amounts = new Map();
const noneOf = () => 0;
export const noUsage: Usage = { inCluster: () => noneOf, byWorkspace: () => none };

export function roomIn(candidate: Candidate, demand: Demand, usage: Usage): Bound | undefined {
  const limits = limitsOf(candidate);
  if (limits === undefined) return undefined;
  return atLeastPresent(roomFor(limits, usage.inCluster(candidate), demand), demand.present);
}

/** What one workspace may use of some clusters bounds all of them together. */
export function allowedRoom(
  { location, bounds }: Pick<Allowance, "location" | "bounds">,
  demand: Demand,
  usedByOthers: Amounts,
): Bound | undefined {
  const room = roomFor(limitsFrom(bounds), (name) => usedByOthers.get(name) ?? 0, demand);
  const bound = atLeastPresent(room, demand.present);
  if (bound === undefined) return undefined;
  return { replicas: bound.replicas, because: `Location ${location}: ${bound.because}` };
}

type Limits = (resource: string) => number | undefined;

/** Of the same candidate again and again: reading its quantities is most of the work. */
const known = new WeakMap<Candidate, Limits | "none">();

function limitsOf(candidate: Candidate): Limits | undefined {
  let limits = known.get(candidate);
  if (limits === undefined) {
    limits = readLimits(candidate) ?? "none";
    known.set(candidate, limits);
  }
  return limits === "none" ? undefined : limits;
}

function readLimits({ bounds, allocatable }: Candidate): Limits | undefined {
  const isReported = allocatable !== undefined && Object.keys(allocatable).length > 0;
  if (bounds === undefined && !isReported) return undefined;
  const bounded = amountsOf(bounds);
  const reported = amountsOf(allocatable);
  return (resource) =>
    bounded.get(resource) ??
    reported.get(resource) ??
    // Of what only some nodes have, a cluster that does not speak of it has none.
    (isReported && isExtended(resource) ? 0 : undefined);
}

function limitsFrom(bounds: Bounds): Limits {
  const bounded = amountsOf(bounds);
  return (resource) => bounded.get(resource);
}

function isExtended(resource: string): boolean {
  return resource.includes("/") || resource.startsWith("hugepages-");
}

/** The tightest. Why is only said when it is asked for: most clusters have more room than anybody wants. */
function roomFor(
  limits: Limits,
  used: (resource: string) => number,
  { requests, present }: Demand,
): Bound | undefined {
  let tightest: Shortage | undefined;
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
  return tightest && new ShortageBound(tightest.replicas, tightest);
}

interface Shortage {
  readonly replicas: number;
  readonly resource: string;
  readonly limit: number;
  readonly taken: number;
  readonly each: number;
}

class ShortageBound implements Bound {
  readonly replicas: number;
  readonly #shortage: Shortage;

  constructor(replicas: number, shortage: Shortage) {
    this.replicas = replicas;
    this.#shortage = shortage;
  }

  get because(): string {
    const { resource, limit, taken, each } = this.#shortage;
    const text = (amount: number) => formatAmount(resource, amount);
    const asked = resource === podsResource ? "" : `, and each replica asks for ${text(each)}`;
    return `${text(taken)} of ${text(limit)} ${resource} is reserved by others${asked}`;
  }

  withReplicas(replicas: number): Bound {
    return new ShortageBound(replicas, this.#shortage);
  }
}

function atLeastPresent(bound: Bound | undefined, present: Presence): Bound | undefined {
  const running = Math.min(present.replicas, present.available);
  return bound instanceof ShortageBound && bound.replicas < running
    ? bound.withReplicas(running)
    : bound;
}
