/**
 * APIExportEndpointSlices: list the endpoint where an export's provider accesses its consumers'
 * objects, as long as there is a consumer.
 */
import { apiVersionOf } from "@kcp-ts/apiserver/registry";
import { type JsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type LabelSelector,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { type Condition, conditionsOf, member, setCondition } from "../workspaces/index.ts";
import { type ApiSharingDependencies, exportIn } from "./dependencies.ts";
import { resolveExportPath } from "./desired-binding-status.ts";
import { apiExports } from "./kinds/definitions.ts";
import type { ExportRecord } from "./records.ts";

/** The annotation of an export that suppresses its default endpoint slice. */
export const skipSliceAnnotation = "apiexports.apis.kcp.io/skip-endpointslice";

export function endpointUrl(externalUrl: string, cluster: ClusterName, name: string): string {
  return `${externalUrl}/services/apiexport/${cluster}/${name}`;
}

/** The default endpoint slice of an export. */
export function endpointSlice(exported: JsonObject): JsonObject {
  const metadata = member(exported, "metadata");
  const [name, uid] = [textOf(metadata["name"]), textOf(metadata["uid"])];
  const path = textOf(member(metadata, "annotations")["kcp.io/path"]);
  const { kind } = apiExports;
  return {
    metadata: { ownerReferences: [{ apiVersion: apiVersionOf(apiExports), kind, name, uid }] },
    spec: { export: { name, ...(path === "" ? {} : { path }) } },
  };
}

export async function endpointStatus(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  slice: JsonObject,
  externalUrl: string,
): Promise<JsonObject> {
  const before = member(slice, "status");
  const spec = member(slice, "spec");
  const { path, name } = member(spec, "export");
  const exportCluster = await resolveExportPath(dependencies, cluster, textOf(path));
  const record =
    exportCluster === undefined
      ? undefined
      : await exportIn(dependencies, exportCluster, textOf(name));
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
  const isUsed =
    record !== undefined && dependencies.bindings.hasBindingsTo(record.cluster, record.name);
  const partition = await partitionOf(dependencies, cluster, textOf(spec["partition"]));
  const urls =
    record === undefined ? [] : await urlsOf(dependencies, record, partition, isUsed, externalUrl);
  const nowMs = dependencies.clock.now();
  const conditions = setCondition(conditionsOf(before), valid, nowMs);
  const { shardSelector: _, ...rest } = before;
  return {
    ...rest,
    ...(partition.selector === undefined ? {} : { shardSelector: String(partition.selector) }),
    endpoints: urls.map((url) => ({ url })),
    conditions: setCondition(conditions, partition.condition, nowMs),
  };
}

/** One URL for each shard with consumers that the slice covers. */
async function urlsOf(
  dependencies: ApiSharingDependencies,
  { cluster, name, consumerShards }: ExportRecord,
  partition: CoveredShards,
  isUsedHere: boolean,
  externalUrl: string,
): Promise<string[]> {
  const { selector } = partition;
  const { replicas } = dependencies;
  if (replicas === undefined) {
    const isListed = isUsedHere && (await includesThisShard(dependencies, partition));
    return isListed ? [endpointUrl(externalUrl, cluster, name)] : [];
  }
  if (selector === undefined) return [];
  const used = new Set(consumerShards);
  if (isUsedHere) used.add(replicas.ownName);
  else used.delete(replicas.ownName);
  const found: string[] = [];
  for (const { name: shard, labels, virtualWorkspaceUrl } of await dependencies.shards())
    if (used.has(shard) && (selector.isEmpty || selector.matches(labels)))
      found.push(endpointUrl(virtualWorkspaceUrl || externalUrl, cluster, name));
  return found;
}

export interface CoveredShards {
  readonly condition: Condition;
  /** Undefined when the Partition is missing or invalid. */
  readonly selector: LabelSelector | undefined;
}

/**
 * The shards that a slice covers: all of them, unless it references a Partition of its own
 * workspace.
 */
export async function partitionOf(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  name: string,
): Promise<CoveredShards> {
  const type = "PartitionValid";
  const isNot = (message: string): CoveredShards => ({
    condition: {
      type,
      status: "False",
      severity: "Error",
      reason: "PartitionInvalidReference",
      message,
    },
    selector: undefined,
  });
  const selector = name === "" ? {} : await dependencies.partitionIn(cluster, name);
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

/** Whether this server's shard is among them. */
export async function includesThisShard(
  dependencies: ApiSharingDependencies,
  { selector }: CoveredShards,
): Promise<boolean> {
  if (selector === undefined) return false;
  return selector.isEmpty || selector.matches(await dependencies.shardLabels());
}

/** Whether a slice with this Partition, or without one, covers this server's shard. */
export async function sliceCoversThisShard(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  partition: string,
): Promise<boolean> {
  return (
    partition === "" ||
    includesThisShard(dependencies, await partitionOf(dependencies, cluster, partition))
  );
}
