/** The Pod Security Standards of namespaces. */
export { podSecurityAdmission } from "./admission.ts";
