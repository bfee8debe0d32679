/** Ways to Pods: from a Pod upstream to its log, a command in it or its ports, directly or through the agent of its cluster (docs/adr/0030). */
export {
  AgentPresence,
  type AgentPresenceOptions,
  redialPatienceMs,
} from "./agent-presence.ts";
export {
  type EphemeralRequest,
  ephemeralBytesMax,
  ephemeralOf,
  strategicMergePatch,
} from "./ephemeral-request.ts";
export type { MetricsRequest } from "./metrics-request.ts";
export { muxProtocol } from "./mux-frames.ts";
export {
  noWayHere,
  type Peer,
  PeerWays,
  type PeerWaysOptions,
  peerAnswerMs,
  servePeer,
} from "./peer-ways.ts";
export {
  type MetricsCall,
  type Place,
  type PodCall,
  PodConnections,
  type PodConnectionsOptions,
  type SharedTarget,
  sessionsPerClusterMaxDefault,
} from "./pod-connections.ts";
export {
  type ClusterRequest,
  type PodAnswer,
  PodDoor,
  type PodDoorOptions,
  type PodWay,
} from "./pod-door.ts";
export {
  metricsQuestionsAtOnce,
  metricsQuestionsMax,
  metricsTimeoutMs,
  PodMetrics,
  type PodMetricsOptions,
  type PodMetricsQuestion,
} from "./pod-metrics.ts";
export type { Whereabouts } from "./pod-places.ts";
export {
  isPodSubresource,
  type PodRequest,
  type PodSubresource,
  podSubresources,
} from "./pod-request.ts";
export { join, runTunnel, type TunnelOptions } from "./run-tunnel.ts";
export { SentPods } from "./sent-pods.ts";
export { Tunnels, type TunnelsOptions } from "./tunnels.ts";
