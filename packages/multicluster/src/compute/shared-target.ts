/** A SyncTarget as the tenants of its compute workspace see it. */
import { type SyncTarget, sharedTargetName } from "../api/index.ts";
import type { ComputeExport } from "./compute-export.ts";

/** The shared SyncTarget has another name, no connection data, and only the exported kinds. */
export function sharedTargetOf(
  target: SyncTarget,
  home: string,
  offer: ComputeExport | undefined,
): SyncTarget {
  const { metadata, spec = {}, status } = target;
  const { kubeconfig: _, kubeconfigSecretRef: __, ...rest } = spec;
  const name = sharedTargetName({ name: metadata.name, cluster: home });
  const offered = new Set([...(offer?.resources ?? []), ...(offer?.claims ?? [])]);
  const synced = status?.syncedResources ?? [...offered];
  const syncedResources = synced.filter((resource) => offered.has(resource));
  return {
    ...target,
    metadata: { ...metadata, name },
    spec: rest,
    status: { ...status, syncedResources },
  };
}
