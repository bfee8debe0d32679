/** Topology: shards in Partitions, and the PartitionSets that make them. */
export { partitions, topologyKinds } from "./kinds.ts";
export { Topology } from "./topology.ts";
