/** Wiring of the sources that the server's own metrics are read from. */
import { type MetricSource, type ServerGauges, ServerMetrics } from "./metrics/index.ts";
import type { StoredObjectCounts } from "./store-upkeep/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export function wireMetrics(
  watchCache: WatchCache,
  storedObjects: StoredObjectCounts,
  sources: readonly MetricSource[],
  inFlight: ServerGauges["inFlight"],
): ServerMetrics {
  const metrics = new ServerMetrics({
    storedObjects: () => storedObjects.read(),
    inFlight,
    revision: () => watchCache.hub.revision,
    collections: watchCache.collections,
    cachedLists: watchCache,
  });
  for (const source of sources) metrics.registry.add(source);
  return metrics;
}
