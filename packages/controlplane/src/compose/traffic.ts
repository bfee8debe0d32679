/** Creates the limits of concurrency and of tenants from options. */
import {
  type ApiServerOptions,
  type ListenerLimits,
  listenerLimits,
  type RequestLimitOptions,
} from "@kcp-ts/apiserver";
import type { TrafficLimits } from "../options.ts";

export type ServerLimits = RequestLimitOptions &
  Pick<ApiServerOptions, "unread" | "collectionBytesMax">;

/** The cache of single objects and the cache of lists share one limit. */
export function cacheBytesOf({ cacheBytesMax }: TrafficLimits) {
  const entryBytesMax = Math.floor(cacheBytesMax / 5);
  return { entryBytesMax, collectionBytesMax: cacheBytesMax - entryBytesMax };
}

export function trafficOf(limits: TrafficLimits): ServerLimits {
  const { fairness, requestsInFlightMax, mutatingRequestsInFlightMax } = limits;
  const seatsTotal = requestsInFlightMax + mutatingRequestsInFlightMax;
  return {
    flowControl: fairness ? { seatsTotal } : "off",
    tenantLimits: limits,
    collectionBytesMax: cacheBytesOf(limits).collectionBytesMax,
    unread: {
      bytesPerTenantMax: limits.unreadBytesPerClusterMax || Number.POSITIVE_INFINITY,
      bytesMax: limits.unreadBytesMax || Number.POSITIVE_INFINITY,
    },
  };
}

export function listenerLimitsOf(limits: TrafficLimits): Partial<ListenerLimits> {
  const { connectionsMax, streamsPerConnectionMax } = limits;
  return {
    connectionsMax,
    streamsPerConnectionMax: streamsPerConnectionMax || listenerLimits.streamsPerConnectionMax,
  };
}
