/** Access of Pods to the logical cluster of their workload. */
export { accountOf, secretData } from "./access-secret.ts";
export {
  type ApiAccess,
  type ApiAccessOptions,
  apiAccess,
  apiAccessTokenSecondsDefault,
} from "./api-access.ts";
