/**
 * PersistentVolumeClaims and PersistentVolumes, without disks. A claim that names a volume is bound
 * to it when it exists and is available; every other claim gets a volume that is created for it.
 * Storage classes whose name begins with `shared` create volumes that other clusters can reach by
 * their handle, and that outlive their claims; those that begin with `snap` create volumes that
 * support snapshots and are deleted with their claims; all others are local to a node and are
 * deleted with their claims, too.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, Controller, type KubernetesObject, type ObjectKey } from "@kcp-ts/sdk";
import {
  isTerminating,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { snapshotDriver, volumeSnapshots } from "./snapshot-kinds.ts";
import { handleFor } from "./snapshotter.ts";

export const sharedDriver = "shared.sim.kcp.io";

export function claimController(context: WorkloadContext): Controller {
  const found = context.clusters.source(persistentVolumeClaims);
  const controller = new Controller({
    name: "persistentvolume-binder",
    ...context,
    async reconcile(key, { client }) {
      const claim = found.store.get(key);
      if (claim === undefined || isTerminating(claim) || claim.status?.phase === "Bound") return;
      const { volumeName } = claim.spec;
      if (!volumeName) return provision(claim, client);
      const volume = await client.resource(persistentVolumes).find({ name: volumeName });
      if (volume === undefined) return;
      if (!(await take(volume, claim, client))) return;
      const { accessModes = [] } = claim.spec;
      const capacity = volume.spec["capacity"] as Record<string, string> | undefined;
      const status = {
        phase: "Bound",
        accessModes,
        ...(capacity === undefined ? {} : { capacity }),
      };
      await writeStatus(client, persistentVolumeClaims, claim, status);
    },
  })
    .watch(persistentVolumeClaims)
    .watch(persistentVolumes, {
      // A claim that names a volume may have waited for it.
      map: ({ metadata }: KubernetesObject, { cluster }: ObjectKey) =>
        found.store
          .list({ cluster })
          .filter(({ spec }) => spec.volumeName === metadata.name)
          .map((claim) => keyOf(claim, cluster)),
    });
  if (!context.hasSnapshots) return controller;
  return controller.watch(volumeSnapshots, {
    map: ({ metadata }: KubernetesObject, { cluster, namespace }: ObjectKey) =>
      found.store
        .list({ cluster, namespace })
        .filter(({ spec }) => spec.dataSource?.name === metadata.name)
        .map((claim) => keyOf(claim, cluster)),
  });
}

/** Reclaims volumes whose claims are deleted: deletes or releases them. */
export function reclaimController(context: WorkloadContext): Controller {
  const found = context.clusters.source(persistentVolumes);
  return new Controller({
    name: "persistentvolume-reclaimer",
    ...context,
    async reconcile(key, { client }) {
      const volume = found.store.get(key);
      const { namespace = "", name, uid } = claimRefOf(volume);
      if (volume === undefined || name === undefined || isTerminating(volume)) return;
      const claim = await client.resource(persistentVolumeClaims).find({ namespace, name });
      if (claim !== undefined && claim.metadata.uid === uid) return;
      if (volume.spec["persistentVolumeReclaimPolicy"] === "Delete") {
        await client.resource(persistentVolumes).delete({ name: volume.metadata.name });
      } else if (volume.status?.phase !== "Released") {
        await writeStatus(client, persistentVolumes, volume, { phase: "Released" });
      }
    },
  })
    .watch(persistentVolumes)
    .watch(persistentVolumeClaims, {
      map: ({ metadata }: KubernetesObject, { cluster }: ObjectKey) =>
        found.store
          .list({ cluster })
          .filter((volume) => claimRefOf(volume).uid === metadata.uid)
          .map((volume) => keyOf(volume, cluster)),
    });
}

async function provision(claim: PersistentVolumeClaim, client: Client): Promise<void> {
  const handle = await handleFor(claim, client);
  if (handle === undefined) return;
  const { name: volumeName, spec } = volumeFor(claim, handle);
  try {
    const volume = await client
      .resource(persistentVolumes)
      .create({ metadata: { name: volumeName }, spec });
    await writeStatus(client, persistentVolumes, volume, { phase: "Bound" });
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
  const { storageClassName = "sim" } = claim.spec;
  // The next reconcile reads the volume's name, and reports the claim as bound.
  await client
    .resource(persistentVolumeClaims)
    .update({ ...claim, spec: { ...claim.spec, volumeName, storageClassName } });
}

/** `snapshotHandle`: the snapshot that the volume is restored from, if any. */
export function volumeFor(
  claim: PersistentVolumeClaim,
  snapshotHandle = "",
): { readonly name: string; readonly spec: JsonObject } {
  const { accessModes = [], storageClassName = "sim", volumeMode = "Filesystem" } = claim.spec;
  const storage = claim.spec.resources?.requests?.["storage"] ?? "1Gi";
  const name = `pvc-${claim.metadata.uid ?? ""}`;
  const isShared = storageClassName.startsWith("shared");
  const spec = {
    capacity: { storage },
    accessModes: [...accessModes],
    storageClassName,
    volumeMode,
    persistentVolumeReclaimPolicy: isShared ? "Retain" : "Delete",
    ...sourceFor(name, storageClassName, snapshotHandle),
    claimRef: referenceTo(claim),
  };
  return { name, spec };
}

function sourceFor(name: string, storageClass: string, snapshotHandle: string): JsonObject {
  if (storageClass.startsWith("shared"))
    return { csi: { driver: sharedDriver, volumeHandle: name } };
  if (!storageClass.startsWith("snap")) return { hostPath: { path: `/sim/${name}` } };
  const filled = snapshotHandle === "" ? {} : { volumeAttributes: { from: snapshotHandle } };
  return { csi: { driver: snapshotDriver, volumeHandle: name, ...filled } };
}

/** False when the volume is bound to another claim. */
async function take(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  client: Client,
): Promise<boolean> {
  const { uid } = claimRefOf(volume);
  if (uid !== undefined && uid !== claim.metadata.uid) return false;
  const taken =
    uid !== undefined
      ? volume
      : await client
          .resource(persistentVolumes)
          .update({ ...volume, spec: { ...volume.spec, claimRef: referenceTo(claim) } });
  if (taken.status?.phase !== "Bound")
    await writeStatus(client, persistentVolumes, taken, { phase: "Bound" });
  return true;
}

function referenceTo({ metadata: { name, namespace = "", uid = "" } }: PersistentVolumeClaim) {
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid };
}

export function claimRefOf(volume: PersistentVolume | undefined): {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
} {
  return (volume?.spec["claimRef"] as JsonObject | undefined) ?? {};
}

function keyOf(
  { metadata: { name, namespace = "" } }: KubernetesObject,
  cluster: ObjectKey["cluster"],
) {
  return { cluster, namespace, name };
}
