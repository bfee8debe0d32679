/**
 * What becomes of the claims that some workloads share, and of these workloads' parts. Pure; the controller does it.
 *
 * Claims that can be shared (ReadWriteMany, ReadOnlyMany) are bound wherever their workloads are, to the same storage. All others are in one cluster at a time: a move
 * stops the workloads there, waits until the volume is detached, and only then lets the other cluster have it. That is the one move that breaks before it makes, so it
 * has to be allowed on the claim, and everything that can be in its way is found out first.
 *
 * Invariants:
 * 1. What uses a claim that cannot be shared is started in a cluster only while nothing of it runs, nor a volume of it is attached, in any other.
 * 2. Nothing is stopped for a move that is refused.
 * 3. A claim is taken away from a cluster only when no workload is there any more and another cluster has it bound.
 * 4. Of a cluster that cannot be seen nothing is taken, and nothing is started in its place.
 */
import { type ClaimEvent, type ClaimState, nextClaimState } from "./claim-machine.ts";

/** Storage as a cluster knows it. */
export interface Volume {
  readonly name: string;
  /** It outlives its claim. */
  readonly isRetained: boolean;
  /** Another cluster can reach it. */
  readonly isPortable: boolean;
  readonly isAttached: boolean;
}

export interface Claim {
  readonly name: string;
  readonly isShared: boolean;
  /** The cluster that has the data; undefined before there is any. */
  readonly home: string | undefined;
  readonly mayDetach: boolean;
  readonly hook: string | undefined;
  /** Clusters that the hook has made a copy for, with the volume that it is in. */
  readonly copies: ReadonlyMap<string, string>;
  readonly states: ReadonlyMap<string, ClaimState>;
  /** Clusters that it is assigned to, and in which it is bound. */
  readonly assigned: ReadonlySet<string>;
  readonly boundIn: ReadonlySet<string>;
  /** Clusters in which it is to have a volume that was brought there. */
  readonly broughtTo: ReadonlySet<string>;
  readonly volumes: ReadonlyMap<string, Volume>;
}

/** A workload's share in one cluster. */
export interface WorkloadPart {
  readonly whole: string;
  readonly cluster: string;
  readonly replicas: number;
  readonly isGoing: boolean;
  /** The cluster says that nothing of it runs. */
  readonly isStopped: boolean;
  readonly takesOverFrom: string | undefined;
  /** Whether it may be, or is, in the cluster; and whether it may run there. */
  readonly isOpened: boolean;
  readonly isFenced: boolean;
  /** It cannot be stopped: it runs to its end where it is. */
  readonly endsByItself?: boolean;
}

export type Sight = "seen" | "lost" | "gone";

export interface VolumesInput {
  readonly claims: readonly Claim[];
  readonly parts: readonly WorkloadPart[];
  readonly sight: (cluster: string) => Sight;
  /** Whether PersistentVolumes of the cluster can be seen here. They can if left out. */
  readonly showsVolumes?: (cluster: string) => boolean;
}

export interface ClaimPlace {
  readonly state: ClaimState;
  readonly reason?: string;
  readonly message?: string;
}

export interface ClaimDecision {
  readonly home: string | undefined;
  readonly places: ReadonlyMap<string, ClaimPlace>;
  /** Where it is to be, from now on. */
  readonly assigned: ReadonlySet<string>;
  /** Where it may be created. */
  readonly opened: ReadonlySet<string>;
  /** Where the volume of another cluster is to be bound: by cluster, whose volume. */
  readonly brought: ReadonlyMap<string, { readonly from: string; readonly copy?: string }>;
  /** The copy that the hook is to make. */
  readonly copyTo: string | undefined;
}

export interface PartDecision {
  /** Nothing of it may run in the cluster. */
  readonly isFenced: boolean;
  readonly isOpened: boolean;
}

export interface VolumesDecision {
  readonly claims: ReadonlyMap<string, ClaimDecision>;
  readonly parts: ReadonlyMap<WorkloadPart, PartDecision>;
  /** The cluster that these workloads have to be in, if it must be one. */
  readonly tie: string | undefined;
}

