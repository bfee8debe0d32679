/** The kinds that the control loops read and write, as far as they look into them. */
export { type Namespace, type NamespacePhase, namespaces, phaseOf } from "./namespaces.ts";
