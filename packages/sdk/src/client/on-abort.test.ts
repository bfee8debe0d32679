import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, settle } from "@kcp-ts/testkit";
import { onAbort, pause, untilAborted } from "./on-abort.ts";

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

  it("never makes Node warn of a leak", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    const controller = new AbortController();
    const waiting = Array.from({ length: 100 }, () => untilAborted(controller.signal));
    await settle();
    controller.abort();
    await Promise.all(waiting);
    process.off("warning", listen);
    assert.deepEqual(warnings, []);
  });
});

describe("a pause", () => {
  it("ends with its time, or with the signal's reason, and leaves no timer", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const whole = pause(clock, 100, controller.signal);
    clock.advance(100);
    await whole;
    const cut = assert.rejects(pause(clock, 100, controller.signal), /enough/);
    controller.abort(new Error("enough"));
    await cut;
    await assert.rejects(pause(clock, 100, controller.signal), /enough/);
    assert.equal(clock.pendingTimers, 0);
  });
});
