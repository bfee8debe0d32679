/**
 * The resources of which a SyncTarget may hold objects: those that it imports or syncs now, and
 * those that it has synced before. `spec.resources` may have been narrowed since.
 */
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  type ApiResource,
  type Client,
  defineResource,
  discover,
  type KubernetesObject,
  type Resource,
} from "@kcp-ts/sdk";
import { apiResourceImports } from "./api-resources.ts";
import { groupOf } from "./import-informer.ts";
import type { SyncTarget } from "./sync-target.ts";
import { syncedNativeResources } from "./synced-natives.ts";

/** As the logical cluster serves them; an API that is not served has no objects. */
export async function resourcesOfTarget(
  client: Client,
  { metadata: { name }, status }: Pick<SyncTarget, "metadata" | "status">,
  signal: AbortSignal,
): Promise<readonly Resource<KubernetesObject>[]> {
  const names = new Set([
    ...syncedNativeResources.keys(),
    ...(status?.syncedResources ?? []),
    ...(status?.formerResources ?? []),
  ]);
  // Metadata alone: the schemas of the imports are megabytes, and their names say enough.
  const { items } = await client.resource(apiResourceImports).listMetadata({ signal });
  for (const { metadata } of items) {
    const [resource = "", location, version = "", ...rest] = metadata.name.split(".");
    const group = groupOf({ version, group: rest.join(".") });
    if (location === name) names.add(formatGroupResource({ group, resource }));
  }
  const served = await servedResources(client, signal);
  return [...names].flatMap((one) => {
    const found = served.get(one);
    return found === undefined ? [] : [defineResource<KubernetesObject>(found)];
  });
}

/** The watchable resources of a logical cluster by `resource.group`, in their preferred version. */
export async function servedResources(
  client: Client,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, ApiResource>> {
  const { groups } = await discover(client, signal === undefined ? {} : { signal });
  const served = new Map<string, ApiResource>();
  for (const { versions } of groups) {
    // The first version is the preferred one.
    for (const resource of versions.flatMap(({ resources }) => resources)) {
      const name = formatGroupResource(resource);
      if (!served.has(name) && resource.verbs.includes("watch")) served.set(name, resource);
    }
  }
  return served;
}
