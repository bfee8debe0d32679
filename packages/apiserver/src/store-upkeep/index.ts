/** Looks after the store while it serves: history that is let go, values that are damaged, objects that are counted. */
export { Compactor, type CompactorOptions } from "./compactor.ts";
export { type DamagedValues, withCheckedStorage } from "./damaged-values.ts";
export { storeFaultTeller } from "./store-faults.ts";
export { StoredObjects } from "./stored-objects.ts";
