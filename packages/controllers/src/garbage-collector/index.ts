export {
  type CustomResourcesOptions,
  customResourceSource,
  customResources,
} from "./custom-resources.ts";
export { GarbageCollector, type GarbageCollectorOptions } from "./garbage-collector.ts";
export type { CollectedResource, GraphNode } from "./graph-node.ts";
export {
  allResources,
  type DiscoveredResourcesOptions,
  discoveredResources,
  type ResourceSource,
} from "./resource-source.ts";
