/**
 * The resources that the control plane serves natively and that workloads depend on. They are
 * synced to a SyncTarget whose resources name them, and are not included in "*": a user who wants
 * Secrets in a cluster names them.
 */
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

const kinds: ReadonlyMap<string, string> = new Map([
  ["configmaps", "ConfigMap"],
  ["secrets", "Secret"],
  ["serviceaccounts", "ServiceAccount"],
]);

/** Whether the resource, as `resource.group` in `spec.resources`, is one of them. */
export function isSyncedNative(name: string): boolean {
  return kinds.has(name);
}

/** The resource by its name; throws for any other name. */
export function syncedNative(name: string): Resource {
  const kind = kinds.get(name);
  if (kind === undefined) throw new Error(`${name} is not synced by itself`);
  return defineResource<KubernetesObject>({
    group: "",
    version: "v1",
    resource: name,
    kind,
    namespaced: true,
  });
}
