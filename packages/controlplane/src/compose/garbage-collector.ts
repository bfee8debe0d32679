/**
 * Has the garbage collector run: while the control loops read everything through, and when a busy time is over.
 *
 * What is read comes in buffers outside the heap, which the collector does not see as pressure until there are tens of megabytes of them; and memory that
 * was used once stays with the process. What was read a moment ago is young, and the young are collected in less than a millisecond, however large the heap.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface GarbageCollector {
  /** All that nobody needs. Takes as long as the heap is large. */
  collect(): void;
  /** Of what was made lately. */
  collectYoung(): void;
}

export function garbageCollector(): GarbageCollector {
  setFlagsFromString("--expose-gc");
  const run = runInNewContext("globalThis.gc") as (options?: { type: "minor" }) => void;
  return { collect: () => run(), collectYoung: () => run({ type: "minor" }) };
}
