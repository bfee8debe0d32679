/**
 * Connections to Pods: from an upstream Pod to its logs, exec sessions and ports, directly or
 * through the agent of its cluster (docs/adr/0030).
 */
export { AgentPresence } from "./agent-presence.ts";
export { DownsyncedPods } from "./downsynced-pods.ts";
export { ephemeralBytesMax, ephemeralOf, strategicMergePatch } from "./ephemeral-request.ts";
export { muxProtocol } from "./mux-frames.ts";
export { noRouteHere, type Peer, PeerRouter, servePeer } from "./peer-router.ts";
export { PodConnections, type SharedTarget, type SyncTargetReference } from "./pod-connections.ts";
export { PodMetrics } from "./pod-metrics.ts";
export { PodProxy } from "./pod-proxy.ts";
export { isPodSubresource, type PodSubresource } from "./pod-request.ts";
export { runTunnel, spliceStreams } from "./run-tunnel.ts";
export { Tunnels } from "./tunnels.ts";
