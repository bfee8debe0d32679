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
    "the store cannot write its memory and its log to disk, and retries when it is idle: check the disk if this repeats",
  collect: "cannot collect memory while idle; retrying in the next idle time",
} as const satisfies Record<IdleWork, string>;
