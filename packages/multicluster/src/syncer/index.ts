/**
 * Syncs physical clusters with the objects that are assigned to them: `startSyncer` for one
 * cluster; `../syncers.ts` runs one syncer for each cluster that a process is connected to.
 */
export { serverNames, withApiAccess } from "./api-access.ts";
export { relatedTargets } from "./assignment.ts";
export { cacheVerifyPeriodMs } from "./cache-verifier.ts";
export type { SyncedResource } from "./context.ts";
export { nameInCluster } from "./copy-names.ts";
export { withoutField } from "./field-path.ts";
export {
  downstreamNamespace,
  parseCopyOf,
  parseLocator,
  parseOrigin,
  type TargetIdentity,
  targetKey,
} from "./origin.ts";
export { PodSecuritySetting, strictestLevel } from "./pod-security.ts";
export {
  defaultPolicies,
  defaultRules,
  type Policies,
  policiesOf,
  policyFor,
} from "./policy.ts";
export { PolicySet } from "./policy-set.ts";
export {
  appliedDiffAnnotation,
  appliedHashAnnotation,
  originAnnotation,
} from "./protocol.ts";
export { releasePatch } from "./release-patch.ts";
export { type ResolvedResources, resolveResources } from "./resolve-resources.ts";
export { ResourceSet } from "./resource-set.ts";
export { type Syncer, type SyncerOptions, startSyncer } from "./syncer.ts";
export { type SyncerCondition, syncerCondition } from "./syncer-condition.ts";
export { TunnelState } from "./tunnel-state.ts";
export { UpstreamInformers } from "./upstream-informers.ts";
export { claimNamesOf } from "./volume-gate.ts";
