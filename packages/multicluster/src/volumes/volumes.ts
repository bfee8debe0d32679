/**
 * The controller of volumes: one for all logical clusters, a namespace at a time. It reads what there is, and does what `decide-volumes.ts` says, by annotations and
 * labels that syncers obey. Nothing is decided from a cache but whether a cluster is Ready.
 *
 * The order of its writes matters, and any of them may be the last: first what stops, then where claims and their data are, then who is tied to it, and last who may
 * start.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  Controller,
  EventRecorder,
  type KubernetesObject,
  logicalClusters,
  Manager,
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
  type Resource,
} from "@kcp-ts/sdk";
import { ownedByLabel, type SyncTarget, syncTargets } from "../api/index.ts";
import {
  isWhole,
  metadataAndTargets,
  ownerLabelValue,
  type Target,
  targetOf,
} from "../coordination/index.ts";
import { downstreamNamespace } from "../syncer/index.ts";
import { decideVolumes, type Sight, type WorkloadPart } from "./decide-volumes.ts";
import { groupsOf } from "./groups.ts";
import {
  persistentVolumeClaims,
  persistentVolumes,
  type StoredObject,
  type UserKind,
  userKinds,
} from "./objects.ts";
import { claimOf, claimsUsedBy, type KnownVolume, partOf, volumeOf } from "./read-facts.ts";
import { type FoundClaim, type FoundPart, type FoundWhole, VolumeWrites } from "./volume-writes.ts";

export interface VolumesOptions {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  readonly clock?: Clock;
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
/** What a syncer does with our marks is told by other objects' changes; this is for one that was missed. */
const lookAgainMs = 10_000;

