/** Wiring: how many requests are at work, in which order, and what one tenant may hold. */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  Fairness,
  FairnessMetrics,
  type FairnessOptions,
  type ObjectCounter,
  type ObjectLimits,
  WatchCounter,
  type WatchLimits,
} from "./fairness/index.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import type { CollectionSource } from "./registry/index.ts";
import type { Deadlines } from "./stages/index.ts";
import { clusterPrefix } from "./storage/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export interface TrafficOptions {
  /** What one tenant may hold; nothing is limited that is left out or 0. */
  readonly tenantLimits?: Partial<WatchLimits & ObjectLimits>;
  /** `off`: every request begins at once. */
  readonly fairness?:
    | Pick<FairnessOptions, "seatsTotal" | "turnBudgetMicros" | "waitMaxMs">
    | "off";
}

export interface Traffic {
  readonly fairness: Fairness | undefined;
  readonly objectCount: ObjectCounter;
  readonly watches: WatchCounter | undefined;
}

interface TrafficParts {
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly metrics: ServerMetrics;
  readonly watchCache: WatchCache;
  readonly catalog: CollectionSource;
}

export function composeTraffic(options: TrafficOptions, parts: TrafficParts): Traffic {
  return {
    fairness: options.fairness === "off" ? undefined : fairnessOf(options.fairness ?? {}, parts),
    objectCount: objectCounter(parts),
    watches: watchCounterOf(options.tenantLimits),
  };
}

function watchCounterOf(limits: TrafficOptions["tenantLimits"] = {}): WatchCounter | undefined {
  const { watchesPerClusterMax = 0, watchesPerUserMax = 0 } = limits;
  if (watchesPerClusterMax === 0 && watchesPerUserMax === 0) return undefined;
  return new WatchCounter({ watchesPerClusterMax, watchesPerUserMax });
}

function fairnessOf(
  options: Exclude<TrafficOptions["fairness"], "off" | undefined>,
  { clock, deadlines, watchCache, metrics: { registry } }: TrafficParts,
): Fairness {
  const metrics = new FairnessMetrics(registry, () => fairness);
  const fairness = new Fairness({
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
}: Pick<TrafficParts, "watchCache" | "catalog">): ObjectCounter {
  return ({ cluster, group, version, resource }) => {
    if (cluster === "*") return assumedOverAll;
    const collection = catalog.collectionOf(cluster, group, version, resource);
    return collection && collections.countOf(clusterPrefix({ ...collection, cluster }));
  };
}
