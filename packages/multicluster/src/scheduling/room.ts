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
import type { LocationChoice } from "./policy.ts";

/** What others take: all but the workload itself. */
export interface Usage {
  /** Of one cluster, from all workspaces. */
  inCluster(candidate: Candidate): Amounts;
  /** Of some clusters together, by the workspace of the workload. */
  byWorkspace(targets: readonly string[]): Amounts;
}

export interface Demand {
  /** Of each replica. */
  readonly requests: Amounts;
  readonly present: Presence;
}

const none: Amounts = new Map();
export const noUsage: Usage = { inCluster: () => none, byWorkspace: () => none };

export function roomIn(candidate: Candidate, demand: Demand, usage: Usage): Bound | undefined {
  const limits = limitsOf(candidate);
  if (limits === undefined) return undefined;
  return atLeastPresent(roomFor(limits, usage.inCluster(candidate), demand), demand.present);
}

/** What one workspace may use of a Location bounds all of its clusters together. */
export function totalRoomOf(
  choice: LocationChoice | undefined,
  requests: Amounts,
  presences: ReadonlyMap<string, Presence>,
  usage: Usage,
): Bound | undefined {
  if (choice?.bounds === undefined) return undefined;
  const limits = limitsFrom(choice.bounds);
  const sum = (field: keyof Presence) =>
    [...presences.values()].reduce((total, one) => total + one[field], 0);
  const present = { replicas: sum("replicas"), available: sum("available") };
  const room = roomFor(limits, usage.byWorkspace([...presences.keys()]), { requests, present });
  const bound = atLeastPresent(room, present);
  return bound && { ...bound, because: `Location ${choice.location}: ${bound.because}` };
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

/** The tightest. */
function roomFor(limits: Limits, used: Amounts, { requests, present }: Demand): Bound | undefined {
  let tightest: Bound | undefined;
  const consider = (replicas: number, because: string) => {
    if (tightest === undefined || replicas < tightest.replicas) tightest = { replicas, because };
  };
  for (const resource of [...requests.keys()].sort()) {
    const each = requests.get(resource) ?? 0;
    const limit = limits(resource);
    if (limit === undefined || each <= 0) continue;
    const taken = used.get(resource) ?? 0;
    const replicas = Math.max(0, Math.floor((limit - taken) / each));
    consider(replicas, fullness(resource, limit, taken, each));
  }
  const workloads = limits(workloadsResource);
  const others = used.get(workloadsResource) ?? 0;
  if (workloads !== undefined && others + 1000 > workloads && present.replicas === 0)
    consider(0, `${others / 1000} of ${workloads / 1000} workloads are here`);
  return tightest;
}

function fullness(resource: string, limit: number, taken: number, each: number): string {
  const text = (amount: number) => formatAmount(resource, amount);
  const asked = resource === podsResource ? "" : `, and each replica asks for ${text(each)}`;
  return `${text(taken)} of ${text(limit)} ${resource} is reserved by others${asked}`;
}

function atLeastPresent(bound: Bound | undefined, present: Presence): Bound | undefined {
  if (bound === undefined) return undefined;
  const running = Math.min(present.replicas, present.available);
  return bound.replicas >= running ? bound : { ...bound, replicas: running };
}
