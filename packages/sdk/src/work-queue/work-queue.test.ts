import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import fc from "fast-check";
import { MetricsRegistry } from "../metrics/index.ts";
import {
  BucketRateLimiter,
  ExponentialFailureRateLimiter,
  MaxOfRateLimiter,
} from "./rate-limiter.ts";
import { WorkQueue } from "./work-queue.ts";

function setUp(flowOf?: (item: string) => string) {
  const clock = new FakeClock();
  const metrics = new MetricsRegistry();
  const rateLimiter = new ExponentialFailureRateLimiter({ firstMs: 10, mostMs: 1000 });
  const queue = new WorkQueue<string>({
    name: "q",
    keyOf: (item) => item,
    flowOf,
    rateLimiter,
    metrics,
    clock,
  });
  /** Takes and finishes all that is ready. */
  const drain = async () => {
    const items: string[] = [];
    while (queue.depth > 0) {
      const item = (await queue.get()) ?? "";
      items.push(item);
      queue.done(item);
    }
    return items.join("");
  };
  return { clock, metrics, queue, drain };
}

describe("a work queue", () => {
  it("holds a key once, in the order of arrival", async () => {
    const { queue, drain } = setUp();
    for (const item of "abacb") queue.add(item);
    assert.equal(await drain(), "abc");
  });

  it("never returns a key that is being processed, and returns it once more if it was added meanwhile", async () => {
    const { queue, drain } = setUp();
    queue.add("a");
    assert.equal(await queue.get(), "a");
    queue.add("a");
    queue.add("a");
    assert.equal(queue.depth, 0);
    queue.done("a");
    assert.equal(await drain(), "a");
    assert.throws(() => queue.done("a"), /not being worked on/);
  });

  it("returns higher priorities first, also when a waiting key is raised", async () => {
    const { queue, drain } = setUp();
    queue.add("a", { priority: -100 });
    queue.add("b", { priority: -100 });
    queue.add("c");
    queue.add("d", { priority: 5 });
    queue.add("b", { priority: 0 });
    queue.add("d", { priority: -7 });
    assert.equal(queue.depth, 4);
    assert.equal(await drain(), "dcba");
  });

  it("lets flows take turns", async () => {
    const { queue, drain } = setUp((item) => (item < "p" ? "first" : "second"));
    for (const item of "abcdpq") queue.add(item);
    assert.equal(await drain(), "apbqcd");
  });

  it("hands an item to the waiting worker that has waited longest", async () => {
    const { queue } = setUp();
    const waiting = [queue.get(), queue.get(), queue.get()];
    queue.add("a");
    queue.add("b");
    assert.deepEqual(await Promise.all(waiting.slice(0, 2)), ["a", "b"]);
    queue.shutDown();
    assert.equal(await waiting[2], undefined);
  });

  it("hands the most urgent of the keys added in one turn to the waiting worker", async () => {
    const { queue } = setUp();
    const waiting = queue.get();
    queue.add("a", { priority: -100 });
    queue.add("b");
    queue.add("b");
    assert.equal(await waiting, "b");
    assert.equal(queue.depth, 1);
  });

  it("delays a key, once and to the earliest of the requested times", async () => {
    const { queue, drain, clock } = setUp();
    queue.addAfter("a", 100);
    queue.addAfter("a", 50);
    queue.addAfter("a", 80);
    queue.addAfter("b", 20);
    queue.addAfter("c", 0);
    assert.equal(await drain(), "c");
    clock.advance(20);
    assert.equal(await drain(), "b");
    clock.advance(29);
    assert.equal(await drain(), "");
    clock.advance(1);
    assert.equal(await drain(), "a");
    clock.advance(1000);
    assert.equal(await drain(), "");
    assert.equal(clock.pendingTimers, 0);
  });

  it("waits longer after each failure until the failures are reset", async () => {
    const { queue, drain, clock } = setUp();
    for (const delayMs of [10, 20, 40]) {
      queue.addRateLimited("a");
      clock.advance(delayMs - 1);
      assert.equal(await drain(), "");
      clock.advance(1);
      assert.equal(await drain(), "a");
    }
    assert.equal(queue.retries("a"), 3);
    queue.forget("a");
    queue.addRateLimited("a");
    clock.advance(10);
    assert.equal(await drain(), "a");
  });

  it("accepts and returns no items after its shutdown, but waits for items that are being processed", async () => {
    const { queue, clock } = setUp();
    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 10);
    await queue.get();
    queue.shutDown();
    queue.add("d");
    assert.equal(await queue.get(), undefined);
    let isIdle = false;
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    await clock.advanceAndFlush(100);
    assert.equal(isIdle, false);
    queue.done("a");
    await idle;
    assert.equal(clock.pendingTimers, 0);
  });

  it("counts under the metric names of Kubernetes", async () => {
    const { queue, metrics, clock } = setUp();
    queue.add("a");
    queue.add("b");
    queue.addRateLimited("c");
    clock.advance(2000);
    await queue.get();
    clock.advance(3000);
    const text = metrics.text();
    for (const line of [
      'workqueue_depth{name="q"} 2',
      'workqueue_adds_total{name="q"} 3',
      'workqueue_retries_total{name="q"} 1',
      'workqueue_queue_duration_seconds_sum{name="q"} 2',
      'workqueue_unfinished_work_seconds{name="q"} 3',
      'workqueue_longest_running_processor_seconds{name="q"} 3',
    ]) {
      assert.ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
    }
    queue.done("a");
    assert.match(metrics.text(), /workqueue_work_duration_seconds_sum\{name="q"\} 3\n/);
  });

  it("neither loses nor duplicates an item, for any sequence of operations", async () => {
    const command = fc.record({
      do: fc.constantFrom("add", "addAfter", "take", "done", "advance"),
      item: fc.constantFrom("a", "b", "c", "d"),
      priority: fc.constantFrom(-100, 0, 10),
      ms: fc.integer({ min: 0, max: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 80 }), async (commands) => {
        const { queue, clock } = setUp((item) => (item < "c" ? "x" : "y"));
        const working = new Set<string>();
        const owed = new Set<string>();
        const dueAt = new Map<string, number>();
        const take = async () => {
          const taken = (await queue.get()) ?? "";
          assert.ok(!working.has(taken), `${taken} was given out twice`);
          assert.ok(owed.delete(taken), `${taken} was given out for nothing`);
          working.add(taken);
        };
        const advance = (ms: number) => {
          clock.advance(ms);
          for (const [item, atMs] of dueAt) {
            if (atMs > clock.monotonic()) continue;
            dueAt.delete(item);
            owed.add(item);
          }
        };
        for (const { do: verb, item, priority, ms } of commands) {
          if (verb === "add") {
            queue.add(item, { priority });
            owed.add(item);
          } else if (verb === "addAfter") {
            queue.addAfter(item, ms + 1, { priority });
            const atMs = clock.monotonic() + ms + 1;
            dueAt.set(item, Math.min(atMs, dueAt.get(item) ?? atMs));
          } else if (verb === "advance") advance(ms);
          else if (verb === "take" && queue.depth > 0) await take();
          else if (verb === "done" && working.delete(item)) queue.done(item);
          assert.equal(queue.depth, [...owed].filter((one) => !working.has(one)).length);
          assert.equal(queue.delayed, dueAt.size);
        }
        advance(1000);
        for (const item of working) queue.done(item);
        working.clear();
        while (queue.depth > 0) await take();
        assert.deepEqual([...owed], []);
      }),
    );
  });
});

