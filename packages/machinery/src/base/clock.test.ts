import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "./clock.ts";

const dayMs = 86_400_000;
/** The longest that Node waits at a time. */
const stretchMs = 2 ** 31 - 1;

describe("the clock of the system", () => {
  it("waits for longer than a timer of Node can", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let calls = 0;
    systemClock.schedule(40 * dayMs, () => calls++);
    t.mock.timers.tick(1);
    t.mock.timers.tick(stretchMs - 1);
    t.mock.timers.tick(40 * dayMs - stretchMs - 1);
    assert.equal(calls, 0);
    t.mock.timers.tick(1);
    assert.equal(calls, 1);
    t.mock.timers.tick(80 * dayMs);
    assert.equal(calls, 1);
  });

  it("forgets what is cancelled, in whichever stretch of the wait", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let calls = 0;
    const timer = systemClock.schedule(40 * dayMs, () => calls++);
    t.mock.timers.tick(30 * dayMs);
    timer.cancel();
    t.mock.timers.tick(30 * dayMs);
    assert.equal(calls, 0);
  });
});
