/** What the files of this room share: one of each per server. */

import {
  collectionKeyOf,
  type Registry,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { objectKey, type Storage, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { Clock, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";
import type { CrdNames } from "@kcp-ts/machinery/schema";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import type { MaintainedBindingSet, PathResolution } from "../workspaces/index.ts";
import type { BindingIndex } from "./binding-index.ts";
import type { BindingRecord, ExportRecord } from "./records.ts";
import type { SchemaStore } from "./schema-store.ts";

/** What this room needs of others; wiring supplies it. */
export interface ApiSharingInputs {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly builtIns: readonly ResourceDefinition[];
  /** From a path to a logical cluster. */
  readonly resolve: (path: ClusterPath) => MaybePromise<PathResolution>;
  /** Default bindings that a logical cluster keeps. */
  readonly maintainedIn: (cluster: ClusterName) => Promise<MaintainedBindingSet>;
  /** Told when a binding of a logical cluster came, went or changed. */
  readonly onBinding: (cluster: ClusterName) => void;
  /** Which shards a Partition of a logical cluster selects; undefined when there is none of the name. */
  readonly partitionIn: (
    cluster: ClusterName,
    name: string,
  ) => Promise<LabelSelectorObject | undefined>;
  /** Of the shard that this server is. */
  readonly shardLabels: () => Promise<Readonly<Record<string, string>>>;
  /** The names that a logical cluster's own definitions have. */
  readonly ownNames: (cluster: ClusterName) => Promise<readonly LocalDefinitionNames[]>;
  /** Whether a user may bind to an export, whatever else they may in its workspace. */
  readonly mayBind: (
    user: UserInfo,
    exportCluster: ClusterName,
    exportName: string,
  ) => MaybePromise<boolean>;
  /** Whether a user may offer what a ClusterCachedResource of another workspace publishes. */
  readonly mayBindCached: (
    user: UserInfo,
    cluster: ClusterName,
    name: string,
  ) => MaybePromise<boolean>;
  /** Whether a user may list and watch a resource of a logical cluster. */
  readonly mayReadAll: (
    user: UserInfo,
    cluster: ClusterName,
    resource: { readonly group: string; readonly version: string; readonly resource: string },
  ) => MaybePromise<boolean>;
  readonly onError: (error: unknown) => void;
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
  /** Calls back when an export is no longer what the record says. Returns how to stop listening. */
  readonly onExportChanged: (record: ExportRecord, callback: () => void) => () => void;
  /** Undefined when everything is known that was stored. */
  readonly loading: () => Promise<void> | undefined;
}

export function keyOf(
  definition: ResourceDefinition,
  cluster: ClusterName,
  name: string,
): StorageKey {
  return objectKey({ ...collectionKeyOf(definition), cluster, namespace: "", name });
}
