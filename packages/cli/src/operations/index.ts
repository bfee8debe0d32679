/** What `kcp status` and `kcp doctor` read, check and print. */
export {
  checkCertificateFiles,
  checkDirectory,
  checkDisk,
  checkMemory,
  checkNode,
  checkOpenFiles,
  checkPort,
} from "./check-machine.ts";
export { connectServer, type ServerConnection, type ServerFlags } from "./connect-server.ts";
export { checkEtcd } from "./etcd-members.ts";
export { evaluateStatus } from "./evaluate-status.ts";
export { type Finding, failure, findingLines, hasFailed, ok } from "./finding.ts";
export { inlineKubeconfig } from "./inline-kubeconfig.ts";
export { joinCluster, untilClusterReady } from "./join-cluster.ts";
export { migrateStorage, unmigrated } from "./migrate-storage.ts";
export { fencePrimary, type PrimaryServer, primaryOf } from "./primary-server.ts";
export { checkProduction } from "./production-checklist.ts";
export { readStatus, type Status } from "./read-status.ts";
export { restoreWorkspace } from "./restore-workspace.ts";
export { startShardProcesses } from "./shard-processes.ts";
export { kcpVersionOf } from "./version-skew.ts";
export { readContent, saveWorkspace } from "./workspace-content.ts";
