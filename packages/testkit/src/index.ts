export { AcceleratedClock } from "./accelerated-clock.ts";
export { asyncListener } from "./async-listener.ts";
export { countedReads } from "./counted-reads.ts";
export { etcdMissing } from "./etcd-binary.ts";
export { type EtcdCluster, type EtcdClusterTls, startEtcd } from "./etcd-cluster.ts";
export { addUser, compactEtcd, setNoSpaceAlarm } from "./etcd-gateway.ts";
export type { EtcdMember } from "./etcd-member.ts";
export { type EventuallyOptions, eventually } from "./eventually.ts";
export { executablesOnPath, findKubectl, isExecutable, kubectlMissing } from "./executables.ts";
export { FakeClock, flushEventLoop } from "./fake-clock.ts";
export { FaultProxy } from "./fault-proxy.ts";
export { freePorts } from "./free-port.ts";
export { haveSameHiddenClass } from "./hidden-class.ts";
export {
  checkHistory,
  type History,
  type KeyedState,
  type KeyRequest,
  keyText,
  type ListMode,
  type ListRecord,
  type ObjectKey,
  type Operation,
  type Outcome,
  revisionOf,
  type Scope,
  type StaleGet,
  selects,
  type Texts,
  type Violation,
  type WatchEvent,
  type WatchSegment,
} from "./history-checker/index.ts";
export {
  findKubeApiserver,
  type KubeApiserver,
  kubeApiserverMissing,
  startKubeApiserver,
} from "./kube-apiserver.ts";
export {
  allControllers,
  type KubeControllerManager,
  kubeControllerManagerMissing,
  kubeconfigOf,
  startKubeControllerManager,
} from "./kube-controller-manager.ts";
export { SeededRandom } from "./seeded-random.ts";
export { createTestAuthority, type TestAuthority } from "./test-certificates.ts";
