/** Wiring: the watch cache of a server, and who hears of logical clusters that are gone. */
import type { Supervisor } from "@kcp-ts/machinery/base";
import { forgetClusterTargets } from "./routing/index.ts";
import type { ApiServerOptions } from "./server.ts";
import { WatchCache } from "./watch-cache/index.ts";

export function watchCacheOf(options: ApiServerOptions, supervisor: Supervisor): WatchCache {
  const { storage, clock, log, collectionBytesMax, bookmarkIntervalMs, tidyMemory } = options;
  const watchCache = new WatchCache({
    ...{ storage, clock, unread: options.unread, supervisor },
    onError: (error) => log.warn({ err: error }, "the change feed was interrupted"),
    tidyMemory,
    ...(collectionBytesMax === undefined ? {} : { collectionBytesMax }),
    ...(bookmarkIntervalMs === undefined ? {} : { bookmarkIntervalMs }),
  });
  watchCache.hub.gone.tell(forgetClusterTargets);
  return watchCache;
}
