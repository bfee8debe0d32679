/** The dependencies that the files of this folder share: one of each per server. */
import {
  collectionKeyOf,
  type Registry,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { objectKey, type Storage, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { Clock, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";
import type { CrdNames } from "@kcp-ts/machinery/schema";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import type { Replicas } from "../replicas/index.ts";
import type { PathResolution } from "../shards/index.ts";
import type { MaintainedBindingSet } from "../workspaces/index.ts";
import type { BindingIndex } from "./binding-index.ts";
import { apiExports } from "./kinds/definitions.ts";
import type { BindingRecord, ExportRecord } from "./records.ts";
import type { SchemaStore } from "./schema-store.ts";

/** The inputs that other folders supply through the wiring. */
export interface ApiSharingInputs {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly builtIns: readonly ResourceDefinition[];
  /** Resolves a path to a logical cluster. */
  readonly resolve: (path: ClusterPath) => Promise<PathResolution>;
  /** The maintained default bindings of a logical cluster. */
  readonly maintainedBindingsIn: (cluster: ClusterName) => Promise<MaintainedBindingSet>;
  /** Called when a binding of a logical cluster is created, deleted or changed. */
  readonly onBinding: (cluster: ClusterName) => void;
  /**
   * The shard selector of a logical cluster's Partition; undefined when the Partition does not
   * exist.
   */
  readonly partitionIn: (
    cluster: ClusterName,
    name: string,
  ) => Promise<LabelSelectorObject | undefined>;
  /** The labels of this server's shard. */
  readonly shardLabels: () => Promise<Readonly<Record<string, string>>>;
  /** The names of a logical cluster's own CRDs. */
  readonly localDefinitionNames: (cluster: ClusterName) => Promise<readonly LocalDefinitionNames[]>;
  /** Whether a user may bind an export, independent of the access to its workspace. */
  readonly canBind: (
    user: UserInfo,
    exportCluster: ClusterName,
    exportName: string,
  ) => Promise<boolean>;
  /**
   * Whether a user may export the published resource of another workspace's ClusterCachedResource.
   */
  readonly canBindCachedResource: (
    user: UserInfo,
    cluster: ClusterName,
    name: string,
  ) => Promise<boolean>;
  /** Whether a user may list and watch a resource of a logical cluster. */
  readonly canReadAll: (
    user: UserInfo,
    cluster: ClusterName,
    resource: { readonly group: string; readonly version: string; readonly resource: string },
  ) => Promise<boolean>;
  /** Called when the maximal permission policy of a provider on another shard is needed. */
  readonly followPolicy: (provider: ClusterName) => void;
  /** All shards, by name; asked for where there are others. */
  readonly shards: () => Promise<readonly KnownShard[]>;
  /** The objects of other shards; undefined for the only shard. */
  readonly replicas?: Replicas | undefined;
  readonly onError: (error: unknown) => void;
}

export interface KnownShard {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly virtualWorkspaceUrl: string;
}

export interface LocalDefinitionNames {
  readonly definition: string;
  readonly group: string;
  readonly names: CrdNames;
}

export interface ApiSharingDependencies extends ApiSharingInputs {
  readonly bindings: BindingIndex;
  readonly schemas: SchemaStore;
  readonly exports: {
    get(key: StorageKey): ExportRecord | undefined;
    values(): Iterable<ExportRecord>;
  };
  readonly exportOf: (binding: BindingRecord) => ExportRecord | undefined;
  /** Calls back when an export differs from the record. Returns a function that stops listening. */
  readonly onExportChanged: (record: ExportRecord, callback: () => void) => () => void;
  /** Undefined when all stored objects are indexed. */
  readonly loading: () => Promise<void> | undefined;
}

export function keyOf(
  definition: ResourceDefinition,
  cluster: ClusterName,
  name: string,
): StorageKey {
  return objectKey({ ...collectionKeyOf(definition), cluster, namespace: "", name });
}

/** An export of this shard or another one; throws while that is unknown. */
export async function exportIn(
  { replicas, exports }: Pick<ApiSharingDependencies, "replicas" | "exports">,
  cluster: ClusterName,
  name: string,
): Promise<ExportRecord | undefined> {
  await replicas?.pull(apiExports, cluster, name);
  return exports.get(keyOf(apiExports, cluster, name));
}
