/**
 * Local caches of resources that stay in sync. See reflector-machine.ts for their behaviour on
 * failures.
 */
export { type BackoffOptions, backoffMs } from "./backoff.ts";
export type { HandlerRegistration, InformerHandler } from "./handlers.ts";
export { Informer, type InformerOptions, type InformerScope } from "./informer.ts";
export { Informers, type InformersOptions, type SharedInformerOptions } from "./informers.ts";
export { LiveTable, type LiveTableOptions, type LiveTableRow } from "./live-table.ts";
export { clusterOf, formatKey, keyInCluster, type ObjectKey, parseKey } from "./object-key.ts";
export type { InformerHealth } from "./reflector.ts";
export type { InformerState } from "./reflector-machine.ts";
export {
  byNamespace,
  type Indexer,
  type Indexers,
  type IndexLookup,
  type ObjectStore,
  type StoreFilter,
} from "./store.ts";
export {
  type ObservedObject,
  StorelessInformer,
  type StorelessInformerHandler,
  type StorelessInformerOptions,
} from "./storeless-informer.ts";
export { metadataOnly, type SlimMetadata, withoutManagedFields } from "./transforms.ts";
