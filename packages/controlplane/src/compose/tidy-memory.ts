/**
 * Has the garbage collector run while the control loops read everything through, at the start and after a gap.
 *
 * What is read comes in buffers outside the heap, which the collector does not see as pressure until there are tens of megabytes of them; and memory that
 * was used once stays with the process. A small heap is collected in some milliseconds; a large one is left alone, since others would have to wait.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const heapBytesMax = 32 << 20;

export function memoryTidier(collect: () => void): () => void {
  return () => {
    if (getHeapStatistics().used_heap_size <= heapBytesMax) collect();
  };
}

export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("globalThis.gc") as (() => void) | undefined;
  return () => collect?.();
}
