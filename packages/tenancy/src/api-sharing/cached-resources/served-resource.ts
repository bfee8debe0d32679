/**
 * The resource that a ClusterCachedResource names, as its own workspace serves it, with its
 * selector; or the error.
 */
import type { Catalog, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import type { ApiSharingDependencies } from "../dependencies.ts";
import type { CachedResourceRecord } from "./records.ts";

export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export interface SelectedResource {
  readonly definition: ResourceDefinition;
  readonly selector: LabelSelector;
}

export function isProblem(one: SelectedResource | Problem): one is Problem {
  return "reason" in one;
}

export async function servedResource(
  { bindings }: Pick<ApiSharingDependencies, "bindings">,
  catalog: Catalog,
  record: CachedResourceRecord,
): Promise<SelectedResource | Problem> {
  const { cluster, group, resource, selector } = record;
  const name = group === "" ? resource : `${resource}.${group}`;
  if (typeof selector === "string") return { reason: "InvalidLabelSelector", message: selector };
  // A workspace may not publish a resource with virtual storage: its objects belong to another
  // workspace.
  if (bindings.inCluster(cluster)?.find(group, resource)?.bound.isVirtual === true)
    return { reason: "NoResources", message: `Resource ${name} is not stored in this workspace` };
  const version = record.version || (await preferredVersion(catalog, record));
  const definition = await catalog.find(cluster, group, version, resource);
  const isStored = definition?.verbs.includes("list") === true && definition.computed === undefined;
  if (!isStored)
    return { reason: "NoResources", message: `Resource ${name} is not served in this workspace` };
  if (definition.isNamespaced)
    return {
      reason: "ResourceNotClusterScoped",
      message: `Resource ${name} is not cluster-scoped`,
    };
  return { definition, selector };
}

async function preferredVersion(
  catalog: Catalog,
  { cluster, group, resource }: CachedResourceRecord,
): Promise<string> {
  const all = await catalog.all(cluster);
  return all.find((one) => one.resource === resource && one.group === group)?.version ?? "";
}
