/** Starts the idle garbage collector of this process. */
import type { Clock } from "@kcp-ts/machinery/base";
import { memoryReducer, unlessHeapIsLarge } from "./garbage-collector.ts";
import { IdleGarbageCollector, type IdleWork } from "./idle-garbage-collector.ts";

export interface IdleCollectionOptions {
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void };
  readonly collectGarbage: () => void;
  /** Runs before each collection: the server releases memory that it can do without. */
  readonly releaseMemory: () => Promise<void>;
}

export function startIdleCollection(options: IdleCollectionOptions): { stop(): void } {
  const { clock, log, collectGarbage, releaseMemory } = options;
  const collector = new IdleGarbageCollector({
    clock,
    busyMs: () => performance.eventLoopUtilization().active,
    processorMs,
    releaseMemory,
    collect: unlessHeapIsLarge(memoryReducer(collectGarbage)),
    onFailure: (work, error) => log.warn({ err: error, work }, quietFailures[work]),
  });
  collector.start();
  return collector;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Steps that lose no data. */
const quietFailures = {
  releaseMemory:
    "the store could not put away what it holds in memory and in its log, and tries again in a later quiet time: check the disk if this goes on",
  collect: "memory could not be collected in a quiet time, which is tried again in a later one",
} as const satisfies Record<IdleWork, string>;
