/**
 * The decision about the claims that some workloads share, and about the per-cluster objects of
 * these workloads. Pure; the controller makes the writes.
 *
 * Claims that can be shared (ReadWriteMany, ReadOnlyMany) are bound in all clusters of their
 * workloads, to the same storage. All others are in one cluster at a time: a move stops the
 * workloads there, waits until the volume is detached, and only then binds it in the other cluster.
 * It is the only move that breaks before it makes, so it must be permitted on the claim, and all
 * possible reasons against it are checked first.
 *
 * Invariants:
 * 1. A workload that uses a claim that cannot be shared is started in a cluster only while none of
 *    its Pods run, and none of its volumes are attached, in any other cluster.
 * 2. No workload is stopped for a move that is rejected.
 * 3. A claim is removed from a cluster only when no workload is there any more and another cluster
 *    has it bound; a copied claim only when the workload also runs there.
 * 4. A copy counts when it is bound. Until then the data is in the source cluster, and all
 *    workloads can start there again (`volume-copies.ts`).
 * 5. No claim is removed from an unobserved cluster, and no workload is started in its place.
 */
import { type ClaimEvent, type ClaimState, nextClaimState } from "./claim-machine.ts";
import { isRunning, volumeInUseBy, volumeRefusalOf } from "./refusals.ts";
import type { ClusterStorage } from "./snapshot-transfer.ts";
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
} from "./volume-copies.ts";

/** Storage as a cluster knows it. */
export interface Volume {
  readonly name: string;
  /** The volume outlives its claim. */
  readonly isRetained: boolean;
  /** Another cluster can reach the storage. */
  readonly isPortable: boolean;
  readonly isAttached: boolean;
  /** The identity of the storage: equal values in two clusters mean the same data. */
  readonly storage: string;
  /** The CSI driver. */
  readonly driver?: string | undefined;
}

export interface VolumeClaim {
  readonly name: string;
  readonly uid: string;
  /** The claim's resourceVersion: it differs after every change of the claim. */
  readonly version: string;
  readonly isShared: boolean;
  /** The cluster that has the data; undefined before there is any. */
  readonly dataCluster: string | undefined;
  readonly mayDetach: boolean;
  /** The claim's StorageClass. */
  readonly storageClass?: string | undefined;
  /**
   * The copier that copies the volume to another cluster; undefined if the storage itself is
   * reachable there.
   */
  readonly copier: VolumeCopier | undefined;
  /** The requested copy, and its result: a volume, or a snapshot in the other cluster. */
  readonly request: VolumeCopyRequest | undefined;
  readonly copied: string | undefined;
  /** The progress of the copy. */
  readonly progress?: VolumeRefusal | undefined;
  readonly states: ReadonlyMap<string, ClaimState>;
  /** The clusters that the claim is assigned to, and (`boundIn`) those in which it is bound. */
  readonly assigned: ReadonlySet<string>;
  readonly boundIn: ReadonlySet<string>;
  /** The clusters in which the claim is, or may be. */
  readonly heldIn: ReadonlySet<string>;
  /**
   * The clusters in which the claim is to have a migrated volume, with the name of the volume or of
   * a snapshot.
   */
  readonly migratedTo: ReadonlyMap<string, string>;
  readonly volumes: ReadonlyMap<string, Volume>;
}

/** A per-cluster object of a workload. */
export interface VolumeUser {
  readonly workload: string;
  readonly cluster: string;
  readonly replicas: number;
  readonly isDeleting: boolean;
  /** The cluster reports that none of its Pods run. */
  readonly isStopped: boolean;
  readonly migrationSource: string | undefined;
  /** Whether the object may be, or is, in the cluster; and whether it may run there. */
  readonly isVolumeGateOpen: boolean;
  readonly isFenced: boolean;
  /** The object cannot be stopped: it runs to completion in its cluster. */
  readonly endsByItself?: boolean;
  /** The cluster reports that the object has started; true if omitted. */
  readonly hasStarted?: boolean;
}

export type ClusterVisibility = "Reachable" | "Unreachable" | "Unregistered";

export interface VolumesInput {
  readonly claims: readonly VolumeClaim[];
  readonly users: readonly VolumeUser[];
  readonly visibilityOf: (cluster: string) => ClusterVisibility;
  /** Whether PersistentVolumes of the cluster are observed; true if omitted. */
  readonly showsVolumes?: (cluster: string) => boolean;
  /** The storage and snapshot classes in a cluster; undefined where they are not observed. */
  readonly storageOf?: (cluster: string) => ClusterStorage | undefined;
  readonly nowMs?: number;
  /** How long workloads stay stopped for a snapshot. */
  readonly copyTimeoutMs?: number;
}

