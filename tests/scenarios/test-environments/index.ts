export { startRealCluster } from "./real-cluster.ts";
export { RealClusters } from "./real-clusters.ts";
export {
  type CleanupScope,
  simulatedClusters,
  type TestCluster,
  type TestEnvironment,
} from "./test-environment.ts";
