/** Traffic: Services and Ingresses of workloads in several clusters. */
export { type EndpointGracePeriods, endpointGracePeriodsDefault } from "./endpoint-visibility.ts";
export { type Traffic, type TrafficOptions, traffic } from "./traffic.ts";