export interface ClaimClusterState {
  readonly state: ClaimState;
  readonly reason?: string;
  readonly message?: string;
}

export interface ClaimDecision {
  readonly dataCluster: string | undefined;
  readonly clusters: ReadonlyMap<string, ClaimClusterState>;
  /** The desired clusters. */
  readonly assigned: ReadonlySet<string>;
  /** The clusters in which the claim may be created. */
  readonly openedIn: ReadonlySet<string>;
  /**
   * Where the volume of another cluster is to be bound: by cluster, the source cluster and the name
   * of the volume.
   */
  readonly migrated: ReadonlyMap<string, MigratedVolume>;
  /** The copy that is requested from now on. */
  readonly request: VolumeCopyRequest | undefined;
}

export interface MigratedVolume {
  readonly from: string;
  readonly name: string;
  /** A copier has created it. */
  readonly isCopy: boolean;
}

export interface VolumeUserDecision {
  /** No Pod of the object may run in the cluster. */
  readonly isFenced: boolean;
  readonly isVolumeGateOpen: boolean;
}

export interface VolumesDecision {
  readonly claims: ReadonlyMap<string, ClaimDecision>;
  readonly users: ReadonlyMap<VolumeUser, VolumeUserDecision>;
  /** The cluster that these workloads must be in, if it must be one. */
  readonly dataCluster: string | undefined;
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
  const users = new Map<VolumeUser, VolumeUserDecision>();
  for (const part of input.users) {
    const decision = group === undefined ? undefined : fencing(part, group, input);
    users.set(
      part,
      decision ?? { isFenced: false, isVolumeGateOpen: isUsable(part, input, claims) },
    );
  }
  return {
    claims,
    users,
    dataCluster:
      group === undefined ? sharedDataClusterOf(input, claims) : group.confirmedDataCluster,
  };
}

/**
 * A shareable volume that no other cluster can reach pins its workloads. Requests for other
 * clusters are ignored; otherwise the pin would flap.
 */
