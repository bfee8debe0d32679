import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { ReconcileDeadline } from "./reconcile-deadline.ts";

function start() {
  const clock = new FakeClock();
  const ends: string[] = [];
  const deadline = new ReconcileDeadline({
    clock,
    timeoutMs: 1000,
    timeoutError: () => new Error("too slow"),
    onEnd: () => ends.push("ended"),
  });
  return { clock, deadline, ends };
}

describe("the deadline of a reconcile", () => {
  it("aborts its signal, whether that was asked for before the end or after it", () => {
    const { clock, deadline, ends } = start();
    const { signal } = deadline;
    clock.advance(999);
    assert.equal(signal.aborted, false);
    clock.advance(1);
    assert.match(String(signal.reason), /too slow/);
    const late = start();
    late.clock.advance(1000);
    assert.match(String(late.deadline.signal.reason), /too slow/);
    assert.deepEqual([ends, late.ends], [["ended"], ["ended"]]);
  });

  it("ends once, with its first reason, and never after it was cancelled", () => {
    const { clock, deadline, ends } = start();
    deadline.end("stopped");
    clock.advance(1000);
    assert.equal(deadline.signal.reason, "stopped");
    assert.deepEqual(ends, ["ended"]);
    const cancelled = start();
    cancelled.deadline.cancel();
    cancelled.clock.advance(1000);
    assert.deepEqual(cancelled.ends, []);
  });
});
