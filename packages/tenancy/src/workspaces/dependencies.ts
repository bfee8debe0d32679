/** The dependencies that the files of this folder share: one of each per server. */
import {
  collectionKeyOf,
  type Draft,
  type ObjectAddress,
  type Registry,
  type ResourceDefinition,
  storageKeyOf,
  type WriteOptions,
} from "@kcp-ts/apiserver/registry";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import {
  objectKey,
  resourcePrefix,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { type Clock, neverAborted, type Supervisor } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
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

/** The default objects of every namespace, from the controllers that maintain them. */
export type NamespaceDefaults = (namespace: string) => readonly NamespaceDefaultObject[];

export interface NamespaceDefaultObject {
  readonly resource: "configmaps" | "serviceaccounts";
  readonly name: string;
  readonly object: JsonObject;
}

/** What the work on a workspace needs of other shards. */
export interface OtherShards {
  readonly ownName: string;
  /** The shard that has a logical cluster; undefined: this one. */
  shardOf(cluster: ClusterName): string | undefined;
  /** A shard for a new workspace; undefined when none has room and is selected. */
  choose(wanted: WantedShard): Promise<ChosenShard | undefined>;
  /** Has the shard of a logical cluster do something. */
  ask(cluster: ClusterName, operation: string, body: JsonValue): Promise<JsonValue>;
}

export interface WantedShard {
  readonly parent: ClusterName;
  readonly selector: LabelSelectorObject | undefined;
}

export interface ChosenShard extends ShardRecord {
  readonly name: string;
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
  /** The other shards; undefined where this server is the only one. */
  readonly otherShards: OtherShards | undefined;
  /**
   * Whether a user may use a WorkspaceType of a cluster, independent of the access to its content.
   */
  readonly mayUse: (user: UserInfo, cluster: ClusterName, type: string) => Promise<boolean>;
  /** The definition that a logical cluster serves for this kind; undefined when it serves none. */
  readonly definitionOfKind: (
    cluster: ClusterName,
    group: string,
    version: string,
    kind: string,
  ) => Promise<ResourceDefinition | undefined>;
  /** Binds a new logical cluster, which will have this path, to exports. */
  readonly createDefaultBindings: (
    cluster: ClusterName,
    path: string,
    bindings: readonly DefaultBinding[],
  ) => Promise<void>;
  /** Whether the write that binds a new logical cluster binds all of these exports completely. */
  readonly areDefaultBindingsComplete: (
    cluster: ClusterName,
    bindings: readonly DefaultBinding[],
  ) => Promise<boolean>;
  /** The state of the default bindings of an existing logical cluster. */
  readonly defaultBindingsStateOf: (
    cluster: ClusterName,
    bindings: readonly DefaultBinding[],
  ) => Promise<DefaultBindingsState>;
  /** The objects that are stored together with a new namespace. */
  readonly namespaceDefaults: NamespaceDefaults;
  /**
   * Adds the missing ones of these bindings to an existing logical cluster, and accepts their
   * claims.
   */
  readonly maintainDefaultBindings: TenancyDependencies["createDefaultBindings"];
}

/** The server's own writes are not cancelled with a request. */
export const uncancelled: AbortSignal = neverAborted;

export const systemWriteOptions = {
  isDryRun: false,
  validate: () => undefined,
  signal: uncancelled,
} as const;

const logicalClusterPrefix = resourcePrefix(collectionKeyOf(logicalClusters));

/**
 * Nearly every request needs this key, so it is concatenated without validation (names of clusters
 * need no encoding), and consecutive calls for the same cluster return the same string, whose hash
 * is cached.
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

/** Reads before it writes: for objects that nearly always exist. */
export async function ensureObject(
  dependencies: Pick<TenancyDependencies, "registry" | "watchCache">,
  definition: ResourceDefinition,
  address: ObjectAddress,
  object: JsonObject,
): Promise<void> {
  const key = storageKeyOf(definition, address);
  const found = await dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
  if (found === undefined) await createIfAbsent(dependencies, definition, address, object);
}

/**
 * Creates an object unless it exists; for objects with the same content from every creator. Returns
 * whether it was created.
 */
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
