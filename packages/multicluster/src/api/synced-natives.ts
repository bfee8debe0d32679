/**
 * The resources that the control plane serves natively and that workloads depend on. They are
 * synced to a SyncTarget whose resources name them, and are not included in "*": a user who wants
 * Secrets in a cluster names them.
 */
import type { KubernetesObject, Resource } from "@kcp-ts/sdk";
import { configMaps, secrets, serviceAccounts } from "@kcp-ts/sdk/kinds";

/** By `resource.group`. */
export const syncedNativeResources: ReadonlyMap<string, Resource<KubernetesObject>> = new Map(
  [configMaps, secrets, serviceAccounts].map((resource) => [resource.resource, resource]),
);

/** Whether the resource, as `resource.group` in `spec.resources`, is one of them. */
export function isSyncedNative(name: string): boolean {
  return syncedNativeResources.has(name);
}
