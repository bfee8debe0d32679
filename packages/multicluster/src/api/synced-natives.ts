/**
 * Of what the control plane serves by itself, what workloads take along. It is synced to a SyncTarget whose resources name it, and never as a part of
 * "all": who wants Secrets in a cluster says so.
 */
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

const kinds: ReadonlyMap<string, string> = new Map([
  ["configmaps", "ConfigMap"],
  ["secrets", "Secret"],
  ["serviceaccounts", "ServiceAccount"],
]);

/** By `resource.group`, as in `spec.resources`. */
export function isSyncedNative(name: string): boolean {
  return kinds.has(name);
}

/** Throws for what is none. */
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
