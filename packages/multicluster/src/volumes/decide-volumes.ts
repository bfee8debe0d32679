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
 * 3. A claim is taken away from a cluster only when no workload is there any more and another cluster has it bound; one that was copied, only when it also runs there.
 * 4. A copy counts when it is bound. Until then the data is where it was, and everything can start there again (`copies.ts`).
 * 5. Of a cluster that cannot be seen nothing is taken, and nothing is started in its place.
 */
import { type ClaimEvent, type ClaimState, nextClaimState } from "./claim-machine.ts";
import {
  type ClaimMigration,
  copyFor,
  copyRequestFor,
  isBoundAtDestination,
  isOutdated,
  migratedVolumeName,
  overdue,
  type VolumeCopier,
  type VolumeCopyRequest,
} from "./copies.ts";
import { isRunning, volumeInUseBy, volumeRefusalOf } from "./refusals.ts";
import type { ClusterStorage } from "./snapshot-way.ts";

/** Storage as a cluster knows it. */
export interface Volume {
  readonly name: string;
  /** It outlives its claim. */
  readonly isRetained: boolean;
  /** Another cluster can reach it. */
  readonly isPortable: boolean;
  readonly isAttached: boolean;
  /** What it is a name for: the same in two clusters means the same data. */
  readonly storage: string;
  /** Of CSI. */
  readonly driver?: string | undefined;
}

export interface VolumeClaim {
  readonly name: string;
  readonly uid: string;
  /** Another one after every change of it. */
  readonly version: string;
  readonly isShared: boolean;
  /** The cluster that has the data; undefined before there is any. */
  readonly home: string | undefined;
  readonly mayDetach: boolean;
  /** The StorageClass that it names. */
  readonly storageClass?: string | undefined;
  /** Who copies it to another cluster; undefined if its storage itself is to be had there. */
  readonly copier: VolumeCopier | undefined;
  /** The copy that is asked for, and what has been made for it: a volume, or a snapshot in the other cluster. */
  readonly request: VolumeCopyRequest | undefined;
  readonly copied: string | undefined;
  /** How far the copy is. */
  readonly progress?: VolumeRefusal | undefined;
  readonly states: ReadonlyMap<string, ClaimState>;
  /** Clusters that it is assigned to, and in which it is bound. */
  readonly assigned: ReadonlySet<string>;
  readonly boundIn: ReadonlySet<string>;
  /** Clusters in which it is, or may be. */
  readonly heldIn: ReadonlySet<string>;
  /** Clusters in which it is to have a volume that was brought there, with its name or that of a snapshot. */
  readonly broughtTo: ReadonlyMap<string, string>;
  readonly volumes: ReadonlyMap<string, Volume>;
}

/** A workload's share in one cluster. */
export interface VolumeUser {
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
  /** The cluster says that it does its work. It does if left out. */
  readonly hasStarted?: boolean;
}

export type ClusterVisibility = "seen" | "lost" | "gone";

export interface VolumesInput {
  readonly claims: readonly VolumeClaim[];
  readonly parts: readonly VolumeUser[];
  readonly sight: (cluster: string) => ClusterVisibility;
  /** Whether PersistentVolumes of the cluster can be seen here. They can if left out. */
  readonly showsVolumes?: (cluster: string) => boolean;
  /** Classes of storage and snapshots in a cluster; undefined where they cannot be seen. */
  readonly storageOf?: (cluster: string) => ClusterStorage | undefined;
  readonly nowMs?: number;
  /** How long workloads stay stopped for a snapshot. */
  readonly copyPatienceMs?: number;
}

export interface ClaimClusterState {
  readonly state: ClaimState;
  readonly reason?: string;
  readonly message?: string;
}

export interface ClaimDecision {
  readonly home: string | undefined;
  readonly places: ReadonlyMap<string, ClaimClusterState>;
  /** Where it is to be, from now on. */
  readonly assigned: ReadonlySet<string>;
  /** Where it may be created. */
  readonly opened: ReadonlySet<string>;
  /** Where the volume of another cluster is to be bound: by cluster, whose volume, and what it is called. */
  readonly brought: ReadonlyMap<string, MigratedVolume>;
  /** The copy that is asked for from now on. */
  readonly request: VolumeCopyRequest | undefined;
}

export interface MigratedVolume {
  readonly from: string;
  readonly name: string;
  /** Somebody else has made it. */
  readonly isCopy: boolean;
}

export interface VolumeUserDecision {
  /** Nothing of it may run in the cluster. */
  readonly isFenced: boolean;
  readonly isOpened: boolean;
}

