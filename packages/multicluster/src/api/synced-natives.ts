/**
 * The resources that the control plane serves natively and that workloads depend on. They are
 * synced to a SyncTarget whose resources name them, and are not included in "*": a user who wants
 * Secrets in a cluster names them.
 */
import { builtInResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

/** By `resource.group`. */
export const syncedNativeResources: ReadonlyMap<string, Resource<KubernetesObject>> = new Map(
  (["configmaps", "secrets", "serviceaccounts"] as const).map((name) => [
    name,
    builtInResource<KubernetesObject>(name),
  ]),
);

/** Whether the resource, as `resource.group` in `spec.resources`, is one of them. */
export function isSyncedNative(name: string): boolean {
  return syncedNativeResources.has(name);
}
