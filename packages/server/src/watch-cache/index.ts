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
export { WatchCache, type WatchCacheOptions } from "./watch-cache.ts";
export type { HubListener, WatchHub } from "./watch-hub.ts";
export { type WatchRequest, watcherLimits } from "./watcher.ts";
