/** Tenancy: workspaces, their types, and the logical clusters behind them. */
export type { DefaultsState } from "./bindings-initializer.ts";
export type { RootContent } from "./bootstrap.ts";
export { homeClusterName } from "./cluster-names.ts";
export { homeName } from "./home-workspace.ts";
export { JobQueue } from "./job-queue.ts";
export { type Condition, conditionsOf, findCondition, setCondition } from "./kinds/conditions.ts";
export {
  logicalClusters,
  shards,
  tenancyKinds,
  workspaces,
  workspaceTypes,
} from "./kinds/definitions.ts";
export { notation } from "./kinds/notation.ts";
export { initializerLabel, phaseLabel, terminatorLabel } from "./kinds/phases.ts";
export type { Maintained } from "./maintained-bindings.ts";
export { ObjectIndex } from "./object-index.ts";
export {
  clusterScoped,
  createUnlessThere,
  ensureObject,
  type NamespaceContent,
  type NamespaceMember,
  systemWriteOptions,
  uncancelled,
} from "./parts.ts";
export type { DefaultBinding, LogicalClusterRecord } from "./records.ts";
export { annotation as tenancyAnnotation, member } from "./records.ts";
export { readShard } from "./shard.ts";
export { Tenancy, type TenancyOptions } from "./tenancy.ts";
export type { Resolution } from "./workspace-tree.ts";
