/**
 * The volume controller: one for all logical clusters, with a namespace as its key. It reads the
 * state, and makes the writes that `decide-volumes.ts` decides, as annotations and labels that
 * syncers follow. Only the readiness of clusters is read from a cache.
 *
 * The order of the writes matters, because the controller may stop after any of them: first the
 * fences, then the clusters of claims and their data, then the pins of workloads, and last the
 * gates that let workloads start.
 */
import { type Clock, systemClock, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  type Clusters,
  Controller,
  EventRecorder,
  formatKey,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import {
  dependenciesOn,
  type NamedTarget,
  ownedByLabel,
  type SyncTarget,
  syncTargets,
  targetNameIn,
  type WorkloadStrategy,
  workloadPlacementName,
  workloadPlacements,
  workloadStrategies,
} from "../api/index.ts";
import {
  type ClusterInfo,
  claimTemplatesOf,
  clusterInfoOf,
  isUnassigned,
  type MetadataInformers,
  metadataAndTargets,
  metadataClusters,
  ownerLabelValue,
  syncsClaims,
} from "../coordination/index.ts";
import { downstreamNamespace } from "../syncer/index.ts";
import { type ClaimGroup, claimGroupsOf } from "./claim-groups.ts";
import { customKinds } from "./custom-kinds.ts";
import {
  type ClusterVisibility,
  decideVolumes,
  type VolumesInput,
  type VolumeUser,
} from "./decide-volumes.ts";
import { listed } from "./listed.ts";
import {
  type ClaimUserKind,
  claimUserKinds,
  persistentVolumeClaims,
  persistentVolumes,
  type StoredObject,
  statefulSets,
  storageClasses,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from "./objects.ts";
import { claimFrom, isComplete, type OrdinalSet, ordinalSetOf } from "./ordinal-users.ts";
import {
  claimsUsedBy,
  type KnownVolume,
  volumeClaimOf,
  volumeOf,
  volumeUserOf,
} from "./read-claims.ts";
import {
  concernsSnapshots,
  type NamespaceStorage,
  readStorage,
  snapshotsFor,
  storageIn,
} from "./read-snapshots.ts";
import { retentionOf } from "./retention.ts";
import { SnapshotWrites } from "./snapshot-writes.ts";
import {
  type FoundClaim,
  type FoundCopy,
  type FoundWorkload,
  type GroupWork,
  type VolumeCluster,
  VolumeWrites,
} from "./volume-writes.ts";

/** The SyncTargets that logical clusters use, their own and those of others. */
export interface UsedTargets extends Clusters {
  /** The workspaces that use the clusters of this one. */
  tenantsOf(home: ClusterName): readonly ClusterName[];
}

export interface VolumesOptions {
  /** A client of the server, for all logical clusters, which may do everything. */
  readonly client: Client;
  /** The watches of SyncTargets; the caller runs them. */
  readonly targets: UsedTargets;
  /** The SyncTarget that a name in a logical cluster refers to. */
  readonly targetOf: (cluster: string, target: string) => NamedTarget;
  /** The metadata watches that controllers share; watches of its own if omitted. */
  readonly metadata?: MetadataInformers | undefined;
  readonly clock?: Clock;
  /**
   * How long workloads stay stopped for a snapshot that does not finish; then they start again in
   * the source cluster.
   */
  readonly copyTimeoutMs?: number;
  /** The number of namespaces that are reconciled concurrently. */
  readonly concurrency?: number;
  /** Reports an error that is retried. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Volumes {
  /**
   * Runs until the signal aborts, and resolves when all operations in flight have finished. Called
   * once.
   */
  run(signal: AbortSignal): Promise<void>;
}

const concurrencyDefault = 4;
const copyPatienceMsDefault = 600_000;
/**
 * Changes of other objects show what a syncer does with the annotations; this requeue covers a
 * missed one.
 */
const lookAgainMs = 10_000;
/** A namespace is read as a whole, at most this often: changes in a burst are read together. */
const readIntervalMs = 50;

export function volumes(options: VolumesOptions): Volumes {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const clusters = metadataAndTargets({ ...options, clock, onError });
  const events = new EventRecorder({
    component: "volumes",
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const seenClaims = clusters.source(persistentVolumeClaims).store;
  const usedTargets = clusters.source<SyncTarget, string>(syncTargets, { transform: nameOf }).store;
  const seenSets = clusters.source(statefulSets).store;
  const strategies = options.targets.source(workloadStrategies);
  const seen = { seenClaims, seenSets, usedTargets, strategies: strategies.store };
  const work = { ...options, clock, events, ...seen, readAtMs: new Map<string, number>() };
  const ofNamespace = (_object: KubernetesObject, { cluster, namespace }: ObjectKey) => [
    { cluster, namespace, name: "" },
  ];
  /** Volumes and clusters have no namespace: all namespaces with claims are reconciled. */
  const ofCluster = (_object: unknown, { cluster }: Pick<ObjectKey, "cluster">) => {
    const seen = [...seenClaims.list({ cluster }), ...seenSets.list({ cluster })];
    const namespaces = new Set(seen.map((one) => one.metadata.namespace));
    return [...namespaces].map((namespace = "") => ({ cluster, namespace, name: "" }));
  };
  /**
   * Volumes are in the SyncTarget's logical cluster, claims in all logical clusters that use it.
   */
  const ofUsers = (object: unknown, key: ObjectKey) =>
    [key.cluster, ...options.targets.tenantsOf(key.cluster)].flatMap((cluster) =>
      ofCluster(object, { cluster }),
    );
  const controller = new Controller({
    name: "volumes",
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { signal }) => reconcile(key, work, signal),
  })
    .watch(persistentVolumeClaims, { map: ofNamespace })
    .watch(persistentVolumes, { map: ofUsers })
    .watch(volumeSnapshots, { map: ofNamespace })
    .watch(volumeSnapshotContents, { map: ofUsers })
    .watch(volumeSnapshotClasses, { map: ofUsers })
    .watch(storageClasses, { map: ofUsers })
    .watch<SyncTarget, ClusterInfo>(syncTargets, { transform: clusterInfoOf, map: ofCluster });
  const predicate = ({ object }: { readonly object: KubernetesObject }) => isConcerned(object);
  for (const resource of [workloadPlacements, ...claimUserKinds.map((one) => one.resource)])
    controller.watch<KubernetesObject>(resource, { predicate, map: ofNamespace });
  const watching = { ...work, clock, onError, concurrency, predicate, map: ofNamespace };
  return {
    async run(signal) {
      const running = new TaskGroup(signal);
      const watched = new Set<string>();
      const look = (strategy: WorkloadStrategy) => {
        for (const { resource } of customKinds([strategy])) {
          const name = `${resource.resource}.${resource.version}.${resource.group}`;
          if (watched.has(name)) continue;
          watched.add(name);
          running.start((stop) => watchCustom(resource, watching, stop));
        }
      };
      strategies.addHandler({ added: look, updated: look });
      const manager = new Manager({ clusters: [clusters], controllers: [controller] });
      running.start((stop) => manager.run(stop));
      await running.join();
      await events.flush();
    },
  };
}

/**
 * Watches a kind that appeared later. Two reconciles of one namespace at the same time are
 * harmless: writes have the observed version as a precondition.
 */
async function watchCustom(
  resource: Resource<StoredObject>,
  work: Work & {
    readonly clock: Clock;
    readonly concurrency: number;
    readonly predicate: (change: { readonly object: KubernetesObject }) => boolean;
    readonly map: (object: KubernetesObject, key: ObjectKey) => readonly ObjectKey[];
  },
  signal: AbortSignal,
): Promise<void> {
  const { clock, onError, concurrency, predicate, map } = work;
  const clusters = metadataClusters(work);
  const controller = new Controller({
    name: `volumes of ${resource.resource}`,
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { signal: stop }) => reconcile(key, work, stop),
  }).watch(resource, { predicate, map });
  await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
}

const nameOf = ({ metadata }: SyncTarget) => metadata.name;

/**
 * Whether the object is a workload or a per-cluster object; upsynced objects, which may be
 * numerous, are not.
 */
function isConcerned(object: KubernetesObject): boolean {
  return isUnassigned(object) || object.metadata.labels?.[ownedByLabel] !== undefined;
}

interface Work extends VolumesOptions {
  readonly events: EventRecorder;
  readonly seenClaims: ObjectStore<KubernetesObject>;
  readonly seenSets: ObjectStore<KubernetesObject>;
  readonly strategies: ObjectStore<WorkloadStrategy>;
  /** The names of SyncTargets in the logical clusters that use them. */
  readonly usedTargets: ObjectStore<string>;
  readonly clock: Clock;
  /** When a namespace was last read, of those that may have volumes. */
  readonly readAtMs: Map<string, number>;
}

/** Nothing in the namespace uses volumes: most namespaces are ruled out without a request. */
async function isWithoutVolumes(
  key: ObjectKey,
  { client, seenClaims, seenSets }: Work,
  signal: AbortSignal,
): Promise<boolean> {
  const { cluster, namespace } = key;
  if (seenClaims.list({ cluster, namespace }).length > 0) return false;
  if (seenSets.list({ cluster, namespace }).length === 0) return true;
  const sets = await listed(client.inCluster(cluster), statefulSets, { namespace, signal });
  return sets.every((set) => claimTemplatesOf(set).length === 0);
}

async function reconcile(
  key: ObjectKey,
  work: Work,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const id = formatKey(key);
  const nowMs = work.clock.monotonic();
  const waitMs = (work.readAtMs.get(id) ?? Number.NEGATIVE_INFINITY) + readIntervalMs - nowMs;
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  if (await isWithoutVolumes(key, work, signal)) {
    work.readAtMs.delete(id);
    return;
  }
  work.readAtMs.set(id, nowMs);
  return reconcileVolumes(key, work, signal);
}

async function reconcileVolumes(
  key: ObjectKey,
  work: Work,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { cluster, namespace } = key;
  const client = work.client.inCluster(cluster);
  const [places, found] = await Promise.all([
    readPlaces(key, work, signal),
    read(client, namespace, signal, customKinds(work.strategies.list({ cluster }))),
  ]);
  const storage = found.claims.some(concernsSnapshots)
    ? await readStorage({ client, namespace, homes: places.homes, signal })
    : undefined;
  const view = viewOf(places.targets, storage, work);
  const { clusters: podLocation, isManaged, storageOf } = view;
  const computeWorkspaces = [...places.homes.values()];
  const snapshots = new SnapshotWrites({
    client,
    signal,
    clusters: podLocation,
    storageOf,
    computeWorkspaces,
  });
  const context = {
    client,
    cluster,
    events: work.events,
    signal,
    whereabouts: podLocation,
    snapshots,
  };
  const writes = new VolumeWrites(context);
  const claims = new Map<string, FoundClaim>();
  for (const object of found.claims) {
    const { name } = object.metadata;
    const namespaceIn = (target: string) => podLocation(target)?.namespace;
    const own = storage && snapshotsFor(object, storage, places.targets);
    const claim = volumeClaimOf(object, places.volumes, { name, namespaceIn }, own);
    claims.set(name, { object, claim, snapshots: own });
  }
  let isSettled = true;
  for (const claim of claims.values()) if (await writes.release(claim)) isSettled = false;
  // The writes trigger another reconcile.
  if (!isSettled) return;
  const homeOf = (name: string) => claims.get(name)?.claim.dataCluster;
  const sets = found.workloads.flatMap((workload) => ordinalSetOf(workload, homeOf) ?? []);
  if (await makeClaims(sets, claims, isManaged, writes)) return;
  if (await retain(sets, found.claims, writes)) return;
  const isReady = (copy: FoundCopy) => {
    const set = sets.find(({ workload }) => workload.copies.includes(copy));
    if (set === undefined || !isManaged(copy.user.cluster)) return true;
    return isComplete(copy, set, (name) => claims.get(name));
  };
  const users = [...usersOf(found.workloads), ...sets.flatMap(ordinalUsersOf)];
  for (const group of claimGroupsOf(users)) {
    const decided = decideGroup(group, claims, view);
    if (decided === undefined) continue;
    isSettled = (await writes.applyDecision({ ...decided, isComplete: isReady })) && isSettled;
  }
  for (const { workload } of sets) {
    if (claimsUsedBy(workload.object, workload.kind).size > 0) continue;
    for (const copy of workload.copies) if (isReady(copy)) await writes.openGate(copy);
  }
  return isSettled ? undefined : { requeueAfterMs: lookAgainMs };
}

/** The state of clusters, by their names on objects. */
interface ClusterView
  extends Required<
    Pick<VolumesInput, "visibilityOf" | "showsVolumes" | "storageOf" | "nowMs" | "copyTimeoutMs">
  > {
  readonly clusters: (name: string) => VolumeCluster | undefined;
  /** Whether claims are synced to the cluster. */
  readonly isManaged: (name: string) => boolean;
}

function viewOf(
  targets: ReadonlyMap<string, TargetInWorkspace>,
  storage: NamespaceStorage | undefined,
  { clock, copyTimeoutMs = copyPatienceMsDefault }: Work,
): ClusterView {
  const known = (name: string) => {
    const target = targets.get(name)?.target;
    return target === undefined ? undefined : clusterInfoOf(target);
  };
  return {
    nowMs: clock.now(),
    copyTimeoutMs,
    clusters: (name) => targets.get(name),
    storageOf(name) {
      const place = targets.get(name);
      const known = place && storage?.known.get(place.computeWorkspace);
      return known && storageIn(place.target, known);
    },
    isManaged(name) {
      const target = known(name);
      return target !== undefined && syncsClaims(target);
    },
    visibilityOf(name): ClusterVisibility {
      const target = known(name);
      return target === undefined ? "Unregistered" : target.isReady ? "Reachable" : "Unreachable";
    },
    showsVolumes(name) {
      const target = known(name);
      return target !== undefined && target.synced?.includes("persistentvolumes") !== false;
    },
  };
}

/** Undefined as long as a claim does not exist: Pods wait for it in every cluster. */
function decideGroup(
  group: ClaimGroup<NamedClaimUser["workload"]>,
  claims: ReadonlyMap<string, FoundClaim>,
  view: ClusterView,
): Omit<GroupWork, "isComplete"> | undefined {
  const own = [...group.claims].flatMap((name) => {
    const claim = claims.get(name);
    return claim?.object.metadata.deletionTimestamp === undefined ? (claim ?? []) : [];
  });
  if (own.length < group.claims.size) return undefined;
  const copies = group.workloads.flatMap((workload) => workload.copies);
  const decision = decideVolumes({
    ...view,
    claims: own.map(({ claim }) => claim),
    users: copies.map(({ user }) => user),
  });
  const workloads = group.workloads.filter(({ isOrdinal }) => isOrdinal !== true);
  return { workloads, claims: own, copies, decision };
}

/**
 * Creates missing claims of ordinals in clusters that sync claims. Returns whether there were any.
 */
async function makeClaims(
  sets: readonly OrdinalSet[],
  claims: ReadonlyMap<string, FoundClaim>,
  isManaged: (cluster: string) => boolean,
  writes: VolumeWrites,
): Promise<boolean> {
  let isAnyMissing = false;
  for (const { workload, templates, users } of sets) {
    for (const { ordinal, cluster } of users) {
      if (!isManaged(cluster)) continue;
      for (const template of templates) {
        const claim = claimFrom(template, workload.object, ordinal);
        if (claims.has(claim.metadata.name)) continue;
        isAnyMissing = true;
        await writes.make(claim);
      }
    }
  }
  return isAnyMissing;
}

/** Applies the retention policies of StatefulSets. Returns whether there were any changes. */
async function retain(
  sets: readonly OrdinalSet[],
  claims: readonly StoredObject[],
  writes: VolumeWrites,
): Promise<boolean> {
  let isChanged = false;
  for (const set of sets) {
    const { marked, deleted } = retentionOf(set, claims);
    for (const claim of marked) await writes.replace(claim);
    for (const claim of deleted) await writes.remove(claim, set.workload.object);
    isChanged ||= marked.length + deleted.length > 0;
  }
  return isChanged;
}

interface NamedClaimUser {
  readonly workload: FoundWorkload & { readonly isOrdinal?: boolean };
  readonly claims: ReadonlySet<string>;
}

function usersOf(workloads: readonly FoundWorkload[]): readonly NamedClaimUser[] {
  return workloads.flatMap((workload) => {
    const claims = claimsOf(workload);
    return claims.size === 0 ? [] : [{ workload, claims }];
  });
}

/** Each ordinal is a user of its own. */
function ordinalUsersOf({ workload, users }: OrdinalSet): readonly NamedClaimUser[] {
  const { object, kind } = workload;
  return users.map(({ claims, copies }) => {
    const found = copies.map((user) => ({ object, kind, user, isOrdinal: true }));
    return { workload: { object, kind, copies: found, isOrdinal: true }, claims };
  });
}

interface TargetInWorkspace extends VolumeCluster {
  readonly target: SyncTarget;
  /** The logical cluster of the SyncTarget. */
  readonly computeWorkspace: string;
}

/**
 * The clusters that objects of a namespace may be in, by their names there, and their observed
 * volumes. Read from the logical clusters of their SyncTargets.
 */
async function readPlaces(
  { cluster, namespace }: ObjectKey,
  { client, usedTargets, targetOf: meant }: Work,
  signal: AbortSignal,
): Promise<{
  readonly targets: ReadonlyMap<string, TargetInWorkspace>;
  readonly homes: ReadonlyMap<string, Client>;
  readonly volumes: readonly KnownVolume[];
}> {
  const used = new Map(usedTargets.list({ cluster }).map((name) => [name, meant(cluster, name)]));
  const names = new Set([cluster as string, ...[...used.values()].map((one) => one.cluster)]);
  const homes = new Map([...names].map((home) => [home, client.inCluster(home)]));
  const targets = new Map<string, TargetInWorkspace>();
  const volumes: KnownVolume[] = [];
  for (const [computeWorkspace, there] of homes) {
    const [{ items }, known] = await Promise.all([
      there.resource(syncTargets).list({ signal }),
      listed(there, persistentVolumes, { signal }),
    ]);
    const nameHere = (name: string) => targetNameIn(cluster, { cluster: computeWorkspace, name });
    for (const target of items) {
      const { name, uid = "" } = target.metadata;
      const isUsed = computeWorkspace === cluster || used.has(nameHere(name));
      const own = { cluster: computeWorkspace, name, uid };
      const inside = downstreamNamespace(own, { cluster, namespace });
      const place = { target, computeWorkspace, client: there, name, namespace: inside };
      if (isUsed) targets.set(nameHere(name), place);
    }
    volumes.push(...known.flatMap((object) => volumeOf(object, nameHere) ?? []));
  }
  return { targets, homes, volumes };
}

interface NamespaceVolumes {
  readonly claims: readonly StoredObject[];
  /** Workloads that may use claims. */
  readonly workloads: readonly FoundWorkload[];
}

async function read(
  client: Client,
  namespace: string,
  signal: AbortSignal,
  custom: readonly ClaimUserKind[],
): Promise<NamespaceVolumes> {
  const kinds = [...claimUserKinds, ...custom];
  const [claims, placements, ...workloads] = await Promise.all([
    listed(client, persistentVolumeClaims, { namespace, signal }),
    client.resource(workloadPlacements).list({ namespace, signal }),
    ...kinds.map(({ resource }) => listed(client, resource, { namespace, signal })),
  ]);
  const records = new Map(placements.items.map((one) => [one.metadata.name, one.status]));
  const wholes = workloads.flatMap((items, index) =>
    wholesOf(items, kinds[index] as ClaimUserKind, records),
  );
  return { claims, workloads: wholes };
}

function wholesOf(
  items: readonly StoredObject[],
  kind: ClaimUserKind,
  records: ReadonlyMap<string, FoundWorkload["record"]>,
): readonly FoundWorkload[] {
  const made = new Map<string, StoredObject[]>();
  for (const item of items) {
    const label = stringMember(item.metadata.labels, ownedByLabel);
    if (label === undefined) continue;
    const known = made.get(label);
    if (known === undefined) made.set(label, [item]);
    else known.push(item);
  }
  const workloads = items.filter((object) => isUnassigned(object) && !kind.hasEnded(object));
  const found = workloads.map((object): FoundWorkload => {
    const { name } = object.metadata;
    const record = records.get(workloadPlacementName(kind.resource, name));
    const copies = (made.get(ownerLabelValue(name)) ?? []).flatMap((copy): readonly FoundCopy[] => {
      const user: VolumeUser | undefined = volumeUserOf(copy, kind, name, record);
      return user === undefined ? [] : [{ object: copy, kind, user }];
    });
    return { object, kind, copies, record };
  });
  return found.filter(
    (workload) => claimsOf(workload).size > 0 || claimTemplatesOf(workload.object).length > 0,
  );
}

/** The claims of a custom kind are listed on its per-cluster objects. */
function claimsOf({ object, kind, copies }: FoundWorkload): ReadonlySet<string> {
  const told = copies.flatMap((copy) =>
    dependenciesOn(copy.object.metadata.annotations, "persistentvolumeclaims"),
  );
  return new Set([...claimsUsedBy(object, kind), ...told]);
}
