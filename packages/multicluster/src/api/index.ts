/**
 * The user-visible API of physical clusters: kinds, and the names of labels, annotations and
 * finalizers.
 */

export {
  type ApiAccessOf,
  apiAccessKeys,
  apiAccessResources,
  apiAccessSecretName,
  wantsApiAccess,
} from "./api-access.ts";
export {
  type APIResourceImport,
  type ApiResourceSpec,
  apiResourceImports,
  importConditions,
  isBeingNegotiated,
  type NegotiatedAPIResource,
  negotiatedApiResources,
  negotiatedConditions,
  publishingReason,
  type SchemaUpdateStrategy,
} from "./api-resources.ts";
export {
  allResources,
  importedResources,
  servedBeside,
  syncedResourcesDefault,
} from "./default-resources.ts";
export {
  type DrainBlocker,
  type DrainSpec,
  type DrainStatus,
  drainedCondition,
  evictAnnotation,
} from "./drain.ts";
export {
  endpointsMax,
  isSharedIngress,
  portsMax,
  sharedAddresses,
  sharedStatus,
} from "./endpoint-addresses.ts";
export { isCopyLabel, serviceNameLabel, serviceNameOf } from "./endpoints.ts";
export { fencedKinds, isFenceable } from "./fenced-kinds.ts";
export { firstReportMsMax, isReportedWhenStarted } from "./first-report.ts";
export { hashDigits } from "./hash-digits.ts";
export {
  byDefinition,
  byLocation,
  definitionName,
  groupOf,
  importInformer,
  schemaDigest,
} from "./import-informer.ts";
export { jsonObjectOf } from "./json-object.ts";
export { resourceOf, type Severity, type SeverityCondition } from "./kind-schemas.ts";
export { multiclusterKinds } from "./kinds.ts";
export {
  closedLimitGate,
  isWithinLimits,
  type LimitGate,
  limitGateAnnotation,
  limitGateOf,
} from "./limit-gate.ts";
export { connectedTunnels, movedReplicas, placementDecisions } from "./multicluster-metrics.ts";
export {
  exportConditions,
  type ImportedPort,
  importedServiceLabel,
  type ServiceExport,
  type ServiceImport,
  type ServiceImportSpec,
  type ServiceImportStatus,
  serviceExports,
  serviceImportKind,
  serviceImports,
  sourceClusterLabel,
} from "./multicluster-services.ts";
export {
  agentAnnotation,
  apiAccessFieldManager,
  apiAccessLabel,
  apiAddressLabel,
  apiVersionAnnotation,
  assignedCluster,
  assignedTargets,
  attachedInClusterAnnotation,
  clusterLabel,
  clusterLabels,
  clustersetAnnotation,
  clusterUnreachableReason,
  computeExportAnnotation,
  computeFieldManager,
  deleteWhenScaledAnnotation,
  deletionAnnotation,
  dependenciesAnnotation,
  dependenciesOn,
  downstreamLabel,
  drainFieldManager,
  exportAnnotation,
  exportedSinceAnnotation,
  importerFieldManager,
  ingressRootClusterLabel,
  ingressRootNameLabel,
  ingressRootNamespaceLabel,
  isKcpKey,
  isUpsynced,
  locationLabelsAnnotation,
  namespaceLocatorAnnotation,
  namespaceLocatorAnnotations,
  namespaceSignatureAnnotation,
  negotiationFieldManager,
  orphanAnnotation,
  ownedByLabel,
  ownedByLabels,
  placementAnnotation,
  propagatedTargets,
  propagatedToAnnotation,
  registrationFieldManager,
  schedulerFieldManager,
  simulatorPrefix,
  snapshotDomainsAnnotation,
  snapshotOfLabel,
  snapshotRequestAnnotation,
  softFinalizersAnnotation,
  softFinalizersAnnotationPrefix,
  softFinalizersOf,
  specDiffAnnotation,
  specDiffAnnotationPrefix,
  stateLabel,
  stateLabelPrefix,
  stateSync,
  statesOf,
  stateUpsync,
  statusAnnotation,
  stopBeforeStartLabel,
  stoppedForVolumes,
  syncErrorAnnotation,
  syncErrorAnnotationPrefix,
  syncerFieldManager,
  syncerFinalizer,
  syncerFinalizerPrefix,
  syncTargetFinalizer,
  syncTargetNameCharactersMax,
  tenantLabel,
  trafficFinalizerPrefix,
  upsyncedFromAnnotation,
  volumeClusterAnnotation,
  volumeCopierAnnotation,
  volumeCopyRequestAnnotation,
  volumeCopyResultAnnotation,
  volumeGateAnnotation,
  volumeMigrationAnnotation,
  volumesAnnotation,
  volumesFinalizer,
} from "./names.ts";
export { podTemplatePath } from "./pod-template-path.ts";
export { readinessGatesOf } from "./readiness-gates.ts";
export { resourcesOfTarget, servedResources } from "./resources-of-target.ts";
export {
  type ClusterOverride,
  defaultLocationName,
  type FailoverStrategy,
  globalPlacement,
  type Location,
  type LocationStatus,
  locations,
  namespaceScheduledCondition,
  type Placement,
  type PlacementSpec,
  type PlacementStatus,
  type PodSecurityLevel,
  placementConditions,
  placements,
  podsResource,
  type ResourceLimits,
  syncTargetResource,
  type Taint,
  type Toleration,
  type WorkloadAffinity,
  workloadsResource,
} from "./scheduling.ts";
export { diffHash, specDiffOf, withSpecDiff } from "./spec-diff.ts";
export {
  appliesTo,
  type ResourceSyncPolicy,
  type SyncPolicy,
  type SyncPolicySpec,
  type SyncRules,
  syncPolicies,
} from "./sync-policy.ts";
export {
  defaultSecretKey,
  leaseMsMax,
  leaseMsMin,
  type SyncMode,
  type SyncTarget,
  type SyncTargetSpec,
  type SyncTargetStatus,
  syncTargets,
  targetConditions,
  tunnellessRenewMs,
} from "./sync-target.ts";
export {
  accessCondition,
  installedCondition,
  nodesCondition,
  sharedOwnershipCondition,
  writeSyncTargetStatus,
} from "./sync-target-status.ts";
export { isSyncedNative, syncedNativeResources } from "./synced-natives.ts";
export {
  acceptedLeaseAnnotation,
  acceptedLeaseSeconds,
  isLeaseOf,
  type LeaseRenewal,
  leaseMsDefault,
  newSyncerLease,
  renewalOf,
  renewIntervalAnnotation,
  stopsAtExpiryAnnotation,
  syncerLeaseLabel,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncerVersionAnnotation,
  syncTargetOfLease,
} from "./syncer-lease.ts";
export {
  isSharedFrom,
  isSharedTargetName,
  type NamedTarget,
  ownTargetName,
  sharedTargetName,
  targetNameIn,
} from "./target-name.ts";
export {
  clusterDaemonSets,
  type WorkloadStrategy,
  type WorkloadStrategySpec,
  workloadStrategies,
} from "./workload-kinds.ts";
export {
  type ClusterPlacement,
  type PlacementDecisionRecord,
  placementHistoryMax,
  placementMessageMax,
  placementTemplatesMax,
  type WorkloadPlacement,
  type WorkloadPlacementStatus,
  workloadPlacementConditions,
  workloadPlacementName,
  workloadPlacements,
} from "./workload-placement.ts";
