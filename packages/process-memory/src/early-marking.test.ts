import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getHeapStatistics } from "node:v8";
import { earlyMarking } from "./early-marking.ts";
import { garbageCollector } from "./garbage-collector.ts";

const early = "--incremental-marking-hard-trigger=10";
const late = "--incremental-marking-hard-trigger=0";

function deferred() {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((...functions) => {
    [resolve, reject] = functions;
  });
  return { promise, resolve, reject };
}

describe("early marking", () => {
  it("ends with the last work that runs, also when that fails", async () => {
    const flags: string[] = [];
    const markEarly = earlyMarking((flag) => flags.push(flag));
    const one = deferred();
    const other = deferred();
    const both = [markEarly(() => one.promise), markEarly(() => other.promise)] as const;
    assert.deepEqual(flags, [early]);
    one.resolve();
    await both[0];
    assert.deepEqual(flags, [early]);
    other.reject(new Error("no"));
    await assert.rejects(both[1], /no/);
    assert.deepEqual(flags, [early, late]);
  });

  it("keeps the heap small while large values follow one another", async () => {
    const collect = garbageCollector();
    const kept = Array.from({ length: 300_000 }, (_, at) => ({ at, text: `kept ${at}` }));
    const growthOf = async (work: (run: () => Promise<void>) => Promise<void>) => {
      collect();
      const before = getHeapStatistics().used_heap_size;
      let greatest = before;
      const last: number[][] = [];
      for (let i = 0; i < 400; i++) {
        await work(async () => {
          last.push(Array.from({ length: 40_000 }, (_, at) => at));
          if (last.length > 40) last.shift();
          await new Promise((resolve) => setImmediate(resolve));
        });
        greatest = Math.max(greatest, getHeapStatistics().used_heap_size);
      }
      return greatest - before;
    };
    const plain = await growthOf((run) => run());
    const marked = await growthOf(earlyMarking());
    assert.ok(marked < plain / 2, `${marked} instead of ${plain} bytes`);
    assert.equal(kept.length, 300_000);
  });
});
