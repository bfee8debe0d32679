export { ClusterFaults, ConnectionCut, type Handle } from "./faults.ts";
export { asSingleCluster, type GenerationName, gitVersionOf, withHeaders } from "./one-cluster.ts";
export { formatKubeconfig, Port, type PortOptions } from "./port.ts";
