export * from "./agent/index.ts";
export * from "./api/index.ts";
export * from "./api-access/index.ts";
export * from "./api-import/index.ts";
export * from "./api-importer/index.ts";
export * from "./compute/index.ts";
export * from "./coordination/index.ts";
export * from "./explain/index.ts";
export {
  type MulticlusterController,
  type MulticlusterOptions,
  multiclusterControllers,
  runMulticluster,
  syncedResourcesDefault,
} from "./multicluster.ts";
export * from "./negotiation/index.ts";
export * from "./registration/index.ts";
export { type AgentOptions, runAgent } from "./run-agent.ts";
export {
  policiesFrom,
  policyConfigMaps,
  SyncPolicies,
  type SyncPoliciesOptions,
} from "./sync-policies.ts";
export * from "./syncer/index.ts";
export { Syncers, type SyncersOptions } from "./syncers.ts";
export * from "./traffic/index.ts";
export * from "./tunnel/index.ts";