export function decideVolumes(input: VolumesInput): VolumesDecision {
  const isExclusive = input.claims.some(({ isShared }) => !isShared);
  const group = isExclusive ? exclusiveGroup(input) : undefined;
  const claims = new Map<string, ClaimDecision>();
  for (const claim of input.claims) {
    claims.set(
      claim.name,
      group === undefined ? decideShared(claim, input) : decideExclusive(claim, group, input),
    );
  }
  const parts = new Map<WorkloadPart, PartDecision>();
  for (const part of input.parts) {
    const decision = group === undefined ? undefined : fencing(part, group, input);
    parts.set(part, decision ?? { isFenced: false, isOpened: isUsable(part, input, claims) });
  }
  return { claims, parts, tie: group === undefined ? sharedTie(input, claims) : group.settledHome };
}

/** What could be shared, but by no other cluster: its workloads are where it is. Whoever wants it elsewhere does not matter, or it would come and go. */
function sharedTie(
  input: VolumesInput,
  decisions: ReadonlyMap<string, ClaimDecision>,
): string | undefined {
  for (const claim of input.claims) {
    const home = decisions.get(claim.name)?.home;
    if (home === undefined || input.sight(home) === "gone") continue;
    if (refusalOf({ ...claim, hook: undefined }, home, home, input) !== undefined) return home;
  }
  return undefined;
}

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

interface Group {
  /** The cluster that has the data now. */
  readonly home: string | undefined;
  /** After this look. */
  readonly settledHome: string | undefined;
  readonly destination: string | undefined;
  readonly event: ClaimEvent;
  readonly refusal: Refusal | undefined;
}

/** All claims of a group move together, or none does. */
function exclusiveGroup(input: VolumesInput): Group {
  const { claims, parts, sight } = input;
  const home = claims.find((claim) => claim.home !== undefined)?.home ?? firstPlace(input);
  const asking = parts
    .filter(
      ({ takesOverFrom, replicas, isGoing }) =>
        takesOverFrom !== undefined && takesOverFrom === home && replicas > 0 && !isGoing,
    )
    .map(({ cluster }) => cluster)
    .sort()[0];
  const destination = asking ?? home;
  const settled = { home, settledHome: home, destination, refusal: undefined };
  const moving = claims.filter((claim) => (claim.home ?? home) !== destination);
  if (destination === undefined || moving.length === 0) return { ...settled, event: "bound" };
  const origins = new Set(moving.map((claim) => claim.home ?? home ?? ""));
  if ([...origins].some((origin) => sight(origin) === "lost")) return { ...settled, event: "lost" };
  const refusal =
    moving.map((claim) => refusalOf(claim, home, destination, input)).find(Boolean) ??
    busyWith(moving, destination, parts);
  if (refusal !== undefined) return { ...settled, destination: home, event: "refusal", refusal };
  if (moving.some((claim) => !claim.volumes.has(claim.home ?? "")))
    return { ...settled, destination: home, event: "undecided" };
  const event = obstacle(moving, destination, input);
  return { ...settled, event, settledHome: event === "free" ? destination : home };
}

/** What cannot be stopped is waited for, before anything else is. */
export function busyWith(
  [claim]: readonly Claim[],
  destination: string,
  parts: readonly WorkloadPart[],
): Refusal | undefined {
  const busy = parts.find(
    (part) => part.cluster !== destination && part.endsByItself === true && isRunning(part),
  );
  if (busy === undefined) return undefined;
  const { whole, cluster } = busy;
  const message = `${whole} runs to its end in ${cluster}, and with it claim ${claim?.name} stays there until then; to move now, delete it`;
  return { reason: "Busy", message };
}

function isRunning({ isOpened, isStopped }: WorkloadPart): boolean {
  return isOpened && !isStopped;
}

/** What is still in the way. Whatever is not the destination must be at rest. */
function obstacle(moving: readonly Claim[], destination: string, input: VolumesInput): ClaimEvent {
  const elsewhere = input.parts.filter((part) => part.cluster !== destination);
  if (elsewhere.some(isRunning)) return "running";
  if (input.claims.some((claim) => isAttachedElsewhere(claim, destination))) return "attached";
  const isUncopied = moving.some((claim) => needsCopy(claim) && !claim.copies.has(destination));
  return isUncopied ? "uncopied" : "free";
}

function isAttachedElsewhere({ volumes, isShared }: Claim, destination: string): boolean {
  if (isShared) return false;
  return [...volumes].some(([cluster, { isAttached }]) => cluster !== destination && isAttached);
}

function needsCopy(claim: Claim): boolean {
  return claim.hook !== undefined;
}

