import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { YieldTimer } from "./pace.ts";

const { signal } = new AbortController();

describe("pace", () => {
  it("yields when its time slice is used up, for all its users together", async () => {
    const clock = new FakeClock();
    const pace = new YieldTimer(clock);
    assert.equal(pace.rest(signal), undefined);
    await clock.advance(4);
    const resting = pace.rest(signal);
    assert.ok(resting instanceof Promise);
    assert.equal(pace.rest(signal), resting);
    await clock.advance(0);
    await resting;
    assert.equal(pace.rest(signal), undefined);
  });

  it("processes every item, never more concurrently than allowed", async () => {
    const pace = new YieldTimer(new FakeClock());
    let [running, most] = [0, 0];
    const done: number[] = [];
    await forEachConcurrently([1, 2, 3, 4, 5], { concurrency: 2, pace, signal }, async (item) => {
      most = Math.max(most, ++running);
      await undefined;
      running--;
      done.push(item);
    });
    assert.deepEqual(done, [1, 2, 3, 4, 5]);
    assert.equal(most, 2);
  });

  it("after a failure no further call begins, and the failure is thrown when the calls in flight have ended", async () => {
    const pace = new YieldTimer(new FakeClock());
    const ended: number[] = [];
    await assert.rejects(
      forEachConcurrently([1, 2, 3, 4], { concurrency: 2, pace, signal }, async (item) => {
        if (item === 1) throw new Error("no");
        await undefined;
        ended.push(item);
      }),
      { message: "no" },
    );
    assert.deepEqual(ended, [2]);
  });
});
