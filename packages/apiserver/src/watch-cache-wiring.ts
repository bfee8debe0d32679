/** Wiring of the server's watch cache, and of the subscribers to deletions of logical clusters. */
import type { Supervisor } from "@kcp-ts/machinery/base";
import { forgetClusterTargets } from "./routing/index.ts";
import type { ApiServerOptions } from "./server.ts";
import { WatchCache } from "./watch-cache/index.ts";

export function watchCacheOf(options: ApiServerOptions, supervisor: Supervisor): WatchCache {
  const { storage, clock, log, collectionBytesMax, bookmarkIntervalMs, collectGarbage } = options;
  const watchCache = new WatchCache({
    storage,
    clock,
    unread: options.unread,
    supervisor,
    onError: (error) => log.warn({ err: error }, "the change feed was interrupted"),
    collectGarbage,
    ...(collectionBytesMax === undefined ? {} : { collectionBytesMax }),
    ...(bookmarkIntervalMs === undefined ? {} : { bookmarkIntervalMs }),
  });
  watchCache.hub.clusterDeletions.onDeleted(forgetClusterTargets);
  return watchCache;
}
