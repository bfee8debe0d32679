import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { IdleGarbageCollector, type IdleWork } from "./idle-garbage-collector.ts";

const second = 1000;

const nothingFails = (_work: IdleWork): boolean => false;

function started({ pauseMs = 0, waitMs = 0, settleMs = 0, fails = nothingFails } = {}) {
  const clock = new FakeClock();
  let busyMs = 0;
  let processorMs = 0;
  const collectedAt: number[] = [];
  const settledAt: number[] = [];
  const failures: string[] = [];
  const failIf = (work: IdleWork) => {
    if (fails(work)) throw new Error(`no ${work}`);
  };
  const collector = new IdleGarbageCollector({
    clock,
    busyMs: () => busyMs,
    processorMs: () => processorMs,
    async releaseMemory() {
      settledAt.push(clock.monotonic());
      processorMs += settleMs;
      failIf("releaseMemory");
    },
    async collect() {
      assert.equal(settledAt.length, collectedAt.length + 1, "others have let go first");
      collectedAt.push(clock.monotonic());
      failIf("collect");
      await Promise.resolve();
      clock.advance(pauseMs + waitMs);
      busyMs += pauseMs + waitMs;
      processorMs += pauseMs;
    },
    onFailure: (work, error) => failures.push(`${work}: ${(error as Error).message}`),
  });
  collector.start();
  const work = async (ms: number, share: number) => {
    for (let passed = 0; passed < ms; passed += second) {
      busyMs += share * second;
      clock.advance(second);
      // A collection is a few promises.
      for (let turn = 0; turn < 12; turn++) await Promise.resolve();
    }
  };
  return { clock, collector, collectedAt, settledAt, failures, work };
}

describe("the idle garbage collector", () => {
  it("does not collect in a process that was never busy", async () => {
    const { collectedAt, work } = started();
    await work(3600 * second, 0.09);
    assert.deepEqual(collectedAt, []);
  });

  it("collects twice soon after a busy time, twice more when caches have released memory, and then no more", async () => {
    const { collectedAt, work } = started();
    await work(60 * second, 0.9);
    assert.deepEqual(collectedAt, []);
    await work(3600 * second, 0.005);
    assert.deepEqual(collectedAt, [63 * second, 75 * second, 150 * second, 240 * second]);
  });

  it("waits ten times as long while the process is still lightly loaded", async () => {
    const { collectedAt, work } = started();
    await work(60 * second, 0.9);
    await work(25 * second, 0.05);
    assert.deepEqual(collectedAt, []);
    await work(10 * second, 0.05);
    assert.equal(collectedAt.length, 1);
    await work(3600 * second, 0.05);
    assert.equal(collectedAt.length, 4);
  });

  it("does not interrupt a process that is busy again", async () => {
    const { collectedAt, work } = started();
    for (let i = 0; i < 100; i++) {
      await work(10 * second, 0.5);
      await work(2 * second, 0);
    }
    assert.deepEqual(collectedAt, []);
  });

  it("waits after a long collection in proportion to its duration", async () => {
    const { collectedAt, work } = started({ pauseMs: 500 });
    for (let i = 0; i < 20; i++) {
      await work(10 * second, 0.5);
      await work(20 * second, 0);
    }
    for (const [index, at] of collectedAt.entries()) {
      const before = collectedAt[index - 1];
      if (before !== undefined) assert.ok(at - before >= 100 * second, `${before} and ${at}`);
    }
    assert.ok(collectedAt.length >= 4 && collectedAt.length <= 6, String(collectedAt));
  });

  it("does not wait longer because other processes used the machine meanwhile", async () => {
    const { collectedAt, work } = started({ pauseMs: 10, waitMs: 490 });
    await work(10 * second, 0.5);
    await work(5 * second, 0);
    await work(10 * second, 0.5);
    await work(5 * second, 0);
    assert.equal(collectedAt.length, 2, String(collectedAt));
  });

  it("does not wait longer because of other threads that release memory", async () => {
    const { collectedAt, work } = started({ settleMs: 500 });
    await work(10 * second, 0.5);
    await work(20 * second, 0);
    assert.equal(collectedAt.length, 2, String(collectedAt));
  });

  it("reports failed steps, runs the others, and retries at the next idle time", async () => {
    for (const failing of ["releaseMemory", "collect"] as const) {
      let isFailing = true;
      const fails = (work: IdleWork) => isFailing && work === failing;
      const { collectedAt, settledAt, failures, work } = started({ fails });
      await work(60 * second, 0.9);
      await work(3600 * second, 0.005);
      // Later and later, and no more often than all goes well.
      const times = [63 * second, 75 * second, 150 * second, 240 * second];
      assert.deepEqual([settledAt, collectedAt], [times, times]);
      assert.deepEqual(failures, Array(4).fill(`${failing}: no ${failing}`));
      isFailing = false;
      await work(60 * second, 0.9);
      await work(3600 * second, 0.005);
      assert.deepEqual([settledAt.length, failures.length], [8, 4]);
    }
  });

  it("leaves no timer behind when it is stopped", () => {
    const { clock, collector } = started();
    collector.stop();
    assert.equal(clock.pendingTimers, 0);
  });
});
