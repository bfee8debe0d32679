/** Memory of a long-running server process: it is returned to the system in idle times. */
export { type EarlyMarking, earlyMarking } from "./early-marking.ts";
export { garbageCollector, throttledGarbageCollector } from "./garbage-collector.ts";
export { startIdleCollection } from "./start-quiet-collector.ts";
