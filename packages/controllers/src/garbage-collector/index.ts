export { allResources, type CustomResourcesOptions, customResources } from "./custom-resources.ts";
export { GarbageCollector, type GarbageCollectorOptions } from "./garbage-collector.ts";
export type { GraphNode } from "./graph-node.ts";
export {
  type DiscoveredResourcesOptions,
  discoveredResources,
  type ResourceSource,
  type WatchedResource,
} from "./resource-source.ts";
