/**
 * Reads storage classes, and snapshots of volume copies, from the logical clusters of a namespace
 * and of its SyncTargets.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type Client, stringMember } from "@kcp-ts/sdk";
import {
  type SyncTarget,
  snapshotDomainsAnnotation,
  snapshotOfLabel,
  stateLabelPrefix,
  statesOf,
  stateUpsync,
  volumeCopyRequestAnnotation,
  volumeMigrationAnnotation,
} from "../api/index.ts";
import { listed } from "./listed.ts";
import {
  type StoredObject,
  storageClasses,
  textAt,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from "./objects.ts";
import type { FoundSnapshots } from "./snapshot-steps.ts";
import { type ClusterStorage, domainsIn, snapshotKinds } from "./snapshot-transfer.ts";

/** The storage of one logical cluster that has SyncTargets. */
export interface KnownStorage {
  readonly storageClasses: readonly StoredObject[];
  readonly snapshotClasses: readonly StoredObject[];
  readonly contents: readonly StoredObject[];
}

/** Undefined where a kind is not synced: unobserved objects may exist. */
export function storageIn(
  { metadata, status }: SyncTarget,
  { storageClasses, snapshotClasses }: KnownStorage,
): ClusterStorage | undefined {
  const synced = status?.syncedResources ?? [];
  if (snapshotKinds.some((kind) => !synced.includes(kind))) return undefined;
  const { name } = metadata;
  return {
    domains: domainsIn(stringMember(metadata.annotations, snapshotDomainsAnnotation)),
    classes: storageClasses
      .filter((one) => isFrom(one, name))
      .map((one) => ({
        name: nameThere(one, name),
        provisioner: textAt(bodyOf(one), "provisioner"),
        isDefault: isMarked(one, "storageclass.kubernetes.io/is-default-class"),
        waitsForConsumer: textAt(bodyOf(one), "volumeBindingMode") === "WaitForFirstConsumer",
      })),
    snapshotClasses: snapshotClasses
      .filter((one) => isFrom(one, name))
      .map((one) => ({
        name: nameThere(one, name),
        driver: textAt(bodyOf(one), "driver"),
        isDefault: isMarked(one, "snapshot.storage.kubernetes.io/is-default-class"),
        isRetained: textAt(bodyOf(one), "deletionPolicy") === "Retain",
      })),
  };
}

/**
 * The storage that concerns a namespace: its own VolumeSnapshots, and the storage of the logical
 * clusters of its SyncTargets.
 */
export interface NamespaceStorage {
  readonly snapshots: readonly StoredObject[];
  /** By logical cluster. */
  readonly known: ReadonlyMap<string, KnownStorage>;
}

/** Whether a copy by snapshot is, or was, requested. */
export function concernsSnapshots({ metadata: { annotations } }: StoredObject): boolean {
  return (
    stringMember(annotations, volumeMigrationAnnotation) === "snapshot" ||
    stringMember(annotations, volumeCopyRequestAnnotation) !== undefined
  );
}

export async function readStorage({
  client,
  namespace,
  homes,
  signal,
}: {
  readonly client: Client;
  readonly namespace: string;
  readonly homes: ReadonlyMap<string, Client>;
  readonly signal: AbortSignal;
}): Promise<NamespaceStorage> {
  const known = new Map<string, KnownStorage>();
  for (const [home, there] of homes) {
    const [classes, snapshotClasses, contents] = await Promise.all(
      [storageClasses, volumeSnapshotClasses, volumeSnapshotContents].map((resource) =>
        listed(there, resource, { signal }),
      ),
    );
    known.set(home, {
      storageClasses: classes ?? [],
      snapshotClasses: snapshotClasses ?? [],
      contents: contents ?? [],
    });
  }
  return { known, snapshots: await listed(client, volumeSnapshots, { namespace, signal }) };
}

/** The snapshots of copies of a claim. */
export function snapshotsFor(
  { metadata: { uid = "" } }: StoredObject,
  { snapshots, known }: NamespaceStorage,
  places: ReadonlyMap<string, { readonly computeWorkspace: string; readonly name: string }>,
): FoundSnapshots {
  const isOfClaim = ({ metadata }: StoredObject) =>
    stringMember(metadata.labels, snapshotOfLabel) === uid;
  const isMade = (one: StoredObject) => isOfClaim(one) && !isUp(one);
  return {
    snapshots: snapshots.filter(isOfClaim),
    contents: [...known.values()].flatMap(({ contents }) => contents.filter(isMade)),
    contentIn(cluster, name) {
      const place = places.get(cluster);
      if (place === undefined) return undefined;
      return known
        .get(place.computeWorkspace)
        ?.contents.find((one) => isFrom(one, place.name) && nameThere(one, place.name) === name);
    },
  };
}

function isUp({ metadata }: StoredObject): boolean {
  return [...statesOf(metadata.labels).values()].includes(stateUpsync);
}

/** Whether the object was synced up from the cluster. */
function isFrom({ metadata }: StoredObject, target: string): boolean {
  return stringMember(metadata.labels, stateLabelPrefix + target) === stateUpsync;
}

function nameThere({ metadata: { name } }: StoredObject, target: string): string {
  const suffix = `--${target}`;
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

function isMarked({ metadata }: StoredObject, annotation: string): boolean {
  return stringMember(metadata.annotations, annotation) === "true";
}

/** Classes have no spec. */
function bodyOf(object: StoredObject): JsonObject {
  const body = object as unknown as JsonObject;
  return isJsonObject(body) ? body : {};
}
