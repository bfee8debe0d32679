export {
  disruptionRefused,
  type LogRequest,
  type PodEndpointsOptions,
  podEndpoints,
} from "./pod-endpoints.ts";
export { clusterControllerUserAgent } from "./pods.ts";
export { workloadKinds } from "./workload-kinds.ts";
