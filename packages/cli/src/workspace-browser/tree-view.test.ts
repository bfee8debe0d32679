/**
 * Goal: the tree fits its terminal, however small; the current workspace is always visible, and
 * control characters of servers are not printed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { initialState, type TreeState, withChildren, withProblem } from "./tree-state.ts";
import { scrolled, viewOf } from "./tree-view.ts";

const facts = (name: string, isMount = false) => ({
  name,
  isMount,
  type: "root:universal",
  cluster: "abc",
});
const plainView = (state: TreeState, columns = 60, rows = 10) =>
  viewOf(state, { size: { columns, rows }, top: 0, hasColors: false, isLoading: false }).lines;

describe("the view of the tree", () => {
  it("has a title with details of the selected workspace, the tree, and the keys", () => {
    let state = withChildren(initialState("root:a"), "root", [facts("a"), facts("far", true)]);
    state = withProblem(state, "root:a", "not allowed");
    assert.deepEqual(plainView(state, 70), [
      "kcp Workspaces                   root:a | root:universal | cluster:abc",
      "",
      "  ▼ root",
      "→     a  (not allowed)",
      "      far [m]",
      ...["", "", "", ""],
      "↑/↓ move  →/←/Space open, close  / search  Enter go there  q leave",
    ]);
  });

  it("is as wide and as high as its terminal, and no more", () => {
    const children = Array.from({ length: 50 }, (_, at) =>
      facts(`a-long-name-of-a-workspace-${at}`),
    );
    const state = withChildren(initialState("root"), "root", children);
    for (const [columns, rows] of [
      [20, 8],
      [200, 40],
      [5, 10],
    ] as const) {
      const lines = plainView(state, columns, rows);
      assert.equal(lines.length, rows);
      assert.ok(lines.every((line) => [...line].length <= columns));
    }
  });

  it("prints texts of a server without their control characters", () => {
    const name = "a\u001b[2J\u0007\u009bb";
    const known = withChildren(initialState("root"), "root", [facts(name)]);
    const state = withProblem(known, `root:${name}`, "\u001b]0;title\u0007");
    const text = plainView({ ...state, search: "\u001b" })
      .concat(plainView(state))
      .join("\n");
    assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(text));
    assert.match(text, /a\?\[2J\?\?b/);
  });

  it("shows the search text, and the number of matches", () => {
    const state = withChildren(initialState("root"), "root", [facts("abc"), facts("xyz")]);
    const lines = plainView({ ...state, search: "b", cursor: "root:abc" });
    assert.ok(lines.some((line) => line.startsWith("/b▏ 1 found")));
  });

  it("is colored only on request", () => {
    const state = initialState("root");
    const size = { columns: 40, rows: 10 };
    const colored = viewOf(state, { size, top: 0, hasColors: true, isLoading: true });
    assert.ok(colored.lines.some((line) => line.includes("\u001b[7m")));
    assert.ok(plainView(state).every((line) => !line.includes("\u001b")));
  });
});

describe("scrolling", () => {
  it("keeps every selected row visible and off the dots, from the first to the last and back", () => {
    for (const [count, height] of [
      [3, 3],
      [4, 3],
      [10, 5],
      [100, 7],
    ] as const) {
      let top = 0;
      const way = Array.from({ length: count }, (_, at) => at);
      for (const at of [...way, ...way.reverse()]) {
        top = scrolled(top, at, count, height);
        assert.ok(at >= top && at < top + height, `row ${at} of ${count} is not in sight`);
        assert.ok(!(top > 0 && at === top), `row ${at} of ${count} is behind the dots above`);
        assert.ok(
          !(top + height < count && at === top + height - 1),
          `row ${at} of ${count} is behind the dots below`,
        );
      }
      assert.equal(top, 0);
    }
  });

  it("scrolls no further than needed", () => {
    assert.equal(scrolled(5, 7, 100, 6), 5);
    assert.equal(scrolled(5, 10, 100, 6), 6);
    assert.equal(scrolled(5, 5, 100, 6), 4);
    assert.equal(scrolled(90, 2, 3, 6), 0);
  });
});
