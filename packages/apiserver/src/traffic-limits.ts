/**
 * TrafficLimits: the limits of one server in plain numbers, as its flags have them, and the options
 * of its parts that follow from them.
 */
import { type ListenerLimits, listenerLimits } from "./http/index.ts";
import type { RequestLimitOptions } from "./request-limits.ts";
import type { ApiServerOptions } from "./server.ts";
import { unreadLimits } from "./watch-cache/index.ts";

/**
 * Limits of concurrency and of one tenant. 0 is no limit, except for the first two and where stated
 * otherwise.
 */
export interface TrafficLimits {
  readonly fairness: boolean;
  /** Their sum is the number of seats of priority and fairness. */
  readonly requestsInFlightMax: number;
  readonly mutatingRequestsInFlightMax: number;
  readonly watchesPerClusterMax: number;
  readonly watchesPerUserMax: number;
  /** The memory of watch events that clients have not read yet. */
  readonly unreadBytesPerClusterMax: number;
  readonly unreadBytesMax: number;
  /** The memory of stored objects that are cached for gets and lists. */
  readonly cacheBytesMax: number;
  /** 0: limited by the number of file descriptors. */
  readonly connectionsMax: number;
  /** Of HTTP/2; 0 is the default. */
  readonly streamsPerConnectionMax: number;
  readonly objectsPerClusterMax: number;
  readonly bytesPerClusterMax: number;
  readonly objectCountIntervalMs: number;
}

export const trafficDefaults: TrafficLimits = {
  fairness: true,
  requestsInFlightMax: 400,
  mutatingRequestsInFlightMax: 200,
  watchesPerClusterMax: 20_000,
  watchesPerUserMax: 0,
  unreadBytesPerClusterMax: unreadLimits.bytesPerTenantMax,
  unreadBytesMax: unreadLimits.bytesMax,
  cacheBytesMax: 160 << 20,
  connectionsMax: listenerLimits.connectionsMax,
  streamsPerConnectionMax: listenerLimits.streamsPerConnectionMax,
  objectsPerClusterMax: 0,
  bytesPerClusterMax: 0,
  objectCountIntervalMs: 60_000,
};

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
