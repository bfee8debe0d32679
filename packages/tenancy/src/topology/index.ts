/** Topology: Partitions of shards, and the PartitionSets that create them. */
export { partitions, topologyKinds } from "./kinds.ts";
export { Topology } from "./topology.ts";
