/**
 * Shards: which one has a logical cluster, the connections between them, and the door that sends
 * requests on.
 */
export type { ClusterMover, MoveStage, MoveStatus } from "./cluster-mover.ts";
export { FrontProxy } from "./front-proxy.ts";
export { type MoveRequestsOptions, moveTargetOf } from "./move-requests.ts";
export type { PathResolution } from "./remote-paths.ts";
export { shardCluster } from "./route-table.ts";
export {
  onlyShard,
  type ShardAddress,
  type ShardConnections,
  type ShardNetwork,
  type ShardOptions,
  type ShardRequest,
  type ShardRoute,
  type ShardRoutes,
  shardUser,
} from "./shard-connections.ts";
export { firstShardOf, isShardName, nameOnShard, rootShard } from "./shard-names.ts";
export type { Operation, Operations } from "./shard-operations.ts";
export { Shards } from "./shards.ts";
export { forwardedRequestsMetric, type TlsNetworkOptions, TlsShardNetwork } from "./tls-network.ts";
