/**
 * Volumes for clusters that bind them on their own, as a storage driver creates them: a volume for
 * each claim of the simulated classes. There are no disks.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, Controller } from "@kcp-ts/sdk";
import {
  isTerminating,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
  storageClasses,
} from "../api/index.ts";
import { volumeFor } from "./claim.ts";
import type { WorkloadContext } from "./context.ts";

const provisioner = "sim.kcp.io/pretend";
/** Other clusters can reach volumes of the second class; claims without a class get the first. */
const classNames = ["sim", "shared"] as const;

export function provisionerController(context: WorkloadContext): Controller {
  const found = context.clusters.source<PersistentVolumeClaim>(persistentVolumeClaims);
  return new Controller({
    name: "provisioner",
    ...context,
    async reconcile(key, { client }) {
      const claim = found.store.get(key);
      if (claim === undefined || isTerminating(claim) || claim.spec.volumeName) return;
      const { storageClassName } = claim.spec;
      if (!classNames.some((name) => name === storageClassName)) return;
      const { name, spec } = volumeFor(claim);
      // The provisioner of a volume deletes it: the annotation shows that it is not the cluster
      // itself.
      const annotations = { "pv.kubernetes.io/provisioned-by": provisioner };
      try {
        await client.resource(persistentVolumes).create({ metadata: { name, annotations }, spec });
      } catch (error) {
        if (!isStatusError(error, "AlreadyExists")) throw error;
      }
    },
  }).watch(persistentVolumeClaims);
}

export async function createStorageClasses(client: Client): Promise<void> {
  for (const [index, name] of classNames.entries()) {
    const annotations = { "storageclass.kubernetes.io/is-default-class": String(index === 0) };
    const reclaimPolicy = index === 0 ? "Delete" : "Retain";
    const wanted: Omit<StorageClass, "apiVersion" | "kind"> = {
      metadata: { name, annotations },
      provisioner,
      reclaimPolicy,
      volumeBindingMode: "Immediate",
    };
    await client.resource(storageClasses).create(wanted);
  }
}
