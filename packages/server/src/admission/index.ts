export {
  Admission,
  type AdmissionPlugin,
  type AdmissionRequest,
  type MutableObject,
  type Operation,
} from "./admission.ts";
export { certificateSigners, type SignerRules } from "./certificate-signers.ts";
export {
  defaultNamespace,
  type NamespacePhase,
  type NamespaceSource,
  namespaceLifecycle,
  namespaceTerminating,
} from "./namespace-lifecycle.ts";
