/** Memory of a process that serves for a long time: it goes back to the system when there is time for it. */
export { garbageCollector, memoryTidier } from "./garbage-collector.ts";
export { type IdleCollectionOptions, startIdleCollection } from "./start-quiet-collector.ts";
