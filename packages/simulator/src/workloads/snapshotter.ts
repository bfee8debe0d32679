/**
 * Simulated snapshots, as a CSI driver with its sidecars creates them. There are no disks: a handle
 * contains the volume, and is valid in every simulated cluster. A VolumeSnapshotClass with the
 * parameter `fails` or `waits` simulates snapshots that fail or do not finish.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, Controller, type KubernetesObject, type ObjectKey } from "@kcp-ts/sdk";
import {
  isTerminating,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import {
  type Snapshotted,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from "./snapshot-kinds.ts";

export function snapshotController(context: WorkloadContext): Controller {
  const found = context.clusters.source(volumeSnapshots);
  const contents = context.clusters.source(volumeSnapshotContents);
  return new Controller({
    name: "snapshotter",
    ...context,
    async reconcile(key, { client }) {
      const snapshot = found.store.get(key);
      if (snapshot === undefined)
        return removeContents(key, contents.store.list({ cluster: key.cluster }), client);
      if (isTerminating(snapshot) || snapshot.status?.["readyToUse"] === true) return;
      const result = await make(snapshot, client);
      if (result === undefined) return;
      const { namespace = "", name } = snapshot.metadata;
      const patch = { type: "merge" as const, patch: { status: result } as never };
      await client.resource(volumeSnapshots).patchStatus({ namespace, name }, patch);
    },
  })
    .watch(volumeSnapshots)
    .watch(volumeSnapshotContents, { map: ofSnapshot })
    .watch(persistentVolumeClaims, {
      // A snapshot that was not bound yet.
      map: ({ metadata }: KubernetesObject, { cluster, namespace }: ObjectKey) =>
        found.store
          .list({ cluster, namespace })
          .filter((one) => sourceOf(one).persistentVolumeClaimName === metadata.name)
          .map((one) => ({ cluster, namespace, name: one.metadata.name })),
    });
}

/** Undefined: not yet. */
async function make(snapshot: Snapshotted, client: Client): Promise<object | undefined> {
  const { persistentVolumeClaimName: claim, volumeSnapshotContentName: given } = sourceOf(snapshot);
  if (given !== undefined) return offer(snapshot, given, client);
  const { namespace = "", uid = "" } = snapshot.metadata;
  const className = String(snapshot.spec["volumeSnapshotClassName"] ?? "");
  const sort = await client.resource(volumeSnapshotClasses).find({ name: className });
  if (sort === undefined) return failed(`volumesnapshotclass "${className}" not found`);
  if (sort.parameters?.["fails"] !== undefined) return failed(sort.parameters["fails"]);
  if (sort.parameters?.["waits"] !== undefined) return undefined;
  const of = await client.resource(persistentVolumeClaims).find({ namespace, name: claim ?? "" });
  const volume = await volumeOf(of, client);
  if (volume === undefined) return undefined;
  const { driver, volumeHandle } = volume;
  if (driver !== sort.driver) return failed(`class ${className} is not of ${driver}`);
  const name = `snapcontent-${uid}`;
  const spec = {
    driver,
    deletionPolicy: sort.deletionPolicy,
    volumeSnapshotClassName: className,
    source: { volumeHandle },
    volumeSnapshotRef: referenceTo(snapshot),
  };
  const resource = client.resource(volumeSnapshotContents);
  try {
    await resource.create({ metadata: { name }, spec });
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
  await tell(client, name, { snapshotHandle: `snap-${uid}-of-${volumeHandle}`, readyToUse: true });
  return { boundVolumeSnapshotContentName: name, readyToUse: true, error: null };
}

/** Binds a snapshot to a pre-provisioned content. */
async function offer(
  snapshot: Snapshotted,
  name: string,
  client: Client,
): Promise<object | undefined> {
  const content = await client.resource(volumeSnapshotContents).find({ name });
  if (content === undefined) return undefined;
  const reference = content.spec["volumeSnapshotRef"] as { name?: string; namespace?: string };
  const { metadata } = snapshot;
  if (reference.name !== metadata.name || reference.namespace !== metadata.namespace)
    return failed(`content ${name} is of another snapshot`);
  const { snapshotHandle } = content.spec["source"] as { snapshotHandle?: string };
  if (snapshotHandle === undefined) return failed(`content ${name} has no handle`);
  await tell(client, name, { snapshotHandle, readyToUse: true });
  return { boundVolumeSnapshotContentName: name, readyToUse: true, error: null };
}

async function tell(client: Client, name: string, status: object): Promise<void> {
  const patch = { type: "merge" as const, patch: { status } as never };
  await client.resource(volumeSnapshotContents).patchStatus({ name }, patch);
}

function failed(message: string): object {
  return { readyToUse: false, error: { message } };
}

/** Deletes the contents of a deleted snapshot, unless they are retained. */
async function removeContents(
  { namespace, name }: ObjectKey,
  contents: readonly Snapshotted[],
  client: Client,
): Promise<void> {
  for (const content of contents) {
    const reference = content.spec["volumeSnapshotRef"] as { name?: string; namespace?: string };
    const isOfIt = reference.name === name && reference.namespace === namespace;
    if (!isOfIt || content.spec["deletionPolicy"] !== "Delete") continue;
    await client.resource(volumeSnapshotContents).delete({ name: content.metadata.name });
  }
}

/** The snapshot handle that a claim is restored from; undefined: not yet, "": none. */
export async function handleFor(
  { metadata, spec }: PersistentVolumeClaim,
  client: Client,
): Promise<string | undefined> {
  const { dataSource } = spec;
  if (dataSource?.kind !== "VolumeSnapshot") return "";
  const { namespace = "" } = metadata;
  const snapshot = await client
    .resource(volumeSnapshots)
    .find({ namespace, name: dataSource.name });
  if (snapshot?.status?.["readyToUse"] !== true) return undefined;
  const name = String(snapshot.status["boundVolumeSnapshotContentName"]);
  const content = await client.resource(volumeSnapshotContents).find({ name });
  const handle = content?.status?.["snapshotHandle"];
  return typeof handle === "string" ? handle : undefined;
}

async function volumeOf(
  claim: PersistentVolumeClaim | undefined,
  client: Client,
): Promise<{ readonly driver: string; readonly volumeHandle: string } | undefined> {
  if (claim?.status?.phase !== "Bound") return undefined;
  const { volumeName: name = "" } = claim.spec;
  const volume = await client.resource(persistentVolumes).find({ name });
  return volume?.spec["csi"] as never;
}

function ofSnapshot({ spec }: Snapshotted, { cluster }: ObjectKey): readonly ObjectKey[] {
  const { namespace = "", name } = spec["volumeSnapshotRef"] as {
    namespace?: string;
    name?: string;
  };
  return name === undefined ? [] : [{ cluster, namespace, name }];
}

function sourceOf({ spec }: Snapshotted): {
  readonly persistentVolumeClaimName?: string;
  readonly volumeSnapshotContentName?: string;
} {
  return (spec["source"] ?? {}) as object;
}

function referenceTo({ metadata: { namespace = "", name, uid = "" } }: Snapshotted) {
  const of = { apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshot" };
  return { ...of, namespace, name, uid };
}
