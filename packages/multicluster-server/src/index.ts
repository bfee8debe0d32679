/** The part of multi-cluster that runs inside the server. */
export {
  MulticlusterServer,
  type MulticlusterServerOptions,
  type ServerAdditions,
  type ServerInside,
} from "./multicluster-server.ts";
export type { PeerAddress } from "./peers.ts";
export {
  agentImageDefault,
  type PhysicalClusterOptions,
  type PhysicalClusterProgram,
  runPhysicalClusters,
} from "./physical-clusters.ts";
