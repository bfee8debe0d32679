export type { IndexLookup } from "./entry-index.ts";
export {
  cachedLabels,
  type EventEncoding,
  type EventType,
  encodeFrame,
  fullObjectEncoding,
  type HubEvent,
  hasCachedLabels,
  type Selection,
} from "./hub-event.ts";
export { isContinuous } from "./is-continuous.ts";
export type { Freshness, ListResult } from "./object-reader.ts";
export { UnreadBudget, unreadLimits } from "./unread-budget.ts";
export { WatchCache, type WatchCacheOptions } from "./watch-cache.ts";
export type { HubListener, WatchHub } from "./watch-hub.ts";
export { Watcher, watcherLimits } from "./watcher.ts";
