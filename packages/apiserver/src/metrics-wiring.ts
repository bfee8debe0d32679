/** What the server's own metrics are read from. */

import { type ServerGauges, ServerMetrics } from "./metrics/index.ts";
import type { DamagedValues, StoredObjects } from "./store-upkeep/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export function metricsOf(
  watchCache: WatchCache,
  storedObjects: StoredObjects,
  damaged: DamagedValues,
  inFlight: ServerGauges["inFlight"],
): ServerMetrics {
  const metrics = new ServerMetrics({
    storedObjects: () => storedObjects.read(),
    inFlight,
    revision: () => watchCache.hub.revision,
    collections: watchCache.collections,
    memoryLists: watchCache,
  });
  metrics.registry.add(damaged.counter);
  return metrics;
}
