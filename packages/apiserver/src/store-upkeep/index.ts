/** Looks after the store while it serves: history that is let go, values that are damaged, objects that are counted. */
export { Compactor, type CompactorOptions } from "./compactor.ts";
export { type CorruptValues, withCheckedStorage } from "./damaged-values.ts";
export { storageFaultLogger } from "./store-faults.ts";
export { StoredObjectCounts } from "./stored-objects.ts";
