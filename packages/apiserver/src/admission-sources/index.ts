/** Supplies the sources that admission declares, from storage, registry and the hub. */
export { configurationIndex } from "./configuration-index.ts";
export { equivalentKinds } from "./equivalent-kinds.ts";
export { limitRangeSource } from "./limit-range-source.ts";
export { confirmNamespaceOnCreate, namespaceSource, pluginSources } from "./namespace-source.ts";
export { parameterSource } from "./parameters.ts";
export { PolicyChecker } from "./policy-checker.ts";
export { quotaSource } from "./quota-source.ts";
export { type ServiceObjectsOptions, serviceObjects } from "./service-objects.ts";
