export { type KubeletSettings, kubeletDefaults } from "./cluster-inside.ts";
export { ClusterFaults, ConnectionCut, type PortOptions } from "./front/index.ts";
export type { NodeOptions } from "./nodes/index.ts";
export { type Generation, generations } from "./shapes/index.ts";
export {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  type SimulatedNodes,
  startSimulatedCluster,
} from "./simulated-cluster.ts";
