export { type ExternalControlPlane, startSimulatedNodes } from "./external-control-plane.ts";
export * from "./frontend/index.ts";
export { type ListeningClusterOptions, startListeningCluster } from "./listening-cluster.ts";
export * from "./nodes/index.ts";
export * from "./shapes/index.ts";
export {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  startSimulatedCluster,
} from "./simulated-cluster.ts";
export { type KubeletSettings, kubeletDefaults, type NodeControls } from "./simulated-nodes.ts";
