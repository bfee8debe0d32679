import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Behaviour } from "./behaviour.ts";
import { backOffMs, lifecycleAt } from "./container-lifecycle.ts";

const good: Behaviour = {
  startDelayMs: 0,
  readyDelayMs: 0,
  isEverReady: true,
  failure: undefined,
  runMs: undefined,
  exitCode: 0,
};

describe("lifecycle of a container", () => {
  it("a container waits, then runs until it is stopped", () => {
    assert.deepEqual(lifecycleAt(good, "Always", 1000, 999).phase, {
      kind: "waiting",
      reason: "ContainerCreating",
    });
    const life = lifecycleAt(good, "Always", 1000, 1_000_000);
    assert.deepEqual(life.phase, { kind: "running", sinceMs: 1000 });
    assert.equal(life.nextAtMs, undefined);
  });

  it("a container restarts immediately, then with backoff of up to five minutes", () => {
    const crashing = { ...good, runMs: 1000, exitCode: 1 };
    const second = lifecycleAt(crashing, "Always", 0, 1000);
    assert.deepEqual([second.phase.kind, second.restarts], ["running", 1]);
    const waiting = lifecycleAt(crashing, "Always", 0, 2000);
    assert.equal(waiting.phase.kind === "waiting" && waiting.phase.reason, "CrashLoopBackOff");
    assert.equal(waiting.nextAtMs, 12_000);
    assert.deepEqual([1, 2, 3, 6, 50].map(backOffMs), [10_000, 20_000, 40_000, 300_000, 300_000]);
  });

  it("a container does not restart when its restart policy forbids it", () => {
    const ending = { ...good, runMs: 500 };
    assert.equal(lifecycleAt(ending, "OnFailure", 0, 500).phase.kind, "ended");
    assert.equal(lifecycleAt({ ...ending, exitCode: 3 }, "Never", 0, 9999).phase.kind, "ended");
    assert.notEqual(
      lifecycleAt({ ...ending, exitCode: 3 }, "OnFailure", 0, 500).phase.kind,
      "ended",
    );
  });

  it("the restart count never decreases, and the time of the next change is reported", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5000 }),
        fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 2, maxLength: 8 }),
        (runMs, times) => {
          const crashing = { ...good, runMs, exitCode: 1 };
          let restarts = 0;
          for (const nowMs of times.sort((a, b) => a - b)) {
            const life = lifecycleAt(crashing, "Always", 0, nowMs);
            assert.ok(life.restarts >= restarts);
            assert.ok((life.nextAtMs ?? 0) > nowMs);
            restarts = life.restarts;
          }
        },
      ),
    );
  });
});
