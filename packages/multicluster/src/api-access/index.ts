/** Access of Pods to the logical cluster of their workload. */
export { apiAccess, apiAccessTokenSecondsDefault } from "./api-access.ts";
