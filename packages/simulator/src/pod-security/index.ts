/** What namespaces let their Pods do. */
export { podSecurityAdmission } from "./admission.ts";
