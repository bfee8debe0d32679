/** Traffic: Services and Ingresses of workloads that are in several clusters. */
export { type SightPatience, sightPatienceDefault } from "./sight.ts";
export { type Traffic, type TrafficOptions, traffic } from "./traffic.ts";
