export { type ExternalControlPlane, startSimulatedNodes } from "./external-control-plane.ts";
export { ClusterFaults, ConnectionCut, type PortOptions } from "./frontend/index.ts";
export { type ListeningClusterOptions, startListeningCluster } from "./listening-cluster.ts";
export type { NodeOptions } from "./nodes/index.ts";
export { type Generation, generations } from "./shapes/index.ts";
export {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  startSimulatedCluster,
} from "./simulated-cluster.ts";
export { type KubeletSettings, kubeletDefaults, type NodeControls } from "./simulated-nodes.ts";
