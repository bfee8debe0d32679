import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, sleep } from "./clock.ts";
import { onAbort, untilAborted } from "./on-abort.ts";

describe("listening to a signal", () => {
  it("calls everybody once, but those who have left", () => {
    const controller = new AbortController();
    const called: number[] = [];
    const leave = [1, 2, 3].map((i) => onAbort(controller.signal, () => called.push(i)));
    leave[1]?.();
    controller.abort();
    controller.abort();
    assert.deepEqual(called, [1, 3]);
    onAbort(controller.signal, () => called.push(4));
    assert.deepEqual(called, [1, 3, 4]);
  });

  it("counts the same function as often as it was given", () => {
    const controller = new AbortController();
    let calls = 0;
    const call = () => calls++;
    const leave = onAbort(controller.signal, call);
    onAbort(controller.signal, call);
    leave();
    controller.abort();
    assert.equal(calls, 1);
  });

  it("never makes Node warn of a leak, however many wait or sleep", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    const controller = new AbortController();
    const { signal } = controller;
    const clock = new StillClock();
    const waiting = Array.from({ length: 100 }, () => untilAborted(signal));
    const sleeping = Array.from({ length: 100 }, () => assert.rejects(sleep(clock, 1, signal)));
    // Node warns in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await Promise.all([...waiting, ...sleeping]);
    process.off("warning", listen);
    assert.deepEqual(warnings, []);
  });
});

describe("sleeping", () => {
  it("ends with its time, or with the signal's reason, and leaves no timer and no listener", async () => {
    const clock = new StillClock();
    const controller = new AbortController();
    const { signal } = controller;
    const whole = sleep(clock, 100, signal);
    clock.ring();
    await whole;
    const cut = assert.rejects(sleep(clock, 100, signal), /enough/);
    controller.abort(new Error("enough"));
    await cut;
    await assert.rejects(sleep(clock, 100, signal), /enough/);
    assert.equal(clock.timers.size, 0);
  });

  it("adds one listener to a signal, not one for each time", async () => {
    const { signal } = new AbortController();
    let added = 0;
    const add = signal.addEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      added++;
      add(...args);
    };
    const clock = new StillClock();
    for (let i = 0; i < 50; i++) {
      const slept = sleep(clock, 1, signal);
      clock.ring();
      await slept;
    }
    assert.equal(added, 1);
  });
});

/** Timers ring when the test says so. */
class StillClock implements Clock {
  readonly timers = new Set<() => void>();

  now(): number {
    return 0;
  }

  monotonic(): number {
    return 0;
  }

  schedule(_delayMs: number, callback: () => void) {
    this.timers.add(callback);
    return { cancel: () => void this.timers.delete(callback) };
  }

  ring(): void {
    const due = [...this.timers];
    this.timers.clear();
    for (const callback of due) callback();
  }
}
