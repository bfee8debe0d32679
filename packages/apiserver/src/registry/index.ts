export type { Capacity, Growth, StoredPlace } from "./capacity.ts";
export {
  type BesideResource,
  BuiltInCatalog,
  type Catalog,
  type CollectionSource,
  ExtendedCatalog,
} from "./catalog.ts";
export type { ComputedObjects, ComputedQuestion } from "./computed.ts";
export { type Conversion, convertedForm } from "./converted-form.ts";
export {
  apiVersionOf,
  type CollectionKey,
  type Companions,
  collectionKeyOf,
  type OpenApiSource,
  type ResourceDefinition,
} from "./definition.ts";
export type { DeleteRequest } from "./deletion.ts";
export { type FieldOwner, managedWrite } from "./managed-fields.ts";
export { fill, ownItems, ownObject, ownObjectIfThere } from "./own-parts.ts";
export { setPodDefaults, setPodSpecDefaults } from "./pod-defaults.ts";
export { timestamp } from "./prepare.ts";
export {
  type Build,
  type ObjectAddress,
  Registry,
  type RegistryOptions,
  type Validator,
  type WriteOptions,
  type Written,
} from "./registry.ts";
export { validatingAdmissionPolicies } from "./resources/admissionregistration/policies.ts";
export { builtIns } from "./resources/built-ins.ts";
export { organizationsOf } from "./resources/certificates/signing-request.ts";
export { configMaps } from "./resources/core/configmaps.ts";
export { namespaces } from "./resources/core/namespaces.ts";
export { resourceQuotas } from "./resources/core/resourcequotas.ts";
export { secrets } from "./resources/core/secrets.ts";
export { serviceAccounts } from "./resources/core/serviceaccounts.ts";
export { flowSchemas, priorityLevelConfigurations } from "./resources/flowcontrol/flowcontrol.ts";
export { labelSelectorErrors } from "./resources/label-selector-errors.ts";
export { nodeMetricsKind, podMetricsKind } from "./resources/metrics/metrics.ts";
export { clusterRoleBindings, roleBindings } from "./resources/rbac/bindings.ts";
export { clusterRoles, roles } from "./resources/rbac/roles.ts";
export {
  ageCell,
  ageColumn,
  builtIn,
  column,
  duplicateErrors,
  itemErrors,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
  noOwnRules,
  objectIn,
  restore,
  startGeneration,
  textIn,
  wideColumn,
} from "./resources/standard.ts";
export { type SimpleColumn, type SimpleResource, simpleResource } from "./simple-resource.ts";
export { fromStorageError, isStoreUnavailable, translating } from "./storage-errors.ts";
export { presented, presentedEntries, type StoredForm } from "./stored-form.ts";
export {
  type AdmittedKind,
  type Draft,
  type Strategy,
  type SubresourceCall,
  type SubresourceKind,
  type SubresourceStrategy,
  type SubresourceView,
  type Verdict,
  type WriteContext,
  wholeVerdict,
} from "./strategy.ts";
