export {
  cachedLabels,
  type EventForm,
  type EventType,
  frame,
  type HubEvent,
  hasCachedLabels,
  type Selection,
  wholeObject,
} from "./hub-event.ts";
export type { Freshness, Listing, ListQuery } from "./object-reader.ts";
export { isUnbroken } from "./unbroken.ts";
export { UnreadBudget, type UnreadLimits, unreadLimits } from "./unread-budget.ts";
export { WatchCache, type WatchCacheOptions } from "./watch-cache.ts";
export type { HubListener, WatchHub } from "./watch-hub.ts";
export { Watcher, type WatchRequest, watcherLimits } from "./watcher.ts";
