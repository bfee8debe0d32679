export {
  disruptionRefused,
  type LogRequest,
  type PodEndpointsOptions,
  podEndpoints,
} from "./pod-endpoints.ts";
export { ownManager } from "./pods.ts";
export { workloadKinds } from "./workload-kinds.ts";