/** Why the volume cannot be in another cluster, or may not; found out before anything stops. */
export function refusalOf(
  claim: Claim,
  groupHome: string | undefined,
  to: string,
  { sight, showsVolumes = () => true }: Pick<VolumesInput, "sight" | "showsVolumes">,
): Refusal | undefined {
  const home = claim.home ?? groupHome ?? "";
  const name = `claim ${claim.name}`;
  if (sight(home) === "gone") {
    const message = `${name} had its data in ${home}, which is not registered any more; register it again, or delete the claim`;
    return { reason: "DataGone", message };
  }
  if (claim.hook !== undefined) return undefined;
  if (!claim.isShared && !claim.mayDetach) {
    const message = `${name} can be in one cluster at a time and is in ${home}: to stop its workloads there before they start in ${to}, annotate it with workloads.kcp.io/volume-move=detach, or name a hook that copies it`;
    return { reason: "AccessMode", message };
  }
  const hidden = [home, to].find((cluster) => !showsVolumes(cluster));
  if (hidden !== undefined) {
    const message = `the volume of ${name} cannot be seen: add persistentvolumes to spec.resources of SyncTarget ${hidden}`;
    return { reason: "VolumeUnknown", message };
  }
  const volume = claim.volumes.get(home);
  if (volume === undefined) return undefined;
  if (!volume.isPortable) {
    const message = `${name} is on volume ${volume.name}, which only ${home} can reach; name a hook that copies it by workloads.kcp.io/volume-hook`;
    return { reason: "NotPortable", message };
  }
  if (!volume.isRetained) {
    const message = `volume ${volume.name} of ${name} would be deleted with its claim in ${home}; set its persistentVolumeReclaimPolicy to Retain`;
    return { reason: "ReclaimPolicy", message };
  }
  return undefined;
}

/** Where there is a volume already, or where most replicas are to be. */
function firstPlace({ claims, parts }: VolumesInput): string | undefined {
  const bound = claims.flatMap(({ boundIn }) => [...boundIn]).sort()[0];
  if (bound !== undefined) return bound;
  const wanted = parts.filter(({ replicas, isGoing }) => replicas > 0 && !isGoing);
  return [...wanted].sort((a, b) => b.replicas - a.replicas || order(a.cluster, b.cluster))[0]
    ?.cluster;
}

function decideExclusive(claim: Claim, group: Group, input: VolumesInput): ClaimDecision {
  const { home, destination, settledHome, event, refusal } = group;
  const own = settledHome === destination ? destination : (claim.home ?? home);
  const asking = input.parts.filter(
    (part) => part.takesOverFrom === home && part.replicas > 0 && part.cluster !== own,
  );
  const places = new Map<string, ClaimPlace>();
  const clusters = new Set([...claim.assigned, ...asking.map(({ cluster }) => cluster)]);
  if (own !== undefined) clusters.add(own);
  for (const cluster of [...clusters].sort()) {
    const found =
      cluster === own
        ? eventAtHome(claim, cluster)
        : asking.some((part) => part.cluster === cluster)
          ? event
          : leftEvent(claim, cluster, own, input);
    places.set(cluster, place(claim, cluster, found, refusal));
  }
  const copyTo = event === "uncopied" && needsCopy(claim) ? destination : undefined;
  return { home: own, ...whereabouts(claim, own, places), copyTo };
}

function decideShared(claim: Claim, input: VolumesInput): ClaimDecision {
  const home = sharedHome(claim, input);
  const places = new Map<string, ClaimPlace>();
  const wanted = input.parts.filter(({ replicas, isGoing }) => replicas > 0 && !isGoing);
  const clusters = new Set([...claim.assigned, ...wanted.map(({ cluster }) => cluster)]);
  if (home !== undefined) clusters.add(home);
  for (const cluster of [...clusters].sort()) {
    const isWanted = wanted.some((part) => part.cluster === cluster);
    const [found, refusal] =
      cluster === home
        ? [eventAtHome(claim, cluster), undefined]
        : isWanted
          ? sharedEvent(claim, home, cluster, input)
          : [leftEvent(claim, cluster, home, input), undefined];
    places.set(cluster, place(claim, cluster, found, refusal));
  }
  return { home, ...whereabouts(claim, home, places), copyTo: undefined };
}

/** The data of what can be shared is wherever it is bound: when its first place is left, another one stands for it. */
function sharedHome(claim: Claim, input: VolumesInput): string | undefined {
  const home = claim.home ?? firstPlace({ ...input, claims: [claim] });
  if (home === undefined || isInUse(home, input)) return home;
  const other = [...claim.boundIn].filter((one) => one !== home && isInUse(one, input)).sort()[0];
  return other ?? home;
}

