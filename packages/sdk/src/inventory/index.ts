/** Which clusters there are, from kubeconfigs and from inventories of clusters. For Node. */
export {
  type AccessProvider,
  type ClusterProfile,
  clusterProfiles,
  type ProfiledClustersOptions,
  profiledClusters,
} from "./cluster-profiles.ts";
export type { InventoryOptions } from "./followed-clusters.ts";
export {
  type KubeconfigClustersOptions,
  type KubeconfigSecretsOptions,
  kubeconfigClusters,
  kubeconfigSecrets,
} from "./kubeconfig-clusters.ts";
