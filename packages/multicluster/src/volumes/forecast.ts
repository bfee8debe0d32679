/**
 * What claims would say to a move that nobody has asked for yet: the same refusals as of a move that somebody has, from the same facts. Pure. What cannot be read here, such as the
 * volumes of clusters that belong to others, may still be in its way.
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
import { claimsUsedBy, volumeClaimOf, volumeOf, volumeUserOf } from "./read-facts.ts";
import { storageIn } from "./read-snapshots.ts";
import { volumeInUseBy, volumeRefusalOf } from "./refusals.ts";

/** Claims and volumes of a workspace. */
export interface Storage {
  readonly claims: readonly StoredObject[];
  readonly volumes: readonly StoredObject[];
  /** By what a copy can be made; left out, that is not asked. */
  readonly storageClasses?: readonly StoredObject[];
  readonly snapshotClasses?: readonly StoredObject[];
}

export interface PlannedUser {
  readonly kind: string;
  readonly whole: StoredObject;
  readonly parts: readonly StoredObject[];
  /** By cluster, what it has and what it is to have. */
  readonly from: Readonly<Record<string, number>>;
  readonly to: Readonly<Record<string, number>>;
}

export interface RefusedClaim extends VolumeRefusal {
  readonly claim: string;
  /** Where its data is, and the workload would have to stay. */
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
  const { whole, to } = user;
  const parts = user.parts.flatMap((part) => volumeUserOf(part, kind, whole.metadata.name) ?? []);
  const named = claimsUsedBy(whole, kind);
  return claimsOf(options, user).flatMap((claim): readonly RefusedClaim[] => {
    const { home, name } = claim;
    const isLeft = home !== undefined && (user.from[home] ?? 0) > 0 && (to[home] ?? 0) === 0;
    const destination = Object.keys(to).find((cluster) => (to[cluster] ?? 0) > 0);
    if (home === undefined || !isLeft || destination === undefined) return [];
    const asked = askedOf(claim, options);
    const busy = named.has(name) && !claim.isShared ? parts : [];
    const found =
      volumeRefusalOf(asked, home, destination, sightOf(options)) ??
      volumeInUseBy([claim], destination, busy);
    return found === undefined ? [] : [{ claim: name, cluster: home, ...found }];
  });
}

/** Who may not read classes is not told what they refuse: it is asked as if somebody else made the copy. */
function askedOf(claim: VolumeClaim, { storage }: ForecastOptions): VolumeClaim {
  if (claim.isShared) return withoutMigration(claim);
  const isBlind = storage.storageClasses === undefined && claim.copier?.by === "snapshot";
  return isBlind ? { ...claim, copier: { by: "hook", name: "" } } : claim;
}

/** Those that it names, and those that were made for its numbers. */
function claimsOf({ cluster, targets, storage }: ForecastOptions, user: PlannedUser) {
  const { metadata } = user.whole;
  const { namespace = "" } = metadata;
  const kind = claimUserKinds.find(({ resource }) => resource.kind === user.kind);
  const named = kind === undefined ? new Set<string>() : claimsUsedBy(user.whole, kind);
  const prefixes = claimTemplatesOf(user.whole).map((one) =>
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
    sight: (name: string): ClusterVisibility => {
      const target = known.get(name);
      return target === undefined ? "gone" : target.isReady ? "seen" : "lost";
    },
    showsVolumes: (name: string) =>
      known.get(name)?.synced?.includes("persistentvolumes") !== false,
  };
}
