/**
 * Lets V8 begin to mark garbage early while work runs that leaves much of it.
 *
 * V8 lets a heap of 60 MiB grow at least twofold before it marks: documents that are converted one
 * after the other leave that much garbage, although each of them uses little. Marking runs in short
 * steps, unlike a collection on request, so that it may begin at any time. A lower limit for all
 * requests (`--heap-growing-percent`) makes each get and create a third more expensive.
 */
import { setFlagsFromString } from "node:v8";

/** The part of the growth until V8's own limit after which marking begins. */
const growthPercent = 10;

export type EarlyMarking = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** V8 reads this flag at each allocation of a page: it may change while the process runs. */
export function earlyMarking(setFlag: (flag: string) => void = setFlagsFromString): EarlyMarking {
  const trigger = (percent: number) => setFlag(`--incremental-marking-hard-trigger=${percent}`);
  let running = 0;
  return async (work) => {
    if (running++ === 0) trigger(growthPercent);
    try {
      return await work();
    } finally {
      if (--running === 0) trigger(0);
    }
  };
}
