/**
 * Resolves names such as `deployments.apps` to synced resources: the kinds as the control plane
 * serves them.
 */
import type { ApiResource, Client } from "@kcp-ts/sdk";
import { servedResources } from "../api/index.ts";
import type { SyncedResource } from "./context.ts";

export interface ResolvedResources {
  readonly resources: readonly SyncedResource[];
  /** Requested resources that are not served or cannot be watched; they may appear later. */
  readonly missing: readonly string[];
}

export async function resolveResources(
  client: Client,
  names: readonly string[],
): Promise<ResolvedResources> {
  const served = await servedResources(client);
  const resources = names.flatMap((name) => {
    const found = served.get(name);
    return found === undefined ? [] : [syncedResource(found)];
  });
  return { resources, missing: names.filter((name) => !served.has(name)) };
}

function syncedResource(found: ApiResource): SyncedResource {
  const { group, version, resource, kind, namespaced, subresources } = found;
  return {
    resource: { group, version, resource, kind, namespaced },
    hasStatus: subresources.some(({ name }) => name === "status"),
  };
}
