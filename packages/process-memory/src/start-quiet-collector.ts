/** The collector of quiet times of this process. */
import type { Clock } from "@kcp-ts/machinery/base";
import { memoryReturner, unlessLarge } from "./garbage-collector.ts";
import { IdleGarbageCollector, type IdleWork } from "./quiet-collector.ts";

export interface IdleCollectionOptions {
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void };
  readonly collectGarbage: () => void;
  /** Before each collection: the server lets go of what it can do without. */
  readonly settle: () => Promise<void>;
}

export function startIdleCollection(options: IdleCollectionOptions): { stop(): void } {
  const { clock, log, collectGarbage, settle } = options;
  const collector = new IdleGarbageCollector({
    clock,
    busyMs: () => performance.eventLoopUtilization().active,
    processorMs,
    settle,
    collect: unlessLarge(memoryReturner(collectGarbage)),
    onFailure: (work, error) => log.warn({ err: error, work }, quietFailures[work]),
  });
  collector.start();
  return collector;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Nothing is lost by any of them. */
const quietFailures = {
  settle:
    "the store could not put away what it holds in memory and in its log, and tries again in a later quiet time: check the disk if this goes on",
  collect: "memory could not be collected in a quiet time, which is tried again in a later one",
} as const satisfies Record<IdleWork, string>;
