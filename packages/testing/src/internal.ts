export { type ActiveFault, type Fault, type FaultStatus, Faults, InjectedFault } from "./faults.ts";
export {
  type CrdSource,
  type CustomResourceDefinition,
  customResourceDefinitions,
} from "./install-crds.ts";
export { mountWorkspace } from "./mount-workspace.ts";
export { opensslRequest } from "./openssl-request.ts";
export { type Pod, PodClient, type PodSpec, pods, secrets } from "./pod-client.ts";
export type { RequestMatch } from "./request-match.ts";
export { agentConnection, startAgent, type TestAgent } from "./start-agent.ts";
export {
  type KubeconfigOptions,
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from "./test-control-plane.ts";
export type { ListenOptions, TestListener } from "./test-listener.ts";
