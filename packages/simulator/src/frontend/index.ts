export { ClusterFaults, ConnectionCut, type Handle } from "./faults.ts";
export { formatKubeconfig, Port, type PortOptions } from "./port.ts";
export { asSingleCluster, gitVersionOf, withHeaders } from "./single-cluster-api.ts";
