/** Where an export's provider finds the objects of its consumers: listed as long as there is at least one. */

import { apiVersionOf } from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type LabelSelector,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { type Condition, conditionsOf, member, setCondition } from "../workspaces/index.ts";
import { textOf } from "./kinds/as-definition.ts";
import { apiExports } from "./kinds/definitions.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import { resolveExportPath } from "./settle-binding.ts";

/** On an export: no slice is made for it. */
export const skipSliceAnnotation = "apiexports.apis.kcp.io/skip-endpointslice";

export function endpointUrl(externalUrl: string, cluster: ClusterName, name: string): string {
  return `${externalUrl}/services/apiexport/${cluster}/${name}`;
}

/** The slice that comes with an export. */
export function endpointSlice(exported: JsonObject): JsonObject {
  const metadata = member(exported, "metadata");
  const [name, uid] = [textOf(metadata["name"]), textOf(metadata["uid"])];
  const path = textOf(member(metadata, "annotations")["kcp.io/path"]);
  const { kind } = apiExports;
  return {
    metadata: {
      ownerReferences: [{ apiVersion: apiVersionOf(apiExports), kind, name, uid }],
    },
    spec: { export: { name, ...(path === "" ? {} : { path }) } },
  };
}

export async function endpointStatus(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  slice: JsonObject,
  externalUrl: string,
): Promise<JsonObject> {
  const before = member(slice, "status");
  const spec = member(slice, "spec");
  const { path, name } = member(spec, "export");
  const exportCluster = await resolveExportPath(parts, cluster, textOf(path));
  const record =
    exportCluster === undefined
      ? undefined
      : parts.exports.get(keyOf(apiExports, exportCluster, textOf(name)));
  const valid: Condition =
    record === undefined
      ? {
          type: "APIExportValid",
          status: "False",
          severity: "Error",
          reason: "APIExportNotFound",
          message: `APIExport ${textOf(path) || cluster}:${textOf(name)} not found`,
        }
      : { type: "APIExportValid", status: "True" };
  const isUsed = record !== undefined && parts.bindings.hasBindingsTo(record.cluster, record.name);
  const partition = await partitionOf(parts, cluster, textOf(spec["partition"]));
  const isListed = isUsed && (await includesThisShard(parts, partition));
  const nowMs = parts.clock.now();
  const conditions = setCondition(conditionsOf(before), valid, nowMs);
  const { shardSelector: _, ...rest } = before;
  return {
    ...rest,
    ...(partition.selector === undefined ? {} : { shardSelector: String(partition.selector) }),
    endpoints: isListed ? [{ url: endpointUrl(externalUrl, record.cluster, record.name) }] : [],
    conditions: setCondition(conditions, partition.condition, nowMs),
  };
}

export interface CoveredShards {
  readonly condition: Condition;
  /** Undefined when nobody can say which. */
  readonly selector: LabelSelector | undefined;
}

/** Which shards a slice covers: all of them, unless it names a Partition beside it. */
export async function partitionOf(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  name: string,
): Promise<CoveredShards> {
  const type = "PartitionValid";
  const isNot = (message: string): CoveredShards => ({
    condition: {
      ...{ type, status: "False", severity: "Error" },
      ...{ reason: "PartitionInvalidReference", message },
    },
    selector: undefined,
  });
  const selector = name === "" ? {} : await parts.partitionIn(cluster, name);
  if (selector === undefined) return isNot(`partitions.topology.kcp.io "${name}" not found`);
  try {
    return {
      condition: { type, status: "True" },
      selector: selectorFromLabelSelectorObject(selector),
    };
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return isNot(error.message);
    throw error;
  }
}

/** Whether the shard that this server is belongs to them. */
export async function includesThisShard(
  parts: ApiSharingDependencies,
  { selector }: CoveredShards,
): Promise<boolean> {
  if (selector === undefined) return false;
  return selector.isEmpty || selector.matches(await parts.shardLabels());
}

/** Whether a slice that names this Partition, or none, covers the shard that this server is. */
export async function sliceCoversThisShard(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  partition: string,
): Promise<boolean> {
  return partition === "" || includesThisShard(parts, await partitionOf(parts, cluster, partition));
}
