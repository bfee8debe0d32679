import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Clock, Timer } from "./clock.ts";
import { healthyMs, type LoopFailure, LoopSupervisor, restartMaxMs } from "./loop-supervisor.ts";
import { onAbort, untilAborted } from "./on-abort.ts";
import type { Task } from "./task-group.ts";

class FakeClock implements Clock {
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  #nowMs = 0;

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  get pending(): number {
    return this.#timers.size;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const timer = { at: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const timer of this.#timers) {
      if (timer.at <= this.#nowMs && this.#timers.delete(timer)) timer.callback();
    }
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await undefined;
}

function supervised(loop: Task) {
  const clock = new FakeClock();
  const failures: LoopFailure[] = [];
  const random = { next: () => 1 - Number.EPSILON };
  const supervisor = new LoopSupervisor({
    clock,
    random,
    onDown: (failure) => failures.push(failure),
  });
  const stop = new AbortController();
  const running = supervisor.runLoop("worker", stop.signal, loop);
  return { clock, failures, supervisor, stop, running };
}

const statesOf = ({ loops }: LoopSupervisor) => [...loops].map(({ name, down }) => [name, down]);

describe("a supervised loop", () => {
  it("is started again when it fails, and is down meanwhile", async () => {
    let starts = 0;
    const { clock, failures, supervisor, stop, running } = supervised(async (signal) => {
      if (++starts === 1) throw new Error("the source is broken");
      await untilAborted(signal);
    });
    await settle();
    assert.deepEqual(statesOf(supervisor), [["worker", "the source is broken"]]);
    assert.deepEqual(
      failures.map(({ loop, error }) => [loop, String(error)]),
      [["worker", "Error: the source is broken"]],
    );
    clock.advance(1000);
    await settle();
    assert.deepEqual([starts, statesOf(supervisor)], [2, [["worker", undefined]]]);
    stop.abort();
    await running;
    assert.deepEqual([statesOf(supervisor), failures.length, clock.pending], [[], 1, 0]);
  });

  it("is started again when it ends before its signal is aborted", async () => {
    let starts = 0;
    const { clock, failures, stop, running } = supervised(async () => {
      starts++;
    });
    await settle();
    assert.equal(String(failures[0]?.error), "Error: the loop ended");
    clock.advance(1000);
    await settle();
    assert.equal(starts, 2);
    stop.abort();
    await running;
    assert.equal(clock.pending, 0);
  });

  it("waits longer after each failure, up to a minute, and begins anew after it ran well", async () => {
    let runsForMs = 0;
    const { clock, failures, stop, running } = supervised(async () => {
      if (runsForMs > 0) clock.advance(runsForMs);
      throw new Error("again");
    });
    for (let i = 0; i < 8; i++) {
      await settle();
      clock.advance(restartMaxMs);
    }
    await settle();
    const seconds = () => failures.map(({ restartMs }) => Math.round(restartMs / 1000));
    assert.deepEqual(seconds(), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    runsForMs = healthyMs;
    clock.advance(restartMaxMs);
    await settle();
    assert.equal(seconds().at(-1), 1);
    stop.abort();
    await running;
  });

  it("stops what it left running when it failed", async () => {
    let isStopped = false;
    const { stop, running } = supervised(async (signal) => {
      onAbort(signal, () => {
        isStopped = true;
      });
      throw new Error("half of it");
    });
    await settle();
    assert.ok(isStopped);
    stop.abort();
    await running;
  });

  it("finishes its work in flight when its signal is aborted, and a failure then is not reported", async () => {
    let hasFinished = false;
    const { failures, stop, running } = supervised(async (signal) => {
      await untilAborted(signal);
      await settle();
      hasFinished = true;
      throw new Error("the connection is gone");
    });
    stop.abort();
    await running;
    assert.deepEqual([hasFinished, failures], [true, []]);
  });
});

describe("a supervised task", () => {
  it("is started again until it comes to its end", async () => {
    const clock = new FakeClock();
    const failures: LoopFailure[] = [];
    const random = { next: () => 0 };
    const supervisor = new LoopSupervisor({
      clock,
      random,
      onDown: (failure) => failures.push(failure),
    });
    let starts = 0;
    const running = supervisor.runTask("walk", new AbortController().signal, async () => {
      if (++starts < 3) throw new Error("the store is away");
    });
    for (let i = 0; i < 3; i++) {
      await settle();
      clock.advance(restartMaxMs);
    }
    await running;
    assert.deepEqual([starts, failures.length, statesOf(supervisor)], [3, 2, []]);
  });
});
