/** From options to what the server does at once, and what one tenant may hold. */
import type { TrafficOptions } from "@kcp-ts/apiserver";
import type { TrafficLimits } from "../options.ts";

export function trafficOf(limits: TrafficLimits): TrafficOptions {
  const { fairness, requestsInFlightMax, mutatingRequestsInFlightMax, ...held } = limits;
  const seatsTotal = requestsInFlightMax + mutatingRequestsInFlightMax;
  return { fairness: fairness ? { seatsTotal } : "off", tenantLimits: held };
}
