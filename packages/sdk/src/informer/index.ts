/** Local copies of resources that stay true. See informer-machine.ts for what they do when things go wrong. */
export { type BackoffOptions, backoffMs } from "./backoff.ts";
export {
  type ObservedObject,
  StorelessInformer,
  type StorelessInformerHandler,
  type StorelessInformerOptions,
} from "./follower.ts";
export type { HandlerRegistration, InformerHandler } from "./handlers.ts";
export { Informer, type InformerOptions, type InformerScope } from "./informer.ts";
export type { InformerHealth } from "./informer-loop.ts";
export type { InformerState } from "./informer-machine.ts";
export { Informers, type InformersOptions, type SharedInformerOptions } from "./informers.ts";
export { clusterOf, formatKey, keyInCluster, type ObjectKey, parseKey } from "./object-key.ts";
export {
  byNamespace,
  type Indexer,
  type Indexers,
  type IndexLookup,
  type ObjectStore,
  type StoreFilter,
} from "./store.ts";
export { metadataOnly, type SlimMetadata, withoutManagedFields } from "./transforms.ts";
