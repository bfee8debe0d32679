export { AcceleratedClock } from "./accelerated-clock.ts";
export { asyncListener } from "./async-listener.ts";
export { type EtcdVersion, etcdMissing, etcdVersion, findEtcd } from "./etcd-binary.ts";
export {
  type EtcdCluster,
  type EtcdClusterTls,
  type StartEtcdOptions,
  startEtcd,
} from "./etcd-cluster.ts";
export { addUser, compactEtcd, type EtcdUser, setNoSpaceAlarm } from "./etcd-gateway.ts";
export type { EtcdMember } from "./etcd-member.ts";
export type { EtcdPeers } from "./etcd-peers.ts";
export { type EventuallyOptions, eventually } from "./eventually.ts";
export { executablesOnPath, findKubectl, isExecutable, kubectlMissing } from "./executables.ts";
export { FakeClock, flushEventLoop } from "./fake-clock.ts";
export {
  type AppliesTo,
  FaultProxy,
  type FaultProxyOptions,
  type Faults,
} from "./fault-proxy.ts";
export { freePorts } from "./free-port.ts";
export { haveSameHiddenClass } from "./hidden-class.ts";
export {
  checkHistory,
  eventText,
  type History,
  type KeyedState,
  type KeyRequest,
  keyText,
  type ListMode,
  type ListRecord,
  type ObjectKey,
  type ObjectState,
  type Operation,
  type Outcome,
  operationText,
  revisionOf,
  type Scope,
  type StaleGet,
  selects,
  type Texts,
  type Violation,
  type WatchEvent,
  type WatchSegment,
  type WriteRequest,
} from "./history-checker/index.ts";
export {
  findKubeApiserver,
  type KubeApiserver,
  type KubeApiserverOptions,
  kubeApiserverMissing,
  startKubeApiserver,
} from "./kube-apiserver.ts";
export {
  allControllers,
  type KubeControllerManager,
  type KubeControllerManagerOptions,
  kubeControllerManagerMissing,
  kubeconfigOf,
  startKubeControllerManager,
} from "./kube-controller-manager.ts";
export { SeededRandom } from "./seeded-random.ts";
export {
  type CertificatePair,
  createTestAuthority,
  type TestAuthority,
} from "./test-certificates.ts";
