export {
  Admission,
  type AdmissionPlugin,
  type AdmissionRequest,
  denied,
  type GroupVersionKind,
  type MutableObject,
  type ObjectDecoder,
  type Operation,
  type PluginSources,
} from "./admission.ts";
export { certificateSigners, type SignerRules } from "./certificate-signers.ts";
export {
  type ClusterConfiguration,
  type ConfigurationResource,
  ConfigurationSet,
  configurationGroup,
  configurationResources,
} from "./configuration.ts";
export { DynamicAdmission } from "./dynamic-admission.ts";
export { LimitRanger, type LimitRangeSource } from "./limits/limit-ranger.ts";
export {
  defaultNamespace,
  type NamespacePhase,
  type NamespaceSource,
  namespaceLifecycle,
  namespaceTerminating,
} from "./namespace-lifecycle.ts";
export { type Quota, QuotaAdmission, type QuotaSource } from "./quota/quota-admission.ts";
export { reservedDefinitions } from "./reserved-definitions.ts";
export type {
  AdmissionSources,
  ConfigurationSource,
  EquivalentKind,
  ParameterKind,
  ParameterSource,
} from "./sources.ts";
