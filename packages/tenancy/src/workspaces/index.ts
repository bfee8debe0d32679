/** Tenancy: workspaces, their types, and their logical clusters. */
export type { DefaultBindingsState } from "./bindings-initializer.ts";
export type { RootBootstrapOptions } from "./bootstrap.ts";
export type { MaintainedBindingSet } from "./default-api-binding-lifecycle-controller.ts";
export {
  clusterScoped,
  createIfAbsent,
  ensureObject,
  type NamespaceDefaultObject,
  type NamespaceDefaults,
  systemWriteOptions,
  uncancelled,
} from "./dependencies.ts";
export { homeName } from "./home-workspace.ts";
export { KeyedWorkQueue } from "./keyed-work-queue.ts";
export {
  type Condition,
  conditionsOf,
  errorCondition,
  findCondition,
  setCondition,
} from "./kinds/conditions.ts";
export {
  logicalClusters,
  overriding,
  shards,
  tenancyKinds,
  workspaceAuthenticationConfigurations,
  workspaces,
  workspaceTypes,
} from "./kinds/definitions.ts";
export { initializerLabel, phaseLabel, terminatorLabel } from "./kinds/phases.ts";
export { conditions, labelSelector } from "./kinds/shared-schemas.ts";
export type { DefaultBinding } from "./records.ts";
export { annotation as tenancyAnnotation, member } from "./records.ts";
export { readShard } from "./shard.ts";
export { Tenancy } from "./tenancy.ts";
