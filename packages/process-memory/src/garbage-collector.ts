/**
 * Runs the garbage collector: while controllers read complete lists, and after a busy time.
 *
 * Responses are read into buffers outside of the heap, which the collector does not see as pressure
 * until there are tens of megabytes of them; and the process keeps memory that was used once.
 * Collecting the young generation alone does not help: lists are processed page by page, and pages
 * are old by then.
 */
import { Session } from "node:inspector";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "@kcp-ts/machinery/base";

/**
 * With more than this in use, garbage included, no collection runs: of a heap of 48 MiB that is
 * all in use, it takes 60 ms on a busy machine.
 */
export const heapBytesMax = 32 << 20;
/** A collection is followed by at least this multiple of its own duration without one. */
const restFactor = 20;

export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("globalThis.gc") as () => void;
  return () => collect();
}

/**
 * Collects as V8 does when the system reports low memory: live objects are compacted, empty pages
 * are released, and the young generation shrinks from its size under load (64 MB) to one. It takes
 * several times as long as a plain collection; for idle times.
 */
export function memoryReducer(collect: () => void): () => Promise<void> {
  return async () => {
    const session = new Session();
    try {
      session.connect();
    } catch {
      // This build of Node does not have the function.
      collect();
      return;
    }
    await new Promise<void>((resolve) => {
      session.post("HeapProfiler.collectGarbage", () => resolve());
    });
    session.disconnect();
  };
}

/**
 * Collects while the pause is short; it grows with the memory in use: about 2 ms for each MB. After
 * a collection that has left more than the limit, there is no other until the memory in use is
 * small enough.
 */
export const liveBytesMax = 96 << 20;

export function unlessHeapIsLarge(
  collect: () => Promise<void>,
  usedBytes: () => number = () => getHeapStatistics().used_heap_size,
): () => Promise<void> {
  let left = 0;
  return async () => {
    if (left > liveBytesMax && usedBytes() > liveBytesMax) return;
    await collect();
    left = usedBytes();
  };
}

/** May be called at any rate: it collects only when collections take a small part of the time. */
export function throttledGarbageCollector(
  clock: Clock,
  collect: () => void,
  usedBytes: () => number = () => getHeapStatistics().used_heap_size,
): () => void {
  let notBefore = 0;
  return () => {
    const startedAt = clock.monotonic();
    if (startedAt < notBefore || usedBytes() > heapBytesMax) return;
    collect();
    const endedAt = clock.monotonic();
    notBefore = endedAt + (endedAt - startedAt) * restFactor;
  };
}
