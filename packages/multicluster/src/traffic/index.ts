/** Traffic: Services and Ingresses of workloads that are in several clusters. */
export { type EndpointGracePeriods, endpointGracePeriodsDefault } from "./sight.ts";
export { type Traffic, type TrafficOptions, traffic } from "./traffic.ts";
