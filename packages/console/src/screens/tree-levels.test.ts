import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Level, treeRows } from "./tree-levels.ts";

const rows = (current: string, open: readonly string[], levels: Record<string, Level>) =>
  treeRows({
    root: "root",
    current,
    open: new Set(open),
    levels: new Map(Object.entries(levels)),
  }).map((row) =>
    row.kind === "workspace"
      ? `${row.depth} ${row.path} ${row.position}/${row.size}`
      : `${row.depth} ${row.kind}`,
  );

describe("the rows of the tree of workspaces", () => {
  it("are the children of open workspaces, with their places among their siblings", () => {
    const levels = {
      root: { names: ["a", "b"], remaining: 0 },
      "root:a": { names: ["x"], remaining: 0 },
    };
    assert.deepEqual(rows("root", ["root", "root:a"], levels), [
      "1 root 1/1",
      "2 root:a 1/2",
      "3 root:a:x 1/1",
      "2 root:b 2/2",
    ]);
    assert.deepEqual(rows("root", [], levels), ["1 root 1/1"]);
  });

  it("say what is on its way, what is not loaded and what failed", () => {
    assert.deepEqual(rows("root", ["root"], {}), ["1 root 1/1", "2 loading"]);
    const page = { names: ["a"], next: "n", remaining: 99_999 };
    assert.deepEqual(rows("root", ["root"], { root: page }), [
      "1 root 1/1",
      "2 root:a 1/100000",
      "2 more",
    ]);
    const failed = { names: [], remaining: 0, error: new Error("no") };
    assert.deepEqual(rows("root", ["root"], { root: failed }), ["1 root 1/1", "2 failed"]);
  });

  it("have the workspace that is shown, also where its page is not loaded", () => {
    const page = { names: ["a", "b"], next: "n", remaining: 10 };
    assert.deepEqual(rows("root:z:y", ["root"], { root: page }).slice(2), [
      "2 root:b 2/12",
      "2 root:z 3/12",
      "2 more",
    ]);
    assert.equal(rows("root:b", ["root"], { root: page }).length, 4, "it is there once");
  });
});
