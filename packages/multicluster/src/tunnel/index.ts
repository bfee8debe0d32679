/** Ways to Pods: from a Pod upstream to its log, a command in it or its ports, directly or through the agent of its cluster (docs/adr/0030). */
export { muxProtocol } from "./mux-frames.ts";
export {
  type Place,
  type PodCall,
  PodConnections,
  type PodConnectionsOptions,
  type SharedTarget,
  sessionsPerClusterMaxDefault,
} from "./pod-connections.ts";
export { type PodAnswer, PodDoor, type PodDoorOptions, type PodWay } from "./pod-door.ts";
export {
  isPodSubresource,
  type PodRequest,
  type PodSubresource,
  podSubresources,
} from "./pod-request.ts";
export { join, runTunnel, type TunnelOptions } from "./run-tunnel.ts";
export { Tunnels, type TunnelsOptions } from "./tunnels.ts";
