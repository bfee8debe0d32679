import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import { isPatchError } from "@kcp-ts/machinery/patch";
import { withSpecDiff } from "./spec-diff.ts";

describe("a spec diff", () => {
  it("patches the spec", () => {
    const diff = '[{"op":"replace","path":"/replicas","value":3}]';
    assert.deepEqual(runSync(withSpecDiff({ replicas: 1, paused: true }, diff)), {
      replicas: 3,
      paused: true,
    });
  });

  it("is applied in a step for each of its operations", () => {
    const operations = Array.from({ length: 500 }, (_, at) => ({
      op: "add",
      path: `/k${at}`,
      value: at,
    }));
    let steps = 0;
    const work = withSpecDiff({}, JSON.stringify(operations));
    for (; work.next().done !== true; ) steps++;
    assert.ok(steps >= 500, `${steps} steps`);
  });

  for (const diff of [
    "{",
    "[]]",
    "3",
    `${"[".repeat(5000)}${"]".repeat(5000)}`,
    '[{"op":"replace","path":"","value":[1]}]',
    '[{"op":"replace","path":"/a/b","value":1}]',
    '[{"op":"add","path":"/n","value":1e400}]',
  ])
    it(`that is ${diff.slice(0, 42)} is its author's mistake, and not the cluster's`, () => {
      assert.throws(
        () => runSync(withSpecDiff({ replicas: 1 }, diff)),
        (error) => isPatchError(error),
      );
    });
});
