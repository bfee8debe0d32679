/** Kubeconfigs, credentials and connections, with kubectl's semantics. For Node. */
export { authenticatedTransport } from "./authenticated-transport.ts";
export {
  type Connection,
  type ConnectOptions,
  connect,
  type KubeconfigConnection,
} from "./connect.ts";
export type { ClientCertificate, Credentials } from "./credentials.ts";
export { ExecPool } from "./exec-pool.ts";
export { KubeconfigError } from "./fields.ts";
export { type InClusterOptions, inClusterKubeconfig } from "./in-cluster.ts";
export {
  type ClusterEntry,
  type ContextEntry,
  type FileOrData,
  type Impersonation,
  type Kubeconfig,
  kubeconfigCharactersMax,
  mergeKubeconfigs,
  type ParseOptions,
  parseKubeconfig,
  type UserEntry,
} from "./kubeconfig.ts";
export {
  formatKubeconfigDocument,
  type KubeconfigDocument,
  readKubeconfigDocument,
} from "./kubeconfig-document.ts";
export { connectDefault, type LoadOptions, loadKubeconfig } from "./load.ts";
