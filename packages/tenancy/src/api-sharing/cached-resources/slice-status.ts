/**
 * The desired status of a ClusterCachedResourceEndpointSlice: whether its references resolve, and
 * the endpoint of the consumers' objects.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type Condition,
  conditionsOf,
  errorCondition,
  member,
  setCondition,
} from "../../workspaces/index.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import { includesThisShard, partitionOf } from "../endpoint-slices.ts";
import type { ExportRecord } from "../records.ts";
import { type CachedResourceRecord, type CachedSliceRecord, resourceServedBy } from "./records.ts";

/** The referenced objects of a slice; undefined for references that do not resolve. */
export interface SliceTargets {
  exportOf(slice: CachedSliceRecord): Promise<ExportRecord | undefined>;
  resourceOf(slice: CachedSliceRecord): Promise<CachedResourceRecord | undefined>;
}

export async function cachedSliceStatus(
  dependencies: ApiSharingDependencies,
  targets: SliceTargets,
  slice: CachedSliceRecord,
  { object, externalUrl }: { readonly object: JsonObject; readonly externalUrl: string },
): Promise<JsonObject> {
  const [record, exported] = [await targets.resourceOf(slice), await targets.exportOf(slice)];
  const partition = await partitionOf(dependencies, slice.cluster, slice.partitionName);
  const told = [
    resourceCondition(slice, record),
    exportCondition(slice, record, exported),
    partition.condition,
  ];
  const isListed =
    told.every(({ status }) => status === "True") &&
    exported !== undefined &&
    dependencies.bindings.hasBindingsTo(exported.cluster, exported.name) &&
    (await includesThisShard(dependencies, partition));
  const { shardSelector: _, ...before } = member(object, "status");
  const nowMs = dependencies.clock.now();
  const { cluster, name } = slice;
  return {
    ...before,
    ...(partition.selector === undefined ? {} : { shardSelector: String(partition.selector) }),
    endpoints: isListed ? [{ url: `${externalUrl}/services/replication/${cluster}/${name}` }] : [],
    conditions: told.reduce<readonly JsonObject[]>(
      (conditions, condition) => setCondition(conditions, condition, nowMs),
      conditionsOf(before),
    ) as JsonObject[],
  };
}

function resourceCondition(
  { cluster, resourcePath, resourceName }: CachedSliceRecord,
  record: CachedResourceRecord | undefined,
): Condition {
  const type = "ResourceValid";
  if (record !== undefined) return { type, status: "True" };
  const place = `${resourcePath || cluster}|${resourceName}`;
  const message = `Error getting ClusterCachedResource ${place}`;
  return errorCondition(type, "ClusterCachedResourceNotFound", message);
}

function exportCondition(
  slice: CachedSliceRecord,
  record: CachedResourceRecord | undefined,
  exported: ExportRecord | undefined,
): Condition {
  const type = "APIExportValid";
  const place = `${slice.exportPath || slice.cluster}|${slice.exportName}`;
  const is = (what: string) =>
    errorCondition(type, "APIExportInvalidReference", `APIExport ${place} ${what}`);
  if (exported === undefined) return is("not found");
  // An export references only slices of its own workspace.
  const resource =
    exported.cluster === slice.cluster ? resourceServedBy(exported, slice.name) : undefined;
  if (resource === undefined)
    return is("does not reference this ClusterCachedResourceEndpointSlice");
  if (record === undefined) return { type, status: "True" };
  if (resource.virtual?.identityHash !== record.identityHash)
    return is("does not have the identityHash of the ClusterCachedResource");
  if (resource.resource !== record.resource || resource.group !== record.group)
    return is("has another resource than the ClusterCachedResource");
  return { type, status: "True" };
}
