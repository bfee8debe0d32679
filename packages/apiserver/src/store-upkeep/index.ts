/** Maintains the store while it serves: compaction of history, damaged values, object counts. */
export { Compactor, type CompactorOptions } from "./compactor.ts";
export { withCheckedStorage } from "./corrupt-values.ts";
export { storageFaultLogger } from "./storage-fault-logger.ts";
export { ensureStoreFormat } from "./store-format.ts";
export { StoredObjectCounts } from "./stored-object-counts.ts";
