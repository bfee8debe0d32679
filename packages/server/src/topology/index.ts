/** Topology: shards in Partitions, and the PartitionSets that make them. */
export { partitions } from "./kinds.ts";
export { Topology } from "./topology.ts";
