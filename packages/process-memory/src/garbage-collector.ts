/**
 * Has the garbage collector run: while the control loops read everything through, and when a busy time is over.
 *
 * What is read comes in buffers outside the heap, which the collector does not see as pressure until there are tens of megabytes of them; and memory that
 * was used once stays with the process. Collecting the young alone does not help: what is read is passed on page by page, and is old by then.
 */
import { Session } from "node:inspector";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "@kcp-ts/machinery/base";

/** A heap that had more than this in use after the last collection is left alone: others would have to wait too long. */
const heapBytesMax = 48 << 20;
/** A collection is followed by at least so many times its own length without one. */
const restFactor = 20;

export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("globalThis.gc") as () => void;
  return () => collect();
}

/**
 * Collects as V8 does when the system says that memory is short: what is left is put together, empty pages go back, and the nursery shrinks from what a load has
 * made of it (64 MB) to one. It takes several times as long as a plain collection; for quiet times.
 */
export function memoryReturner(collect: () => void): () => Promise<void> {
  return async () => {
    const session = new Session();
    try {
      session.connect();
    } catch {
      // Somebody built Node without it.
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
 * Collects while that stops everybody for a moment only, which grows with what is in use: about 2 ms for each MB. Where a collection has left more than this, there is no
 * other until so little is in use that it cannot take long.
 */
export const liveBytesMax = 96 << 20;

export function unlessLarge(
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

/** To be called as often as one likes: it collects when that takes a small part of the time. */
export function memoryTidier(clock: Clock, collect: () => void): () => void {
  let notBefore = 0;
  let usedBytes = 0;
  return () => {
    const startedAt = clock.monotonic();
    if (startedAt < notBefore || usedBytes > heapBytesMax) return;
    collect();
    usedBytes = getHeapStatistics().used_heap_size;
    const endedAt = clock.monotonic();
    notBefore = endedAt + (endedAt - startedAt) * restFactor;
  };
}
