export {
  BuiltInCatalog,
  type Catalog,
  type CollectionSource,
  type VirtualResource,
  VirtualResourceCatalog,
} from "./catalog.ts";
export type { ComputedListRequest, ComputedResource } from "./computed-resource.ts";
export { conversionCodec } from "./conversion-codec.ts";
export { type DeleteRequest, ignoreReadErrorOption } from "./deletion.ts";
export { type FieldManager, managedFieldsInput } from "./managed-fields.ts";
export {
  mutableItems,
  mutableMember,
  mutableMemberIfPresent,
  setDefault,
} from "./mutable-members.ts";
export { timestamp } from "./prepare.ts";
export {
  type BuildObject,
  type ObjectAddress,
  Registry,
  type RegistryOptions,
  type Validator,
  type WriteOptions,
  type WriteResult,
} from "./registry.ts";
export {
  apiVersionOf,
  type CollectionKey,
  collectionKeyOf,
  type OpenApiSource,
  type Prerequisites,
  type ResourceDefinition,
  storageKeyOf,
} from "./resource-definition.ts";
export { validatingAdmissionPolicies } from "./resources/admissionregistration/policies.ts";
export { builtIns } from "./resources/built-ins.ts";
export { organizationsOf } from "./resources/certificates/signing-request.ts";
export { configMaps } from "./resources/core/configmaps.ts";
export { namespaces } from "./resources/core/namespaces.ts";
export { setPodDefaults } from "./resources/core/pod-defaults.ts";
export { ephemeralContainersEndpoint, podUpdateErrors } from "./resources/core/pods.ts";
export { resourceQuotas } from "./resources/core/resourcequotas.ts";
export { secrets } from "./resources/core/secrets.ts";
export { serviceAccounts } from "./resources/core/serviceaccounts.ts";
export { flowSchemas, priorityLevelConfigurations } from "./resources/flowcontrol/flowcontrol.ts";
export { labelSelectorErrors } from "./resources/label-selector-errors.ts";
export { nodeMetricsKind, podMetricsKind } from "./resources/metrics/metrics.ts";
export { type NativeKind, nativeDefinition } from "./resources/native-kind.ts";
export { convertedVersions, findNativeKind, nativeKinds } from "./resources/native-kinds.ts";
export { workloadPrinter } from "./resources/printers/workload-printers.ts";
export { clusterRoleBindings, roleBindings } from "./resources/rbac/bindings.ts";
export { clusterRoles, roles } from "./resources/rbac/roles.ts";
export {
  baseStrategy,
  builtIn,
  itemErrors,
  listIn,
  nameCell,
  nameColumn,
  objectIn,
  restoreMembers,
  startGeneration,
  textIn,
} from "./resources/standard.ts";
export { type SimpleColumn, type SimpleResource, simpleResource } from "./simple-resource.ts";
export { fromStorageError, isStoreUnavailable, translateStorageErrors } from "./storage-errors.ts";
export type { StorageQuota, StoredLocation, UsageDelta } from "./storage-quota.ts";
export {
  type AdmissionTarget,
  type ConnectRequest,
  type Draft,
  runValidation,
  type Strategy,
  type SubresourceKind,
  type SubresourceStrategy,
  type SubresourceView,
  type ValidationResult,
  type WriteContext,
} from "./strategy.ts";
export {
  type ParsedObject,
  toServed,
  toServedEntries,
  type VersionCodec,
} from "./version-codec.ts";
