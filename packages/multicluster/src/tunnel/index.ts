/**
 * Connections to Pods: from an upstream Pod to its logs, exec sessions and ports, directly or
 * through the agent of its cluster (docs/adr/0030).
 */
export {
  AgentPresence,
  type AgentPresenceOptions,
  redialGraceMs,
} from "./agent-presence.ts";
export { DownsyncedPods } from "./downsynced-pods.ts";
export {
  type EphemeralRequest,
  ephemeralBytesMax,
  ephemeralOf,
  strategicMergePatch,
} from "./ephemeral-request.ts";
export type { MetricsRequest } from "./metrics-request.ts";
export { muxProtocol } from "./mux-frames.ts";
export {
  noRouteHere,
  type Peer,
  PeerRouter,
  type PeerRouterOptions,
  peerTimeoutMs,
  servePeer,
} from "./peer-router.ts";
export {
  type MetricsConnectionRequest,
  type PodConnectionRequest,
  PodConnections,
  type PodConnectionsOptions,
  type SharedTarget,
  type SyncTargetReference,
  sessionsPerClusterMaxDefault,
} from "./pod-connections.ts";
export type { PodLocation } from "./pod-location.ts";
export {
  metricsQueriesInFlightMax,
  metricsQueriesMax,
  metricsTimeoutMs,
  PodMetrics,
  type PodMetricsOptions,
  type PodMetricsQuery,
} from "./pod-metrics.ts";
export {
  type ClusterRequest,
  type PodConnector,
  PodProxy,
  type PodProxyOptions,
  type PodResponse,
} from "./pod-proxy.ts";
export {
  isPodSubresource,
  type PodRequest,
  type PodSubresource,
  podSubresources,
} from "./pod-request.ts";
export { runTunnel, spliceStreams, type TunnelOptions } from "./run-tunnel.ts";
export { Tunnels, type TunnelsOptions } from "./tunnels.ts";