export interface VolumesDecision {
  readonly claims: ReadonlyMap<string, ClaimDecision>;
  readonly parts: ReadonlyMap<VolumeUser, VolumeUserDecision>;
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
      group === undefined
        ? decideShared(withoutMigration(claim), input)
        : decideExclusive(claim, group, input),
    );
  }
  const parts = new Map<VolumeUser, VolumeUserDecision>();
  for (const part of input.parts) {
    const decision = group === undefined ? undefined : fencing(part, group, input);
    parts.set(part, decision ?? { isFenced: false, isOpened: isUsable(part, input, claims) });
  }
  return {
    claims,
    parts,
    tie: group === undefined ? sharedDataClusterOf(input, claims) : group.settledHome,
  };
}

/** What could be shared, but by no other cluster: its workloads are where it is. Whoever wants it elsewhere does not matter, or it would come and go. */
function sharedDataClusterOf(
  input: VolumesInput,
  decisions: ReadonlyMap<string, ClaimDecision>,
): string | undefined {
  for (const claim of input.claims) {
    const home = decisions.get(claim.name)?.home;
    if (home === undefined || input.sight(home) === "gone") continue;
    if (volumeRefusalOf(withoutMigration(claim), home, home, input) !== undefined) return home;
  }
  return undefined;
}

export interface VolumeRefusal {
  readonly reason: string;
  readonly message: string;
}

/** `copied`: all copies are made, and not all are bound. */
type GroupEvent = ClaimEvent | "copied";

interface ClaimGroupState {
  /** The cluster that has the data now. */
  readonly home: string | undefined;
  /** After this look. */
  readonly settledHome: string | undefined;
  readonly destination: string | undefined;
  /** Where somebody wants it, allowed or not. */
  readonly asked: string | undefined;
  readonly event: GroupEvent;
  readonly refusal: VolumeRefusal | undefined;
}

/** All claims of a group move together, or none does. */
function exclusiveGroup(input: VolumesInput): ClaimGroupState {
  const { claims, parts, sight } = input;
  const home = claims.find((claim) => claim.home !== undefined)?.home ?? firstPlace(input);
  const asked = parts
    .filter(
      ({ takesOverFrom, replicas, isGoing }) =>
        takesOverFrom !== undefined && takesOverFrom === home && replicas > 0 && !isGoing,
    )
    .map(({ cluster }) => cluster)
    .sort()[0];
  const destination = asked ?? home;
  const settled = { home, settledHome: home, destination, asked, refusal: undefined };
  const moving = claims.filter((claim) => (claim.home ?? home) !== destination);
  if (destination === undefined || moving.length === 0) return { ...settled, event: "bound" };
  const origins = new Set(moving.map((claim) => claim.home ?? home ?? ""));
  if ([...origins].some((origin) => sight(origin) === "lost")) return { ...settled, event: "lost" };
  const refusal =
    moving.map((claim) => volumeRefusalOf(claim, home, destination, input)).find(Boolean) ??
    volumeInUseBy(moving, destination, parts) ??
    moving.map((claim) => overdue(claim, migrationOf(claim, settled), input)).find(Boolean);
  if (refusal !== undefined) return { ...settled, destination: home, event: "refusal", refusal };
  if (moving.some((claim) => !claim.volumes.has(claim.home ?? "")))
    return { ...settled, destination: home, event: "undecided" };
  if (moving.some((claim) => isOutdated(claim, migrationOf(claim, settled))))
    return { ...settled, destination: home, event: "outdated" };
  const event = migrationObstacle(moving, settled, input);
  return { ...settled, event, settledHome: event === "free" ? destination : home };
}

function migrationOf(
  claim: VolumeClaim,
  { home, asked }: Pick<ClaimGroupState, "home" | "asked">,
): ClaimMigration {
  const from = claim.home ?? home ?? "";
  return { home: from, destination: asked ?? from };
}

/** What is still in the way. Whatever is not the destination must be at rest. */
function migrationObstacle(
  moving: readonly VolumeClaim[],
  group: Pick<ClaimGroupState, "home" | "asked">,
  input: VolumesInput,
): GroupEvent {
  const elsewhere = input.parts.filter((part) => part.cluster !== group.asked);
  if (elsewhere.some(isRunning)) return "running";
  if (input.claims.some((claim) => isAttachedElsewhere(claim, group.asked))) return "attached";
  const copied = moving.filter(({ copier }) => copier !== undefined);
  if (copied.some((claim) => copyFor(claim, migrationOf(claim, group)) === undefined))
    return "uncopied";
  return copied.every((claim) => isBoundAtDestination(claim, migrationOf(claim, group)))
    ? "free"
    : "copied";
}

