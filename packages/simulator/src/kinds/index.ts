export { disruptionRefused, type LogRequest, type PodEndpointsOptions } from "./pod-endpoints.ts";
export { workloadKinds } from "./workload-kinds.ts";
