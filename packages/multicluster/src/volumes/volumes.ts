/**
 * The controller of volumes: one for all logical clusters, a namespace at a time. It reads what there is, and does what `decide-volumes.ts` says, by annotations and
 * labels that syncers obey. Nothing is decided from a cache but whether a cluster is Ready.
 *
 * The order of its writes matters, and any of them may be the last: first what stops, then where claims and their data are, then who is tied to it, and last who may
 * start.
 */
import { type Clock, systemClock, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  type Clusters,
  Controller,
  EventRecorder,
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
  workloadStrategies,
} from "../api/index.ts";
import {
  type ClusterInfo,
  claimTemplatesOf,
  clusterInfoOf,
  isUnassigned,
  metadataAndTargets,
  metadataClusters,
  ownerLabelValue,
  syncsClaims,
} from "../coordination/index.ts";
import { downstreamNamespace } from "../syncer/index.ts";
import { customKinds } from "./custom-kinds.ts";
import {
  type ClusterVisibility,
  decideVolumes,
  type VolumesInput,
  type VolumeUser,
} from "./decide-volumes.ts";
import { type ClaimGroup, claimGroupsOf } from "./groups.ts";
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
} from "./read-facts.ts";
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

/** Which SyncTargets logical clusters use, their own and those of others. */
export interface UsedTargets extends Clusters {
  /** Workspaces that use the clusters of this one. */
  tenantsOf(home: ClusterName): readonly ClusterName[];
}