describe("rate limiters", () => {
  it("stop doubling at the maximum delay", () => {
    const limiter = new ExponentialFailureRateLimiter({ firstMs: 1, mostMs: 5 });
    assert.deepEqual(
      Array.from({ length: 5 }, () => limiter.delayMs("a")),
      [1, 2, 4, 5, 5],
    );
    assert.equal(limiter.delayMs("b"), 1);
  });

  it("allow a burst and then a number of retries per second", () => {
    const clock = new FakeClock();
    const bucket = new BucketRateLimiter({ perSecond: 10, burst: 2, clock });
    assert.deepEqual(
      Array.from({ length: 4 }, () => bucket.delayMs()),
      [0, 0, 100, 200],
    );
    clock.advance(10_000);
    assert.equal(bucket.delayMs(), 0);
  });

  it("use the longest delay of several", () => {
    const clock = new FakeClock();
    const limiter = new MaxOfRateLimiter([
      new ExponentialFailureRateLimiter({ firstMs: 150, mostMs: 1000 }),
      new BucketRateLimiter({ perSecond: 10, burst: 0, clock }),
    ]);
    assert.deepEqual([limiter.delayMs("a"), limiter.delayMs("b")], [150, 200]);
    assert.equal(limiter.retries("a"), 1);
    limiter.forget("a");
    assert.equal(limiter.retries("a"), 0);
  });
});
