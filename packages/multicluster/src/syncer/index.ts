/** Keeps physical clusters in step with what is assigned to them: `startSyncer` for one, `SyncerManager` for as many as there are. */
export type { SyncedResource } from "./context.ts";
export type { NamespaceLocator, Origin, TargetIdentity } from "./origin.ts";
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
export { ResourceSet } from "./resource-set.ts";
export { type Syncer, type SyncerHealth, type SyncerOptions, startSyncer } from "./syncer.ts";
export { UpstreamInformers, type UpstreamInformersOptions } from "./upstream-informers.ts";