export function volumes(options: VolumesOptions): Volumes {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const whole = logicalClusters({ client, clock, onError });
  const clusters = metadataAndTargets({ client, targets: whole, clock, onError });
  const events = new EventRecorder({
    component: "volumes",
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const seenClaims = clusters.source(persistentVolumeClaims).store;
  const ofNamespace = (_object: KubernetesObject, { cluster, namespace }: ObjectKey) => [
    { cluster, namespace, name: "" },
  ];
  /** Volumes and clusters are of no namespace: all that have claims are looked at. */
  const ofCluster = (_object: unknown, { cluster }: ObjectKey) => {
    const namespaces = new Set(seenClaims.list({ cluster }).map((one) => one.metadata.namespace));
    return [...namespaces].map((namespace = "") => ({ cluster, namespace, name: "" }));
  };
  const controller = new Controller({
    name: "volumes",
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, context) =>
      reconcile(key, {
        ...context,
        seenClaims,
        writes: new VolumeWrites({ ...context, cluster: key.cluster, events }),
      }),
  })
    .watch(persistentVolumeClaims, { map: ofNamespace })
    .watch(persistentVolumes, { map: ofCluster })
    .watch<SyncTarget, Target>(syncTargets, { transform: targetOf, map: ofCluster });
  for (const { resource } of userKinds) {
    const predicate = ({ object }: { readonly object: KubernetesObject }) => isConcerned(object);
    controller.watch(resource, { predicate, map: ofNamespace });
  }
  return {
    async run(signal) {
      await new Manager({ clusters: [whole, clusters], controllers: [controller] }).run(signal);
      await events.flush();
    },
  };
}

/** A whole or a part; not what was copied up from a cluster, of which there may be many. */
function isConcerned(object: KubernetesObject): boolean {
  return isWhole(object) || object.metadata.labels?.[ownedByLabel] !== undefined;
}

interface Work {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly seenClaims: ObjectStore<KubernetesObject>;
  readonly writes: VolumeWrites;
}

async function reconcile(key: ObjectKey, work: Work): Promise<ReconcileResult> {
  const { client, signal, seenClaims, writes } = work;
  const { cluster, namespace } = key;
  if (seenClaims.list({ cluster, namespace }).length === 0) return;
  const found = await read(client, namespace, signal);
  const sight = (name: string): Sight => {
    const target = found.targets.get(name);
    return target === undefined ? "gone" : targetOf(target).isReady ? "seen" : "lost";
  };
  const showsVolumes = (name: string) => {
    const target = found.targets.get(name);
    return target !== undefined && targetOf(target).synced?.includes("persistentvolumes") !== false;
  };
  const namespaceIn = (name: string) => {
    const uid = found.targets.get(name)?.metadata.uid;
    return uid && downstreamNamespace({ cluster, name, uid }, { cluster, namespace });
  };
  const claims = new Map<string, FoundClaim>();
  for (const object of found.claims) {
    const { name } = object.metadata;
    const facts = claimOf(object, found.volumes, { name, namespaceIn });
    claims.set(name, { object, facts });
  }
  let isSettled = true;
  for (const claim of claims.values()) if (await writes.letGo(claim)) isSettled = false;
  // What was written leads to another look.
  if (!isSettled) return;
  for (const group of groupsOf(found.users)) {
    const own = [...group.claims].flatMap((name) => {
      const claim = claims.get(name);
      return claim === undefined || claim.object.metadata.deletionTimestamp !== undefined
        ? []
        : [claim];
    });
    // A claim that is not there yet, or not any more: its Pods wait for it in every cluster.
    if (own.length < group.claims.size) continue;
    const parts = group.wholes.flatMap(({ parts }) => parts);
    const decision = decideVolumes({
      claims: own.map(({ facts }) => facts),
      parts: parts.map(({ facts }) => facts),
      sight,
      showsVolumes,
    });
    isSettled = (await writes.carryOut({ ...group, claims: own, parts, decision })) && isSettled;
  }
  return isSettled ? undefined : { requeueAfterMs: lookAgainMs };
}

interface Found {
  readonly targets: ReadonlyMap<string, SyncTarget>;
  readonly claims: readonly StoredObject[];
  readonly volumes: readonly KnownVolume[];
  readonly users: readonly { readonly whole: FoundWhole; readonly claims: ReadonlySet<string> }[];
}

async function read(client: Client, namespace: string, signal: AbortSignal): Promise<Found> {
  const [{ items: targets }, claims, known, ...workloads] = await Promise.all([
    client.resource(syncTargets).list({ signal }),
    listed(client, persistentVolumeClaims, { namespace, signal }),
    listed(client, persistentVolumes, { signal }),
    ...userKinds.map(({ resource }) => listed(client, resource, { namespace, signal })),
  ]);
  const users = workloads.flatMap((items, index) => usersOf(items, userKinds[index] as UserKind));
  const found = known.flatMap((object) => volumeOf(object) ?? []);
  const byName = new Map(targets.map((target) => [target.metadata.name, target]));
  return { targets: byName, claims, volumes: found, users };
}

function usersOf(items: readonly StoredObject[], kind: UserKind): Found["users"] {
  const wholes = items.filter(
    (object) => isWhole(object) && !kind.hasEnded(object) && claimsUsedBy(object, kind).size > 0,
  );
  return wholes.map((object) => {
    const { name } = object.metadata;
    const label = ownerLabelValue(name);
    const parts = items.flatMap((part): readonly FoundPart[] => {
      if (part.metadata.labels?.[ownedByLabel] !== label) return [];
      const facts: WorkloadPart | undefined = partOf(part, kind, name);
      return facts === undefined ? [] : [{ object: part, kind, facts }];
    });
    return { whole: { object, kind, parts }, claims: claimsUsedBy(object, kind) };
  });
}

/** A kind that no cluster serves here has no objects. */
async function listed(
  client: Client,
  resource: Resource<StoredObject>,
  options: { readonly namespace?: string; readonly signal: AbortSignal },
): Promise<readonly StoredObject[]> {
  try {
    return (await client.resource(resource).list(options)).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return [];
    throw error;
  }
}
