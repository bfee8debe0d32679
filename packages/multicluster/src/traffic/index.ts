/** Traffic: Services and Ingresses of workloads in several clusters. */
export type { EndpointGracePeriods } from "./endpoint-visibility.ts";
export { traffic } from "./traffic.ts";
