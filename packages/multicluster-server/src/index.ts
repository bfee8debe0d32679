/** The part of multi-cluster that runs inside the server. */
export { MulticlusterServer } from "./multicluster-server.ts";
export type { PeerAddress } from "./peers.ts";
export {
  agentImageDefault,
  type PhysicalClusterOptions,
  runPhysicalClusters,
} from "./physical-clusters.ts";
