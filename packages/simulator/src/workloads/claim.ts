/** PersistentVolumeClaims: every claim gets a volume of the size it asks for, made for it. There is no disk behind it. */
import { isStatusError } from "@kcp-ts/machinery/status";
import { Controller } from "@kcp-ts/sdk";
import {
  isTerminating,
  persistentVolumeClaims,
  persistentVolumes,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";

export function claimController({ clusters, clock, onError }: WorkloadContext): Controller {
  const found = clusters.source(persistentVolumeClaims);
  return new Controller({
    name: "persistentvolume-binder",
    clusters,
    clock,
    onError,
    async reconcile(key, { client }) {
      const claim = found.store.get(key);
      if (claim === undefined || isTerminating(claim) || claim.status?.phase === "Bound") return;
      const { name, namespace = "", uid = "" } = claim.metadata;
      const { accessModes = [], storageClassName = "sim", volumeMode = "Filesystem" } = claim.spec;
      const storage = claim.spec.resources?.requests?.["storage"] ?? "1Gi";
      const volumeName = claim.spec.volumeName || `pvc-${uid}`;
      if (!claim.spec.volumeName) {
        const spec = {
          capacity: { storage },
          accessModes,
          storageClassName,
          volumeMode,
          persistentVolumeReclaimPolicy: "Delete",
          hostPath: { path: `/sim/${volumeName}` },
          claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
        };
        const volumes = client.resource(persistentVolumes);
        try {
          const volume = await volumes.create({ metadata: { name: volumeName }, spec });
          await writeStatus(client, persistentVolumes, volume, { phase: "Bound" });
        } catch (error) {
          if (!isStatusError(error, "AlreadyExists")) throw error;
        }
        // The next pass sees the volume's name, and says that the claim is bound.
        await client
          .resource(persistentVolumeClaims)
          .update({ ...claim, spec: { ...claim.spec, volumeName, storageClassName } });
        return;
      }
      const status = { phase: "Bound", accessModes, capacity: { storage } };
      await writeStatus(client, persistentVolumeClaims, claim, status);
    },
  }).watch(persistentVolumeClaims);
}
