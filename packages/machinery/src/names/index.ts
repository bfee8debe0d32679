export { type ClusterName, parseClusterName, rootCluster } from "./cluster-name.ts";
