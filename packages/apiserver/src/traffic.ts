/** Wiring: how many requests are at work, in which order, and what one tenant may hold. */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  FlowControl,
  FlowControlMetrics,
  type FlowControlOptions,
  type ObjectCounter,
  type ObjectLimits,
  WatchLimiter,
  type WatchLimits,
} from "./fairness/index.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import type { CollectionSource } from "./registry/index.ts";
import type { Deadlines } from "./stages/index.ts";
import { clusterPrefix } from "./storage/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export interface RequestLimitOptions {
  /** What one tenant may hold; nothing is limited that is left out or 0. */
  readonly tenantLimits?: Partial<WatchLimits & ObjectLimits>;
  /** `off`: every request begins at once. */
  readonly fairness?:
    | Pick<FlowControlOptions, "seatsTotal" | "turnBudgetMicros" | "waitMaxMs">
    | "off";
}

export interface RequestLimits {
  readonly fairness: FlowControl | undefined;
  readonly objectCount: ObjectCounter;
  readonly watches: WatchLimiter | undefined;
}

interface RequestLimitDependencies {
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly metrics: ServerMetrics;
  readonly watchCache: WatchCache;
  readonly catalog: CollectionSource;
}

export function composeRequestLimits(
  options: RequestLimitOptions,
  parts: RequestLimitDependencies,
): RequestLimits {
  return {
    fairness: options.fairness === "off" ? undefined : flowControlOf(options.fairness ?? {}, parts),
    objectCount: objectCounter(parts),
    watches: watchLimiterOf(options.tenantLimits),
  };
}

function watchLimiterOf(
  limits: RequestLimitOptions["tenantLimits"] = {},
): WatchLimiter | undefined {
  const { watchesPerClusterMax = 0, watchesPerUserMax = 0 } = limits;
  if (watchesPerClusterMax === 0 && watchesPerUserMax === 0) return undefined;
  return new WatchLimiter({ watchesPerClusterMax, watchesPerUserMax });
}

function flowControlOf(
  options: Exclude<RequestLimitOptions["fairness"], "off" | undefined>,
  { clock, deadlines, watchCache, metrics: { registry } }: RequestLimitDependencies,
): FlowControl {
  const metrics = new FlowControlMetrics(registry, () => fairness);
  const fairness = new FlowControl({
    ...options,
    clock,
    timers: deadlines,
    onRejected: (schema, reason) => metrics.onRejected(schema, reason),
    onWaited: (schema, seconds, isExecuted) => metrics.onWaited(schema, seconds, isExecuted),
  });
  metrics.show(fairness.schemas);
  watchCache.hub.gone.tell((cluster) => fairness.forget(cluster));
  return fairness;
}

/** Lists over all logical clusters are of those who run them, or of a provider that has many consumers. */
const assumedOverAll = 1000;

/**
 * What is in memory, or was read before it turned out to be too large for it. Anything else counts as small until it is, as what Kubernetes has not
 * counted does: it is read once for all who wait for it, in pages with turns for others between them.
 */
export function objectCounter({
  watchCache: { collections },
  catalog,
}: Pick<RequestLimitDependencies, "watchCache" | "catalog">): ObjectCounter {
  return ({ cluster, group, version, resource }) => {
    if (cluster === "*") return assumedOverAll;
    const collection = catalog.collectionOf(cluster, group, version, resource);
    return collection && collections.countOf(clusterPrefix({ ...collection, cluster }));
  };
}