function sharedEvent(
  claim: Claim,
  home: string | undefined,
  cluster: string,
  input: VolumesInput,
): readonly [ClaimEvent, Refusal | undefined] {
  if (claim.boundIn.has(cluster)) return ["bound", undefined];
  if (home === undefined) return ["undecided", undefined];
  if (input.sight(home) === "lost") return ["lost", undefined];
  const refusal = refusalOf({ ...claim, hook: undefined }, home, cluster, input);
  if (refusal !== undefined) return ["refusal", refusal];
  return [claim.volumes.has(home) ? "free" : "undecided", undefined];
}

function eventAtHome(claim: Claim, cluster: string): ClaimEvent {
  return claim.boundIn.has(cluster) ? "bound" : "free";
}

function leftEvent(
  claim: Claim,
  cluster: string,
  home: string | undefined,
  input: VolumesInput,
): ClaimEvent {
  if (!claim.assigned.has(cluster)) return "unwanted";
  const isReplaced = home !== undefined && home !== cluster && claim.boundIn.has(home);
  const canBeLeft = !isInUse(cluster, input) && isReplaced && input.sight(cluster) !== "lost";
  return canBeLeft ? "unneeded" : "bound";
}

function isInUse(cluster: string, { parts }: Pick<VolumesInput, "parts">): boolean {
  return parts.some((part) => part.cluster === cluster);
}

function place(
  claim: Claim,
  cluster: string,
  event: ClaimEvent,
  refusal: Refusal | undefined,
): ClaimPlace {
  const state = nextClaimState(claim.states.get(cluster) ?? "absent", event);
  return { state, ...(state === "refused" ? refusal : undefined) };
}

const present: ReadonlySet<ClaimState> = new Set(["binding", "bound"]);

function whereabouts(
  claim: Claim,
  home: string | undefined,
  places: ReadonlyMap<string, ClaimPlace>,
): Pick<ClaimDecision, "places" | "assigned" | "opened" | "brought"> {
  const assigned = new Set<string>();
  const opened = new Set<string>();
  const brought = new Map<string, { readonly from: string; readonly copy?: string }>();
  for (const [cluster, { state }] of places) {
    if (state === "releasing" || state === "absent") continue;
    if (!present.has(state)) {
      // Who assigned it is not contradicted: it is not opened, which is enough.
      if (claim.assigned.has(cluster)) assigned.add(cluster);
      continue;
    }
    assigned.add(cluster);
    opened.add(cluster);
    const from = cluster === home ? claim.home : home;
    if (from === undefined || from === cluster) continue;
    const wasThere = claim.states.get(cluster) === "bound" || claim.boundIn.has(cluster);
    if (wasThere || claim.broughtTo.has(cluster)) continue;
    const copy = claim.copies.get(cluster);
    brought.set(cluster, { from, ...(copy === undefined ? {} : { copy }) });
  }
  return { places, assigned, opened, brought };
}

/** Undefined where there is nothing particular about it. */
function fencing(
  part: WorkloadPart,
  { home, destination, settledHome }: Group,
  input: VolumesInput,
): PartDecision | undefined {
  const isAtHome = part.cluster === home && part.cluster === settledHome;
  // What was opened may be there: it stays so, with nothing to run.
  if (part.cluster !== destination || !isAtHome)
    return { isFenced: part.isOpened, isOpened: part.isOpened };
  const others = input.parts.filter((one) => one.cluster !== part.cluster);
  const isFree =
    !others.some(isRunning) &&
    input.claims.every((claim) => !isAttachedElsewhere(claim, part.cluster));
  return isFree ? undefined : { isFenced: part.isFenced, isOpened: part.isOpened };
}

/** A claim that was born where it is may wait for its first Pod to get a volume; one that was brought may not. */
function isUsable(
  part: WorkloadPart,
  input: VolumesInput,
  decisions: ReadonlyMap<string, ClaimDecision>,
): boolean {
  return input.claims.every((claim) => {
    const { home, brought } = decisions.get(claim.name) as ClaimDecision;
    if (claim.boundIn.has(part.cluster)) return true;
    const wasBrought = brought.has(part.cluster) || claim.broughtTo.has(part.cluster);
    return part.cluster === home && claim.home !== undefined && !wasBrought;
  });
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