function isAttachedElsewhere(
  { volumes, isShared }: VolumeClaim,
  destination: string | undefined,
): boolean {
  if (isShared) return false;
  return [...volumes].some(([cluster, { isAttached }]) => cluster !== destination && isAttached);
}

/** What many clusters can have is bound there, and not copied. */
export function withoutMigration(claim: VolumeClaim): VolumeClaim {
  return { ...claim, copier: undefined, request: undefined };
}

/** Where there is a volume already, or where most replicas are to be. */
function firstPlace({ claims, parts }: VolumesInput): string | undefined {
  const bound = claims.flatMap(({ boundIn }) => [...boundIn]).sort()[0];
  if (bound !== undefined) return bound;
  const wanted = parts.filter(({ replicas, isGoing }) => replicas > 0 && !isGoing);
  return [...wanted].sort((a, b) => b.replicas - a.replicas || order(a.cluster, b.cluster))[0]
    ?.cluster;
}

function decideExclusive(
  claim: VolumeClaim,
  group: ClaimGroupState,
  input: VolumesInput,
): ClaimDecision {
  const { home, destination, settledHome, refusal } = group;
  const own = settledHome === destination ? destination : (claim.home ?? home);
  const asking = input.parts.filter(
    (part) => part.takesOverFrom === home && part.replicas > 0 && part.cluster !== own,
  );
  const places = new Map<string, ClaimClusterState>();
  const clusters = new Set([...claim.assigned, ...asking.map(({ cluster }) => cluster)]);
  if (own !== undefined) clusters.add(own);
  for (const cluster of [...clusters].sort()) {
    const found =
      cluster === own
        ? eventInDataCluster(claim, cluster)
        : asking.some((part) => part.cluster === cluster)
          ? eventOnTheWay(claim, cluster, group)
          : leftEvent(claim, cluster, own, input);
    places.set(cluster, place(claim, cluster, found, refusal));
  }
  const request = requestAfter(claim, group, input);
  return { home: own, ...dataClusterMessage(claim, own, places), request };
}

/** What is found of a claim that has not arrived. */
function eventOnTheWay(claim: VolumeClaim, cluster: string, group: ClaimGroupState): ClaimEvent {
  const { event } = group;
  const { home } = migrationOf(claim, group);
  const isReplaceable = claim.boundIn.has(home) && event !== "lost" && event !== "bound";
  if (isReplaceable && isOutdated(claim, { home, destination: cluster })) return "outdated";
  if (event === "outdated") return "undecided";
  if (event !== "copied") return event;
  return claim.copier === undefined ? "uncopied" : "free";
}

const isFencedOrClosed = (destination: string) => (part: VolumeUser) =>
  part.cluster === destination || part.isFenced || !part.isOpened;

/** A copy is asked for as long as nothing can change what it is of; one that was given up is remembered as long as somebody wants it. */
function requestAfter(
  claim: VolumeClaim,
  group: ClaimGroupState,
  input: VolumesInput,
): VolumeCopyRequest | undefined {
  const { event, asked, refusal } = group;
  const journey = migrationOf(claim, group);
  const isMoving = asked !== undefined && journey.home !== asked;
  if (claim.copier === undefined || !isMoving) return undefined;
  const known = copyRequestFor(claim, journey);
  // A cluster that is behind with telling has the fence all the same; whoever takes that away voids the copy first.
  if (event === "lost" || (event === "running" && input.parts.every(isFencedOrClosed(asked))))
    return known;
  if (event === "refusal") {
    if (known?.failure !== undefined) return known;
    const isGivenUp = refusal?.reason === "SnapshotFailed" && known !== undefined;
    return isGivenUp ? { ...known, failure: refusal } : undefined;
  }
  if (event !== "uncopied" && event !== "copied") return undefined;
  const { home: from, destination: to } = journey;
  return known ?? { id: claim.version, from, to, sinceMs: input.nowMs ?? 0 };
}

function decideShared(claim: VolumeClaim, input: VolumesInput): ClaimDecision {
  const home = sharedDataCluster(claim, input);
  const places = new Map<string, ClaimClusterState>();
  const wanted = input.parts.filter(({ replicas, isGoing }) => replicas > 0 && !isGoing);
  const clusters = new Set([...claim.assigned, ...wanted.map(({ cluster }) => cluster)]);
  if (home !== undefined) clusters.add(home);
  for (const cluster of [...clusters].sort()) {
    const isWanted = wanted.some((part) => part.cluster === cluster);
    const [found, refusal] =
      cluster === home
        ? [eventInDataCluster(claim, cluster), undefined]
        : isWanted
          ? sharedEvent(claim, home, cluster, input)
          : [leftEvent(claim, cluster, home, input), undefined];
    places.set(cluster, place(claim, cluster, found, refusal));
  }
  return { home, ...dataClusterMessage(claim, home, places), request: undefined };
}

