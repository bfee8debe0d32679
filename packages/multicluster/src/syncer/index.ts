/** Keeps physical clusters in step with what is assigned to them: `startSyncer` for one, `SyncerManager` for as many as there are. */
export { concernedTargets } from "./assignment.ts";
export type { SyncedResource } from "./context.ts";
export {
  hashDigits,
  type NamespaceLocator,
  type Origin,
  parseLocator,
  type TargetIdentity,
  targetKey,
} from "./origin.ts";
export {
  type ContestedField,
  defaultPolicies,
  type KindPolicy,
  ordinaryPolicy,
  type Policies,
  PolicyError,
  parsePolicies,
  policyFor,
} from "./policy.ts";
export { releasePatch } from "./release-patch.ts";
export { type ResolvedResources, resolveResources } from "./resolve-resources.ts";
export { ResourceSet } from "./resource-set.ts";
export { type Syncer, type SyncerHealth, type SyncerOptions, startSyncer } from "./syncer.ts";
export {
  type SyncerConnection,
  SyncerManager,
  type SyncerManagerOptions,
} from "./syncer-manager.ts";
export { UpstreamInformers, type UpstreamInformersOptions } from "./upstream-informers.ts";