function sharedDataClusterOf(
  input: VolumesInput,
  decisions: ReadonlyMap<string, ClaimDecision>,
): string | undefined {
  for (const claim of input.claims) {
    const dataCluster = decisions.get(claim.name)?.dataCluster;
    if (dataCluster === undefined || input.visibilityOf(dataCluster) === "Unregistered") continue;
    if (volumeRefusalOf(withoutMigration(claim), dataCluster, dataCluster, input) !== undefined)
      return dataCluster;
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
  readonly dataCluster: string | undefined;
  /** The cluster that has the data after this decision. */
  readonly confirmedDataCluster: string | undefined;
  readonly destination: string | undefined;
  /** The requested cluster, permitted or not. */
  readonly request: string | undefined;
  readonly event: GroupEvent;
  readonly refusal: VolumeRefusal | undefined;
}

/** All claims of a group move together, or none does. */
function exclusiveGroup(input: VolumesInput): ClaimGroupState {
  const { claims, users, visibilityOf } = input;
  const dataCluster =
    claims.find((claim) => claim.dataCluster !== undefined)?.dataCluster ?? firstPlace(input);
  const request = users
    .filter(
      ({ migrationSource, replicas, isDeleting }) =>
        migrationSource !== undefined &&
        migrationSource === dataCluster &&
        replicas > 0 &&
        !isDeleting,
    )
    .map(({ cluster }) => cluster)
    .sort()[0];
  const destination = request ?? dataCluster;
  const settled = {
    dataCluster,
    confirmedDataCluster: dataCluster,
    destination,
    request,
    refusal: undefined,
  };
  const moving = claims.filter((claim) => (claim.dataCluster ?? dataCluster) !== destination);
  if (destination === undefined || moving.length === 0) return { ...settled, event: "bound" };
  const origins = new Set(moving.map((claim) => claim.dataCluster ?? dataCluster ?? ""));
  if ([...origins].some((origin) => visibilityOf(origin) === "Unreachable"))
    return { ...settled, event: "lost" };
  const refusal =
    moving.map((claim) => volumeRefusalOf(claim, dataCluster, destination, input)).find(Boolean) ??
    volumeInUseBy(moving, destination, users) ??
    moving.map((claim) => overdue(claim, migrationOf(claim, settled), input)).find(Boolean);
  if (refusal !== undefined)
    return { ...settled, destination: dataCluster, event: "refusal", refusal };
  if (moving.some((claim) => !claim.volumes.has(claim.dataCluster ?? "")))
    return { ...settled, destination: dataCluster, event: "undecided" };
  if (moving.some((claim) => isOutdated(claim, migrationOf(claim, settled))))
    return { ...settled, destination: dataCluster, event: "outdated" };
  const event = migrationObstacle(moving, settled, input);
  return { ...settled, event, confirmedDataCluster: event === "free" ? destination : dataCluster };
}

function migrationOf(
  claim: VolumeClaim,
  { dataCluster, request }: Pick<ClaimGroupState, "dataCluster" | "request">,
): ClaimMigration {
  const from = claim.dataCluster ?? dataCluster ?? "";
  return { source: from, destination: request ?? from };
}

/** The reason that still blocks the move. All clusters but the destination must have stopped. */
function migrationObstacle(
  moving: readonly VolumeClaim[],
  group: Pick<ClaimGroupState, "dataCluster" | "request">,
  input: VolumesInput,
): GroupEvent {
  const elsewhere = input.users.filter((part) => part.cluster !== group.request);
  if (elsewhere.some(isRunning)) return "running";
  if (input.claims.some((claim) => isAttachedElsewhere(claim, group.request))) return "attached";
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

/** A volume that many clusters can share is bound in each, and not copied. */
export function withoutMigration(claim: VolumeClaim): VolumeClaim {
  return { ...claim, copier: undefined, request: undefined };
}

/** The cluster that has a volume already, or the one with the most desired replicas. */
function firstPlace({ claims, users }: VolumesInput): string | undefined {
  const bound = claims.flatMap(({ boundIn }) => [...boundIn]).sort()[0];
  if (bound !== undefined) return bound;
  const wanted = users.filter(({ replicas, isDeleting }) => replicas > 0 && !isDeleting);
  return [...wanted].sort((a, b) => b.replicas - a.replicas || order(a.cluster, b.cluster))[0]
    ?.cluster;
}

function decideExclusive(
  claim: VolumeClaim,
  group: ClaimGroupState,
  input: VolumesInput,
): ClaimDecision {
  const { dataCluster, destination, confirmedDataCluster, refusal } = group;
  const own =
    confirmedDataCluster === destination ? destination : (claim.dataCluster ?? dataCluster);
  const asking = input.users.filter(
    (part) => part.migrationSource === dataCluster && part.replicas > 0 && part.cluster !== own,
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
  return { dataCluster: own, ...dataClusterMessage(claim, own, places), request };
}

/** The event of a claim that has not arrived. */
function eventOnTheWay(claim: VolumeClaim, cluster: string, group: ClaimGroupState): ClaimEvent {
  const { event } = group;
  const { source } = migrationOf(claim, group);
  const isReplaceable = claim.boundIn.has(source) && event !== "lost" && event !== "bound";
  if (isReplaceable && isOutdated(claim, { source, destination: cluster })) return "outdated";
  if (event === "outdated") return "undecided";
  if (event !== "copied") return event;
  return claim.copier === undefined ? "uncopied" : "free";
}

const isFencedOrClosed = (destination: string) => (part: VolumeUser) =>
  part.cluster === destination || part.isFenced || !part.isVolumeGateOpen;

/**
 * A copy stays requested as long as its source cannot change; a failed one is recorded as long as
 * the move is requested.
 */
function requestAfter(
  claim: VolumeClaim,
  group: ClaimGroupState,
  input: VolumesInput,
): VolumeCopyRequest | undefined {
  const { event, request, refusal } = group;
  const journey = migrationOf(claim, group);
  const isMoving = request !== undefined && journey.source !== request;
  if (claim.copier === undefined || !isMoving) return undefined;
  const known = copyRequestFor(claim, journey);
  // A cluster whose report is late is fenced all the same; removing the fence invalidates the copy
  // first.
  if (event === "lost" || (event === "running" && input.users.every(isFencedOrClosed(request))))
    return known;
  if (event === "refusal") {
    if (known?.failure !== undefined) return known;
    const isGivenUp = refusal?.reason === "SnapshotFailed" && known !== undefined;
    return isGivenUp ? { ...known, failure: refusal } : undefined;
  }
  if (event !== "uncopied" && event !== "copied") return undefined;
  const { source: from, destination: to } = journey;
  return known ?? { id: claim.version, from, to, sinceMs: input.nowMs ?? 0 };
}

function decideShared(claim: VolumeClaim, input: VolumesInput): ClaimDecision {
  const dataCluster = sharedDataCluster(claim, input);
  const places = new Map<string, ClaimClusterState>();
  const wanted = input.users.filter(({ replicas, isDeleting }) => replicas > 0 && !isDeleting);
  const clusters = new Set([...claim.assigned, ...wanted.map(({ cluster }) => cluster)]);
  if (dataCluster !== undefined) clusters.add(dataCluster);
  for (const cluster of [...clusters].sort()) {
    const isWanted = wanted.some((part) => part.cluster === cluster);
    const [found, refusal] =
      cluster === dataCluster
        ? [eventInDataCluster(claim, cluster), undefined]
        : isWanted
          ? sharedEvent(claim, dataCluster, cluster, input)
          : [leftEvent(claim, cluster, dataCluster, input), undefined];
    places.set(cluster, place(claim, cluster, found, refusal));
  }
  return { dataCluster, ...dataClusterMessage(claim, dataCluster, places), request: undefined };
}

/**
 * The data of a shared claim is in every cluster where it is bound: when its first cluster is left,
 * another one replaces it.
 */
function sharedDataCluster(claim: VolumeClaim, input: VolumesInput): string | undefined {
  const home = claim.dataCluster ?? firstPlace({ ...input, claims: [claim] });
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
  if (input.visibilityOf(home) === "Unreachable") return ["lost", undefined];
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
  // A bound copy may be unusable: the source stays until the workload has started with the copy.
  const hasBegun =
    claim.copier === undefined ||
    input.users.every((part) => part.cluster !== home || part.hasStarted !== false);
  const canBeLeft =
    !isInUse(cluster, input) &&
    isReplaced &&
    hasBegun &&
    input.visibilityOf(cluster) !== "Unreachable";
  return canBeLeft ? "unneeded" : "bound";
}

function isInUse(cluster: string, { users }: Pick<VolumesInput, "users">): boolean {
  return users.some((part) => part.cluster === cluster);
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
  clusters: ReadonlyMap<string, ClaimClusterState>,
): Pick<ClaimDecision, "clusters" | "assigned" | "openedIn" | "migrated"> {
  const assigned = new Set<string>();
  const openedIn = new Set<string>();
  const migrated = new Map<string, MigratedVolume>();
  for (const [cluster, { state }] of clusters) {
    if (state === "releasing" || state === "absent") continue;
    if (!present.has(state)) {
      // A user's assignment is not changed: the closed gate suffices.
      if (claim.assigned.has(cluster)) assigned.add(cluster);
      continue;
    }
    assigned.add(cluster);
    openedIn.add(cluster);
    const from = cluster === home || claim.copier !== undefined ? claim.dataCluster : home;
    if (from === undefined || from === cluster) continue;
    const wasThere = claim.states.get(cluster) === "bound" || claim.boundIn.has(cluster);
    if (wasThere) continue;
    const journey = { source: from, destination: cluster };
    const isCopy = claim.copier !== undefined;
    const name = isCopy ? copyFor(claim, journey) : migratedVolumeName(claim, journey);
    const isBrought =
      claim.migratedTo.has(cluster) && (!isCopy || claim.migratedTo.get(cluster) === name);
    if (name !== undefined && !isBrought) migrated.set(cluster, { from, name, isCopy });
  }
  return { clusters, assigned, openedIn, migrated };
}

/** Undefined where no fence or gate applies. */
function fencing(
  part: VolumeUser,
  { dataCluster, destination, confirmedDataCluster }: ClaimGroupState,
  input: VolumesInput,
): VolumeUserDecision | undefined {
  const isAtHome = part.cluster === dataCluster && part.cluster === confirmedDataCluster;
  // An object with an open gate may exist in the cluster: the gate stays open, with 0 replicas.
  if (part.cluster !== destination || !isAtHome)
    return { isFenced: part.isVolumeGateOpen, isVolumeGateOpen: part.isVolumeGateOpen };
  const others = input.users.filter((one) => one.cluster !== part.cluster);
  const isFree =
    !others.some(isRunning) &&
    input.claims.every((claim) => !isAttachedElsewhere(claim, part.cluster));
  return isFree ? undefined : { isFenced: part.isFenced, isVolumeGateOpen: part.isVolumeGateOpen };
}

/**
 * A claim that was created in its cluster may wait for its first Pod to get a volume; a migrated
 * claim may not.
 */
function isUsable(
  part: VolumeUser,
  input: VolumesInput,
  decisions: ReadonlyMap<string, ClaimDecision>,
): boolean {
  return input.claims.every((claim) => {
    const { dataCluster, migrated } = decisions.get(claim.name) as ClaimDecision;
    if (claim.boundIn.has(part.cluster)) return true;
    const wasBrought = migrated.has(part.cluster) || claim.migratedTo.has(part.cluster);
    return part.cluster === dataCluster && claim.dataCluster !== undefined && !wasBrought;
  });
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
