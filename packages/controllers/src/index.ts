export { type ControlLoopsOptions, type ErrorContext, runControlLoops } from "./control-loops.ts";
export { type DefaultObjectsOptions, defaultObjectsController } from "./default-objects/index.ts";
export {
  type DiscoveredResourcesOptions,
  discoveredResources,
  GarbageCollector,
  type GarbageCollectorOptions,
  type GraphNode,
  type ResourceSource,
  type WatchedResource,
} from "./garbage-collector/index.ts";
export { type NamespaceControllerOptions, namespaceController } from "./namespace/index.ts";
export {
  type ResourceQuotaController,
  type ResourceQuotaControllerOptions,
  resourceQuotaController,
} from "./resource-quota/index.ts";
