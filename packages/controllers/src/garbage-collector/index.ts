export { customResourceSource, customResources } from "./custom-resources.ts";
export { GarbageCollector } from "./garbage-collector.ts";
export type { GraphNode } from "./graph-node.ts";
export { allResources, discoveredResources } from "./resource-source.ts";
