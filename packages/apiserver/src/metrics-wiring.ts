/** Wiring of the sources that the server's own metrics are read from. */
import { type Counter, type ServerGauges, ServerMetrics } from "./metrics/index.ts";
import type { StoredObjectCounts } from "./store-upkeep/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export function wireMetrics(
  watchCache: WatchCache,
  storedObjects: StoredObjectCounts,
  counters: readonly Counter[],
  inFlight: ServerGauges["inFlight"],
): ServerMetrics {
  const metrics = new ServerMetrics({
    storedObjects: () => storedObjects.read(),
    inFlight,
    revision: () => watchCache.hub.revision,
    collections: watchCache.collections,
    cachedLists: watchCache,
  });
  for (const counter of counters) metrics.registry.add(counter);
  return metrics;
}
