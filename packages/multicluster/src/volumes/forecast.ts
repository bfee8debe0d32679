/**
 * Predicts whether claims would reject a move that is not requested yet: with the same reasons as
 * for a requested move, from the same state. Pure. State that cannot be read here, such as volumes
 * of other owners' clusters, may still block the move.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { SyncTarget } from "../api/index.ts";
import { claimTemplatesOf, clusterInfoOf, ordinalClaimName } from "../coordination/index.ts";
import { downstreamNamespace } from "../syncer/index.ts";
import {
  type ClusterVisibility,
  type VolumeClaim,
  type VolumeRefusal,
  withoutMigration,
} from "./decide-volumes.ts";
import { claimUserKinds, type StoredObject } from "./objects.ts";
import { claimsUsedBy, volumeClaimOf, volumeOf, volumeUserOf } from "./read-claims.ts";
import { storageIn } from "./read-snapshots.ts";
import { volumeInUseBy, volumeRefusalOf } from "./refusals.ts";

/** The claims and volumes of a workspace. */
export interface Storage {
  readonly claims: readonly StoredObject[];
  readonly volumes: readonly StoredObject[];
  /** The classes for copies; if omitted, they are not checked. */
  readonly storageClasses?: readonly StoredObject[];
  readonly snapshotClasses?: readonly StoredObject[];
}

export interface PlannedUser {
  readonly kind: string;
  readonly workload: StoredObject;
  readonly copies: readonly StoredObject[];
  /** The current and the desired replicas by cluster. */
  readonly from: Readonly<Record<string, number>>;
  readonly to: Readonly<Record<string, number>>;
}

export interface RefusedClaim extends VolumeRefusal {
  readonly claim: string;
  /** The cluster that has the data, in which the workload would have to stay. */
  readonly cluster: string;
}

export interface ForecastOptions {
  /** The logical cluster. */
  readonly cluster: ClusterName;
  readonly targets: readonly SyncTarget[];
  readonly storage: Storage;
}

export function predictVolumeRefusals(
  options: ForecastOptions,
  user: PlannedUser,
): readonly RefusedClaim[] {
  const kind = claimUserKinds.find(({ resource }) => resource.kind === user.kind);
  if (kind === undefined) return [];
  const { workload, to } = user;
  const parts = user.copies.flatMap(
    (copy) => volumeUserOf(copy, kind, workload.metadata.name, undefined) ?? [],
  );
  const named = claimsUsedBy(workload, kind);
  return claimsOf(options, user).flatMap((claim): readonly RefusedClaim[] => {
    const { dataCluster, name } = claim;
    const isLeft =
      dataCluster !== undefined &&
      (user.from[dataCluster] ?? 0) > 0 &&
      (to[dataCluster] ?? 0) === 0;
    const destination = Object.keys(to).find((cluster) => (to[cluster] ?? 0) > 0);
    if (dataCluster === undefined || !isLeft || destination === undefined) return [];
    const asked = askedOf(claim, options);
    const busy = named.has(name) && !claim.isShared ? parts : [];
    const found =
      volumeRefusalOf(asked, dataCluster, destination, sightOf(options)) ??
      volumeInUseBy([claim], destination, busy);
    return found === undefined ? [] : [{ claim: name, cluster: dataCluster, ...found }];
  });
}

/**
 * A user who may not read classes does not see rejections by them: the claim is checked as if a
 * hook made the copy.
 */
function askedOf(claim: VolumeClaim, { storage }: ForecastOptions): VolumeClaim {
  if (claim.isShared) return withoutMigration(claim);
  const isBlind = storage.storageClasses === undefined && claim.copier?.by === "snapshot";
  return isBlind ? { ...claim, copier: { by: "hook", name: "" } } : claim;
}

/** The claims that the workload names, and those that were created for its ordinals. */
function claimsOf({ cluster, targets, storage }: ForecastOptions, user: PlannedUser) {
  const { metadata } = user.workload;
  const { namespace = "" } = metadata;
  const kind = claimUserKinds.find(({ resource }) => resource.kind === user.kind);
  const named = kind === undefined ? new Set<string>() : claimsUsedBy(user.workload, kind);
  const prefixes = claimTemplatesOf(user.workload).map((one) =>
    ordinalClaimName(one.name, metadata.name, 0).slice(0, -1),
  );
  const isNumbered = (name: string) =>
    prefixes.some((prefix) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)));
  const volumes = storage.volumes.flatMap((one) => volumeOf(one, (name) => name) ?? []);
  const uids = new Map(targets.map((one) => [one.metadata.name, one.metadata.uid ?? ""]));
  const namespaceIn = (name: string) => {
    const uid = uids.get(name);
    const place = { cluster, namespace };
    return uid === undefined ? undefined : downstreamNamespace({ cluster, name, uid }, place);
  };
  return storage.claims
    .filter(({ metadata: one }) => one.namespace === namespace)
    .filter(({ metadata: { name } }) => named.has(name) || isNumbered(name))
    .map((object): VolumeClaim => {
      const { name } = object.metadata;
      return volumeClaimOf(object, volumes, { name, namespaceIn });
    });
}

function sightOf({ targets, storage }: ForecastOptions) {
  const known = new Map(targets.map((one) => [one.metadata.name, clusterInfoOf(one)]));
  const { storageClasses = [], snapshotClasses = [] } = storage;
  return {
    storageOf(name: string) {
      const target = targets.find(({ metadata }) => metadata.name === name);
      return target && storageIn(target, { storageClasses, snapshotClasses, contents: [] });
    },
    visibilityOf: (name: string): ClusterVisibility => {
      const target = known.get(name);
      return target === undefined ? "Unregistered" : target.isReady ? "Reachable" : "Unreachable";
    },
    showsVolumes: (name: string) =>
      known.get(name)?.synced?.includes("persistentvolumes") !== false,
  };
}
