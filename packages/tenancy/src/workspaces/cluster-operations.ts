/**
 * What other shards ask about logical clusters of this one: a parent's shard creates and deletes
 * the clusters of its workspaces, and reads how they are; the shard of a cluster reads its owner.
 */
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Operations } from "../shards/index.ts";
import { createLogicalCluster, type NewLogicalCluster } from "./create-logical-cluster.ts";
import {
  logicalClusterKey,
  type OtherShards,
  type TenancyDependencies,
  uncancelled,
} from "./dependencies.ts";
import { workspaceKey } from "./workspace-tree.ts";
import { bindingsInitializer } from "./workspace-types.ts";

export interface ClusterOperationsOptions {
  readonly dependencies: TenancyDependencies;
  readonly enqueue: (key: StorageKey) => void;
  readonly trackNewCluster: (cluster: ClusterName) => void;
  readonly scheduleOrphanCheck: (cluster: ClusterName) => () => void;
  readonly deleteUnowned: (cluster: ClusterName) => Promise<void>;
}

export function clusterOperations(options: ClusterOperationsOptions): Operations {
  const { dependencies, enqueue, deleteUnowned } = options;
  return {
    createCluster: (cluster, wanted) =>
      createHere(options, { ...(wanted as unknown as NewLogicalCluster), cluster }),
    async deleteCluster(cluster) {
      await deleteUnowned(cluster);
      return undefined;
    },
    readCluster: (cluster) => read(dependencies, logicalClusterKey(cluster)),
    readWorkspace: (cluster, name) => read(dependencies, workspaceKey(cluster, String(name))),
    /** The owner of a cluster has changed, or is gone. */
    async lookAtCluster(cluster) {
      enqueue(logicalClusterKey(cluster));
      return undefined;
    },
    /** The logical cluster of a workspace has changed. */
    async lookAtWorkspace(cluster, name) {
      enqueue(workspaceKey(cluster, String(name)));
      return undefined;
    },
  };
}

/**
 * The Workspace is stored afterwards, on the shard that asks: without it, the logical cluster is
 * deleted by the check for an owner.
 */
async function createHere(
  { dependencies, trackNewCluster, scheduleOrphanCheck }: ClusterOperationsOptions,
  wanted: NewLogicalCluster,
): Promise<JsonValue> {
  const { cluster, bindings, waiting } = wanted;
  const found = await dependencies.logicalClusterIndex.get(logicalClusterKey(cluster));
  if (found !== undefined) return "taken";
  trackNewCluster(cluster);
  scheduleOrphanCheck(cluster);
  // Exports that this shard does not know yet are bound later.
  const isComplete =
    bindings.length === 0 || (await dependencies.areDefaultBindingsComplete(cluster, bindings));
  const isAlsoWaiting = !isComplete && !waiting.includes(bindingsInitializer);
  return createLogicalCluster(dependencies, {
    ...wanted,
    waiting: isAlsoWaiting ? [...waiting, bindingsInitializer] : waiting,
  });
}

async function read(
  { watchCache }: TenancyDependencies,
  key: StorageKey,
): Promise<JsonObject | undefined> {
  const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
  return entry === undefined ? undefined : decodeObject(entry);
}

/** The LogicalCluster of another shard; undefined when there is none. */
export async function readClusterElsewhere(
  shards: OtherShards,
  cluster: ClusterName,
): Promise<JsonObject | undefined> {
  return ((await shards.ask(cluster, "readCluster", null)) ?? undefined) as JsonObject | undefined;
}