export interface VolumesOptions {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Where SyncTargets are watched; run by the caller. */
  readonly targets: UsedTargets;
  /** The SyncTarget that objects in a logical cluster mean by a name. */
  readonly targetOf: (cluster: string, target: string) => NamedTarget;
  readonly clock?: Clock;
  /** How long workloads stay stopped for a snapshot that does not come; they start again where they were. */
  readonly copyPatienceMs?: number;
  /** Namespaces at a time. */
  readonly concurrency?: number;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Volumes {
  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

const concurrencyDefault = 4;
const copyPatienceMsDefault = 600_000;
/** What a syncer does with our marks is told by other objects' changes; this is for one that was missed. */
const lookAgainMs = 10_000;

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
  const work = { ...options, events, ...seen };
  const ofNamespace = (_object: KubernetesObject, { cluster, namespace }: ObjectKey) => [
    { cluster, namespace, name: "" },
  ];
  /** Volumes and clusters are of no namespace: all that have claims are looked at. */
  const ofCluster = (_object: unknown, { cluster }: Pick<ObjectKey, "cluster">) => {
    const seen = [...seenClaims.list({ cluster }), ...seenSets.list({ cluster })];
    const namespaces = new Set(seen.map((one) => one.metadata.namespace));
    return [...namespaces].map((namespace = "") => ({ cluster, namespace, name: "" }));
  };
  /** Volumes are where the SyncTarget is, claims may be in all that use it. */
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
  for (const { resource } of claimUserKinds)
    controller.watch(resource, { predicate, map: ofNamespace });
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

/** A kind that was not there when everything began. Two that look at one namespace at the same time do no harm: writes are of what was read. */
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

/** A whole or a part; not what was copied up from a cluster, of which there may be many. */
function isConcerned(object: KubernetesObject): boolean {
  return isUnassigned(object) || object.metadata.labels?.[ownedByLabel] !== undefined;
}

interface Work extends VolumesOptions {
  readonly events: EventRecorder;
  readonly seenClaims: ObjectStore<KubernetesObject>;
  readonly seenSets: ObjectStore<KubernetesObject>;
  readonly strategies: ObjectStore<WorkloadStrategy>;
  /** Names of SyncTargets, as the logical clusters that use them have them. */
  readonly usedTargets: ObjectStore<string>;
}

async function reconcile(
  key: ObjectKey,
  work: Work,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { cluster, namespace } = key;
  const seen = [work.seenClaims, work.seenSets];
  if (seen.every((store) => store.list({ cluster, namespace }).length === 0)) return;
  const client = work.client.inCluster(cluster);
  const [places, found] = await Promise.all([
    readPlaces(key, work, signal),
    read(client, namespace, signal, customKinds(work.strategies.list({ cluster }))),
  ]);
  const storage = found.claims.some(concernsSnapshots)
    ? await readStorage({ client, namespace, homes: places.homes, signal })
    : undefined;
  const view = viewOf(places.targets, storage, work);
  const { whereabouts, isManaged, storageOf } = view;
  const homes = [...places.homes.values()];
  const snapshots = new SnapshotWrites({ client, signal, whereabouts, storageOf, homes });
  const context = { client, cluster, events: work.events, signal, whereabouts, snapshots };
  const writes = new VolumeWrites(context);
  const claims = new Map<string, FoundClaim>();
  for (const object of found.claims) {
    const { name } = object.metadata;
    const namespaceIn = (target: string) => whereabouts(target)?.namespace;
    const own = storage && snapshotsFor(object, storage, places.targets);
    const facts = volumeClaimOf(object, places.volumes, { name, namespaceIn }, own);
    claims.set(name, { object, facts, snapshots: own });
  }
  let isSettled = true;
  for (const claim of claims.values()) if (await writes.letGo(claim)) isSettled = false;
  // What was written leads to another look.
  if (!isSettled) return;
  const homeOf = (name: string) => claims.get(name)?.facts.home;
  const sets = found.wholes.flatMap((whole) => ordinalSetOf(whole, homeOf) ?? []);
  if (await makeClaims(sets, claims, isManaged, writes)) return;
  if (await retain(sets, found.claims, writes)) return;
  const isReady = (part: FoundCopy) => {
    const set = sets.find(({ whole }) => whole.parts.includes(part));
    if (set === undefined || !isManaged(part.facts.cluster)) return true;
    return isComplete(part, set, (name) => claims.get(name));
  };
  const users = [...usersOf(found.wholes), ...sets.flatMap(ordinalUsersOf)];
  for (const group of claimGroupsOf(users)) {
    const decided = decideGroup(group, claims, view);
    if (decided === undefined) continue;
    isSettled = (await writes.carryOut({ ...decided, isComplete: isReady })) && isSettled;
  }
  for (const { whole } of sets) {
    if (claimsUsedBy(whole.object, whole.kind).size > 0) continue;
    for (const part of whole.parts) if (isReady(part)) await writes.open(part);
  }
  return isSettled ? undefined : { requeueAfterMs: lookAgainMs };
}

/** What is to be known of clusters, by the names that objects have for them. */
interface ClusterView
  extends Required<
    Pick<VolumesInput, "sight" | "showsVolumes" | "storageOf" | "nowMs" | "copyPatienceMs">
  > {
  readonly whereabouts: (name: string) => VolumeCluster | undefined;
  /** Whether claims are synced to it. */
  readonly isManaged: (name: string) => boolean;
}

function viewOf(
  targets: ReadonlyMap<string, TargetInWorkspace>,
  storage: NamespaceStorage | undefined,
  { clock = systemClock, copyPatienceMs = copyPatienceMsDefault }: Work,
): ClusterView {
  const known = (name: string) => {
    const target = targets.get(name)?.target;
    return target === undefined ? undefined : clusterInfoOf(target);
  };
  return {
    nowMs: clock.now(),
    copyPatienceMs,
    whereabouts: (name) => targets.get(name),
    storageOf(name) {
      const place = targets.get(name);
      const known = place && storage?.known.get(place.home);
      return known && storageIn(place.target, known);
    },
    isManaged(name) {
      const target = known(name);
      return target !== undefined && syncsClaims(target);
    },
    sight(name): ClusterVisibility {
      const target = known(name);
      return target === undefined ? "gone" : target.isReady ? "seen" : "lost";
    },
    showsVolumes(name) {
      const target = known(name);
      return target !== undefined && target.synced?.includes("persistentvolumes") !== false;
    },
  };
}

/** Undefined as long as a claim is not there yet, or not any more: Pods wait for it in every cluster. */
function decideGroup(
  group: ClaimGroup<NamedClaimUser["whole"]>,
  claims: ReadonlyMap<string, FoundClaim>,
  view: ClusterView,
): Omit<GroupWork, "isComplete"> | undefined {
  const own = [...group.claims].flatMap((name) => {
    const claim = claims.get(name);
    return claim?.object.metadata.deletionTimestamp === undefined ? (claim ?? []) : [];
  });
  if (own.length < group.claims.size) return undefined;
  const parts = group.wholes.flatMap((whole) => whole.parts);
  const decision = decideVolumes({
    ...view,
    claims: own.map(({ facts }) => facts),
    parts: parts.map(({ facts }) => facts),
  });
  const wholes = group.wholes.filter(({ isOrdinal }) => isOrdinal !== true);
  return { wholes, claims: own, parts, decision };
}

/** Those that are missing for numbers in clusters that sync claims. Whether there were any. */
async function makeClaims(
  sets: readonly OrdinalSet[],
  claims: ReadonlyMap<string, FoundClaim>,
  isManaged: (cluster: string) => boolean,
  writes: VolumeWrites,
): Promise<boolean> {
  let isAnyMissing = false;
  for (const { whole, templates, users } of sets) {
    for (const { ordinal, cluster } of users) {
      if (!isManaged(cluster)) continue;
      for (const template of templates) {
        const claim = claimFrom(template, whole.object, ordinal);
        if (claims.has(claim.metadata.name)) continue;
        isAnyMissing = true;
        await writes.make(claim);
      }
    }
  }
  return isAnyMissing;
}

/** What sets say of the claims of their numbers. Whether there was something to be done. */
async function retain(
  sets: readonly OrdinalSet[],
  claims: readonly StoredObject[],
  writes: VolumeWrites,
): Promise<boolean> {
  let isChanged = false;
  for (const set of sets) {
    const { marked, deleted } = retentionOf(set, claims);
    for (const claim of marked) await writes.replace(claim);
    for (const claim of deleted) await writes.remove(claim, set.whole.object);
    isChanged ||= marked.length + deleted.length > 0;
  }
  return isChanged;
}

interface NamedClaimUser {
  readonly whole: FoundWorkload & { readonly isOrdinal?: boolean };
  readonly claims: ReadonlySet<string>;
}

function usersOf(wholes: readonly FoundWorkload[]): readonly NamedClaimUser[] {
  return wholes.flatMap((whole) => {
    const claims = claimsOf(whole);
    return claims.size === 0 ? [] : [{ whole, claims }];
  });
}

/** Each number for itself. */
function ordinalUsersOf({ whole, users }: OrdinalSet): readonly NamedClaimUser[] {
  const { object, kind } = whole;
  return users.map(({ claims, parts }) => {
    const found = parts.map((facts) => ({ object, kind, facts, isOrdinal: true }));
    return { whole: { object, kind, parts: found, isOrdinal: true }, claims };
  });
}

interface TargetInWorkspace extends VolumeCluster {
  readonly target: SyncTarget;
  /** The logical cluster that has it. */
  readonly home: string;
}

/** The clusters that objects of a namespace may be in, by the names that they have there, and the volumes that are known of them. Read where their SyncTargets are. */
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
  for (const [home, there] of homes) {
    const [{ items }, known] = await Promise.all([
      there.resource(syncTargets).list({ signal }),
      listed(there, persistentVolumes, { signal }),
    ]);
    const nameHere = (name: string) => targetNameIn(cluster, { cluster: home, name });
    for (const target of items) {
      const { name, uid = "" } = target.metadata;
      const isUsed = home === cluster || used.has(nameHere(name));
      const own = { cluster: home, name, uid };
      const inside = downstreamNamespace(own, { cluster, namespace });
      const place = { target, home, client: there, name, namespace: inside };
      if (isUsed) targets.set(nameHere(name), place);
    }
    volumes.push(...known.flatMap((object) => volumeOf(object, nameHere) ?? []));
  }
  return { targets, homes, volumes };
}

interface NamespaceVolumes {
  readonly claims: readonly StoredObject[];
  /** What may use claims. */
  readonly wholes: readonly FoundWorkload[];
}

async function read(
  client: Client,
  namespace: string,
  signal: AbortSignal,
  custom: readonly ClaimUserKind[],
): Promise<NamespaceVolumes> {
  const kinds = [...claimUserKinds, ...custom];
  const [claims, ...workloads] = await Promise.all([
    listed(client, persistentVolumeClaims, { namespace, signal }),
    ...kinds.map(({ resource }) => listed(client, resource, { namespace, signal })),
  ]);
  const wholes = workloads.flatMap((items, index) =>
    wholesOf(items, kinds[index] as ClaimUserKind),
  );
  return { claims, wholes };
}

function wholesOf(items: readonly StoredObject[], kind: ClaimUserKind): readonly FoundWorkload[] {
  const made = new Map<string, StoredObject[]>();
  for (const item of items) {
    const label = stringMember(item.metadata.labels, ownedByLabel);
    if (label === undefined) continue;
    const known = made.get(label);
    if (known === undefined) made.set(label, [item]);
    else known.push(item);
  }
  const wholes = items.filter((object) => isUnassigned(object) && !kind.hasEnded(object));
  const found = wholes.map((object): FoundWorkload => {
    const { name } = object.metadata;
    const parts = (made.get(ownerLabelValue(name)) ?? []).flatMap((part): readonly FoundCopy[] => {
      const facts: VolumeUser | undefined = volumeUserOf(part, kind, name);
      return facts === undefined ? [] : [{ object: part, kind, facts }];
    });
    return { object, kind, parts };
  });
  return found.filter(
    (whole) => claimsOf(whole).size > 0 || claimTemplatesOf(whole.object).length > 0,
  );
}

/** Of a custom kind, what its parts say. */
function claimsOf({ object, kind, parts }: FoundWorkload): ReadonlySet<string> {
  const told = parts.flatMap((part) =>
    dependenciesOn(part.object.metadata.annotations, "persistentvolumeclaims"),
  );
  return new Set([...claimsUsedBy(object, kind), ...told]);
}
