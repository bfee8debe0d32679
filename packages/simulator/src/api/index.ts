export { amountOf, durationMs } from "./amounts.ts";
export type {
  Condition,
  Container,
  ContainerState,
  ContainerStatus,
  Deployment,
  LabelSelector,
  Node,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  ReplicaSet,
  Taint,
  Toleration,
} from "./objects.ts";
export {
  controlledBy,
  controllerOf,
  isActive,
  isAvailable,
  isReady,
  isTerminating,
  ownedBy,
} from "./pod-facts.ts";
export { deployments, nodes, pods, replicaSets } from "./resources.ts";
export { createUnread, writeStatus } from "./writes.ts";
