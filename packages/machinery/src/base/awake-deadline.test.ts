import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awakeDeadline, awakeGraceMs } from "./awake-deadline.ts";
import type { Clock } from "./clock.ts";

/** A process that runs only when it is let: a timer that is due then comes as late as that. */
function sleepyClock() {
  let nowMs = 0;
  let pending: { readonly dueAtMs: number; readonly callback: () => void } | undefined;
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    schedule(delayMs, callback) {
      const timer = { dueAtMs: nowMs + delayMs, callback };
      pending = timer;
      const cancel = () => {
        if (pending === timer) pending = undefined;
      };
      return { cancel };
    },
  };
  /** In steps of so much: in between nothing runs. */
  const pass = (ms: number, stepMs: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs; ) {
      nowMs += stepMs;
      while (pending !== undefined && pending.dueAtMs <= nowMs) {
        const { callback } = pending;
        pending = undefined;
        callback();
      }
    }
  };
  return { clock, pass };
}

describe("a deadline of a process that may be asleep", () => {
  it("is over when its time has passed, and a moment for what has arrived", () => {
    const { clock, pass } = sleepyClock();
    let isOver = false;
    awakeDeadline(clock, 2000, () => {
      isOver = true;
    });
    pass(2000 + awakeGraceMs - 10, 10);
    assert.equal(isOver, false);
    pass(10, 10);
    assert.equal(isOver, true);
  });

  it("does not count time in which nothing ran", () => {
    const { clock, pass } = sleepyClock();
    let isOver = false;
    awakeDeadline(clock, 2000, () => {
      isOver = true;
    });
    pass(1000, 10);
    pass(20_000, 20_000);
    pass(1000, 10);
    assert.equal(isOver, false);
    pass(1000, 10);
    assert.equal(isOver, true);
  });

  it("is over one day also where next to nothing runs, and never when it is cancelled", () => {
    const { clock, pass } = sleepyClock();
    let calls = 0;
    awakeDeadline(clock, 2000, () => calls++);
    pass(90_000, 1000);
    assert.equal(calls, 1);
    awakeDeadline(clock, 2000, () => calls++).cancel();
    pass(90_000, 10);
    assert.equal(calls, 1);
  });
});
