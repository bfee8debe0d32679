export {
  type CleanupScope,
  simulatedClusters,
  type TestCluster,
  type TestEnvironment,
} from "./ground.ts";
export { startRealCluster } from "./real-cluster.ts";
export { RealClusters } from "./real-ground.ts";