/** The data of what can be shared is wherever it is bound: when its first place is left, another one stands for it. */
function sharedDataCluster(claim: VolumeClaim, input: VolumesInput): string | undefined {
  const home = claim.home ?? firstPlace({ ...input, claims: [claim] });
  if (home === undefined || isInUse(home, input)) return home;
  const other = [...claim.boundIn].filter((one) => one !== home && isInUse(one, input)).sort()[0];
  return other ?? home;
}

function sharedEvent(
  claim: VolumeClaim,
  home: string | undefined,
  cluster: string,
  input: VolumesInput,
): readonly [ClaimEvent, VolumeRefusal | undefined] {
  if (claim.boundIn.has(cluster)) return ["bound", undefined];
  if (home === undefined) return ["undecided", undefined];
  if (input.sight(home) === "lost") return ["lost", undefined];
  const refusal = volumeRefusalOf(withoutMigration(claim), home, cluster, input);
  if (refusal !== undefined) return ["refusal", refusal];
  return [claim.volumes.has(home) ? "free" : "undecided", undefined];
}

function eventInDataCluster(claim: VolumeClaim, cluster: string): ClaimEvent {
  return claim.boundIn.has(cluster) ? "bound" : "free";
}

function leftEvent(
  claim: VolumeClaim,
  cluster: string,
  home: string | undefined,
  input: VolumesInput,
): ClaimEvent {
  if (!claim.assigned.has(cluster)) return "unwanted";
  const isReplaced = home !== undefined && home !== cluster && claim.boundIn.has(home);
  // A copy may be bound and of no use: what it was made of stays until the workload has begun with it.
  const hasBegun =
    claim.copier === undefined ||
    input.parts.every((part) => part.cluster !== home || part.hasStarted !== false);
  const canBeLeft =
    !isInUse(cluster, input) && isReplaced && hasBegun && input.sight(cluster) !== "lost";
  return canBeLeft ? "unneeded" : "bound";
}

function isInUse(cluster: string, { parts }: Pick<VolumesInput, "parts">): boolean {
  return parts.some((part) => part.cluster === cluster);
}

function place(
  claim: VolumeClaim,
  cluster: string,
  event: ClaimEvent,
  refusal: VolumeRefusal | undefined,
): ClaimClusterState {
  const state = nextClaimState(claim.states.get(cluster) ?? "absent", event);
  const isUnderWay = claim.copier !== undefined && (state === "copying" || state === "binding");
  return { state, ...(state === "refused" ? refusal : isUnderWay ? claim.progress : undefined) };
}

const present: ReadonlySet<ClaimState> = new Set(["binding", "bound"]);

function dataClusterMessage(
  claim: VolumeClaim,
  home: string | undefined,
  places: ReadonlyMap<string, ClaimClusterState>,
): Pick<ClaimDecision, "places" | "assigned" | "opened" | "brought"> {
  const assigned = new Set<string>();
  const opened = new Set<string>();
  const brought = new Map<string, MigratedVolume>();
  for (const [cluster, { state }] of places) {
    if (state === "releasing" || state === "absent") continue;
    if (!present.has(state)) {
      // Who assigned it is not contradicted: it is not opened, which is enough.
      if (claim.assigned.has(cluster)) assigned.add(cluster);
      continue;
    }
    assigned.add(cluster);
    opened.add(cluster);
    const from = cluster === home || claim.copier !== undefined ? claim.home : home;
    if (from === undefined || from === cluster) continue;
    const wasThere = claim.states.get(cluster) === "bound" || claim.boundIn.has(cluster);
    if (wasThere) continue;
    const journey = { home: from, destination: cluster };
    const isCopy = claim.copier !== undefined;
    const name = isCopy ? copyFor(claim, journey) : migratedVolumeName(claim, journey);
    const isBrought =
      claim.broughtTo.has(cluster) && (!isCopy || claim.broughtTo.get(cluster) === name);
    if (name !== undefined && !isBrought) brought.set(cluster, { from, name, isCopy });
  }
  return { places, assigned, opened, brought };
}

/** Undefined where there is nothing particular about it. */
function fencing(
  part: VolumeUser,
  { home, destination, settledHome }: ClaimGroupState,
  input: VolumesInput,
): VolumeUserDecision | undefined {
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
  part: VolumeUser,
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
