import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { onAbort, untilAborted } from "./on-abort.ts";
import { TaskGroup } from "./task-group.ts";

describe("a group of tasks", () => {
  it("ends when it is closed and the last task has ended, tasks that were added late included", async () => {
    const stop = new AbortController();
    const group = new TaskGroup(stop.signal);
    const ended: string[] = [];
    const task = (name: string) => async (signal: AbortSignal) => {
      await untilAborted(signal);
      ended.push(name);
    };
    group.start(task("first"));
    group.start(async () => {});
    onAbort(stop.signal, () => group.start(task("late")));
    const joined = group.join();
    stop.abort();
    await joined;
    assert.deepEqual(ended, ["first", "late"]);
  });

  it("is stopped by the first failure, which it rejects with when all tasks have ended", async () => {
    const group = new TaskGroup(new AbortController().signal);
    let hasEnded = false;
    group.start(async (signal) => {
      await untilAborted(signal);
      hasEnded = true;
      throw new Error("second");
    });
    group.start(async () => {
      throw new Error("first");
    });
    await assert.rejects(group.join(), /^Error: first$/);
    assert.ok(hasEnded);
  });
});
