/** What the files of this room share: one of each per server. */

import {
  collectionKeyOf,
  type Draft,
  type ObjectAddress,
  type Registry,
  type ResourceDefinition,
  type WriteOptions,
} from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import {
  objectKey,
  resourcePrefix,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { type Clock, neverAborted, type Supervisor } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import type { DefaultBindingsState } from "./bindings-initializer.ts";
import { logicalClusterName, logicalClusters, shards } from "./kinds/definitions.ts";
import type { ObjectIndex } from "./object-index.ts";
import type {
  DefaultBinding,
  LogicalClusterRecord,
  WorkspaceRecord,
  WorkspaceTypeRecord,
} from "./records.ts";
import type { ShardRecord } from "./shard.ts";
import type { WorkspaceTree } from "./workspace-tree.ts";
import type { WorkspaceTypes } from "./workspace-types.ts";

/** What every namespace has from its beginning, by whoever would put it there otherwise. */
export type NamespaceDefaults = (namespace: string) => readonly NamespaceDefaultObject[];

export interface NamespaceDefaultObject {
  readonly resource: "configmaps" | "serviceaccounts";
  readonly name: string;
  readonly object: JsonObject;
}

export interface TenancyDependencies {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly workspaceIndex: ObjectIndex<WorkspaceRecord>;
  readonly logicalClusterIndex: ObjectIndex<LogicalClusterRecord>;
  readonly typeIndex: ObjectIndex<WorkspaceTypeRecord>;
  readonly shardIndex: ObjectIndex<ShardRecord>;
  readonly tree: WorkspaceTree;
  readonly types: WorkspaceTypes;
  /** Whether a user may do something to a type of a cluster, whatever else they may there. */
  readonly mayUse: (user: UserInfo, cluster: ClusterName, type: string) => MaybePromise<boolean>;
  /** What a logical cluster serves under this kind; undefined when it serves nothing of the name. */
  readonly kindIn: (
    cluster: ClusterName,
    group: string,
    version: string,
    kind: string,
  ) => Promise<ResourceDefinition | undefined>;
  /** Binds a new logical cluster, which will have this path, to exports. */
  readonly bindDefaults: (
    cluster: ClusterName,
    path: string,
    bindings: readonly DefaultBinding[],
  ) => Promise<void>;
  /** Whether a new logical cluster is bound to all of these by the write that binds it. */
  readonly defaultsComplete: (
    cluster: ClusterName,
    bindings: readonly DefaultBinding[],
  ) => MaybePromise<boolean>;
  /** How far one that is there is with them. */
  readonly defaultsIn: (
    cluster: ClusterName,
    bindings: readonly DefaultBinding[],
  ) => Promise<DefaultBindingsState>;
  /** What is stored together with a new namespace. */
  readonly namespaceContent: NamespaceDefaults;
  /** Binds one that is there already to what it lacks of these, and has it agree to what they claim. */
  readonly keepDefaults: TenancyDependencies["bindDefaults"];
}

/** The server's own writes go through whoever waits. */
export const uncancelled: AbortSignal = neverAborted;

export const systemWriteOptions = {
  isDryRun: false,
  validate: () => undefined,
  signal: uncancelled,
} as const;

const logicalClusterPrefix = resourcePrefix(collectionKeyOf(logicalClusters));

/**
 * Asked for with nearly every request, so it is put together without looking at the parts (names of clusters need no encoding), and it is the same
 * text, whose hash is known, as long as the same cluster is asked for.
 */
export function logicalClusterKey(cluster: ClusterName): StorageKey {
  if (cluster !== last.cluster) {
    last.cluster = cluster;
    last.key = `${logicalClusterPrefix}${cluster}//${logicalClusterName}` as StorageKey;
  }
  return last.key;
}

const last = { cluster: "" as ClusterName, key: "" as StorageKey };

export const shardKey: StorageKey = objectKey({
  ...collectionKeyOf(shards),
  cluster: rootCluster,
  namespace: "",
  name: "root",
});

export function clusterScoped(cluster: ClusterName, name: string): ObjectAddress {
  return { cluster, namespace: "", name };
}

/** Looks before it writes: for what is there nearly always. */
export async function ensureObject(
  parts: Pick<TenancyDependencies, "registry" | "watchCache">,
  definition: ResourceDefinition,
  address: ObjectAddress,
  object: JsonObject,
): Promise<void> {
  const key = parts.registry.key(definition, address);
  const found = await parts.watchCache.get(key, { kind: "latest" }, uncancelled);
  if (found === undefined) await createIfAbsent(parts, definition, address, object);
}

/** One that is there already is as good; for objects that are the same whoever makes them. Whether there was none. */
export async function createIfAbsent(
  { registry }: Pick<TenancyDependencies, "registry">,
  definition: ResourceDefinition,
  address: ObjectAddress,
  object: JsonObject,
  options: WriteOptions = systemWriteOptions,
): Promise<boolean> {
  try {
    const { name } = address;
    const metadata = { ...(object["metadata"] as JsonObject | undefined), name };
    const draft: Draft = { ...object, metadata };
    await registry.create(definition, { ...address, name: "" }, draft, options);
    return true;
  } catch (error) {
    if ((error as { status?: { reason?: string } }).status?.reason !== "AlreadyExists") throw error;
    return false;
  }
}
