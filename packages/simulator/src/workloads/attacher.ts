/**
 * Simulated attaching: a volume with a handle is attached while a Pod on a node uses its claim,
 * terminating Pods included. Like the external attacher of a real cluster, the controller sets a
 * finalizer on the volume.
 */
import { Controller, type KubernetesObject, type ObjectKey } from "@kcp-ts/sdk";
import { type PersistentVolume, type Pod, persistentVolumes, pods } from "../api/index.ts";
import { claimRefOf } from "./claim.ts";
import type { WorkloadContext } from "./context.ts";

export const attacherFinalizer = "external-attacher/sim-kcp-io";

export function attacherController(context: WorkloadContext): Controller {
  const volumes = context.clusters.source(persistentVolumes);
  const running = context.clusters.source(pods);
  return new Controller({
    name: "attach-detach",
    ...context,
    async reconcile(key, { client }) {
      const volume = volumes.store.get(key);
      if (volume === undefined || volume.spec["csi"] === undefined) return;
      const { namespace, name } = claimRefOf(volume);
      const isUsed =
        namespace !== undefined &&
        running.store
          .list({ cluster: key.cluster, namespace })
          .some((pod) => isOnNode(pod) && claimNames(pod).includes(name ?? ""));
      const { finalizers = [] } = volume.metadata;
      if (finalizers.includes(attacherFinalizer) === isUsed) return;
      const others = finalizers.filter((one) => one !== attacherFinalizer);
      const { resourceVersion = "" } = volume.metadata;
      const next = isUsed ? [...others, attacherFinalizer] : others;
      const patch = { metadata: { resourceVersion, finalizers: next } };
      await client.resource(persistentVolumes).patch({ name: key.name }, { type: "merge", patch });
    },
  })
    .watch(persistentVolumes)
    .watch(pods, {
      map: (pod: Pod, { cluster, namespace }: ObjectKey) => {
        const names = claimNames(pod);
        if (names.length === 0) return [];
        const isOf = (volume: PersistentVolume) => {
          const claim = claimRefOf(volume);
          return claim.namespace === namespace && names.includes(claim.name ?? "");
        };
        return volumes.store
          .list({ cluster })
          .filter(isOf)
          .map(({ metadata }: KubernetesObject) => ({
            cluster,
            namespace: "",
            name: metadata.name,
          }));
      },
    });
}

function isOnNode({ spec, status }: Pod): boolean {
  return Boolean(spec.nodeName) && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function claimNames({ spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    const claim = volume["persistentVolumeClaim"] as { claimName?: string } | undefined;
    return claim?.claimName === undefined ? [] : [claim.claimName];
  });
}
