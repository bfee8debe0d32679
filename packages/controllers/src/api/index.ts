/** The kinds that the control loops read and write, as far as they look into them. */
export { type ConfigMap, configMaps } from "./config-maps.ts";
export { type Namespace, type NamespacePhase, namespaces, phaseOf } from "./namespaces.ts";
export { serviceAccounts } from "./service-accounts.ts";
