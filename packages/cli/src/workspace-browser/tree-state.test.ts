/**
 * Goal: every key has its documented effect on the tree, whatever is known of the tree at that
 * moment.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeyReader } from "./keys.ts";
import {
  handleKey,
  initialState,
  rowsOf,
  searchedMax,
  type TreeState,
  unknownNodes,
  withChildren,
  withProblem,
} from "./tree-state.ts";

const named = (...names: readonly string[]) =>
  names.map((name) => ({ name, type: "root:universal", cluster: `c-${name}`, isMount: false }));

/** root with a, b and c; a with a1 and a2; one is in b. */
function small(current = "root:b"): TreeState {
  let state = initialState(current);
  state = withChildren(state, "root", named("a", "b", "c"));
  state = withChildren(state, "root:a", named("a1", "a2"));
  return withChildren(state, "root:b", []);
}

const shown = (state: TreeState) =>
  rowsOf(state).map(
    ({ node, depth }) => `${node.path === state.cursor ? ">" : ""}${" ".repeat(depth)}${node.name}`,
  );

const pageRows = 10;

function type(state: TreeState, text: string): TreeState {
  const reader = new KeyReader();
  return [...reader.push(text), ...reader.rest()].reduce((before, key) => {
    const pressed = handleKey(before, key, pageRows);
    assert.equal(pressed.kind, "stay");
    return (pressed as { state: TreeState }).state;
  }, state);
}

const [up, down, left, right] = ["\u001b[A", "\u001b[B", "\u001b[D", "\u001b[C"];

describe("the tree of workspaces", () => {
  it("begins with the path to the current workspace, before any response", () => {
    const state = initialState("root:org:team");
    assert.deepEqual(shown(state), ["root", " org", ">  team"]);
    assert.deepEqual(unknownNodes(state), ["root", "root:org", "root:org:team"]);
  });

  it("shows the path to the current workspace through workspaces whose children cannot be listed", () => {
    let state = withProblem(initialState("root:org:team"), "root", "not allowed");
    state = withChildren(state, "root:org", named("other"));
    assert.deepEqual(shown(state), ["root", " org", "  other", ">  team"]);
    assert.deepEqual(unknownNodes(state), ["root:org:team"]);
  });

  it("is opened and closed by several keys", () => {
    const state = type(small(), `${up}`);
    assert.deepEqual(shown(state), ["root", "> a", " b", " c"]);
    for (const key of [right, "l", " "] as const)
      assert.deepEqual(shown(type(state, String(key))), [
        "root",
        "> a",
        "  a1",
        "  a2",
        " b",
        " c",
      ]);
    for (const key of [left, "h", " ", "\u007f"] as const)
      assert.deepEqual(shown(type(state, `l${key}`)), ["root", "> a", " b", " c"]);
  });

  it("selects the parent when a closed workspace is closed", () => {
    assert.deepEqual(shown(type(small(), `${left}`)), [">root", " a", " b", " c"]);
    assert.deepEqual(shown(type(small(), `${left}${left}`)), [">root"]);
  });

  it("is navigated row by row, by pages and to its ends, and not beyond", () => {
    const state = type(small(), "klj");
    assert.deepEqual(shown(state), ["root", " a", ">  a1", "  a2", " b", " c"]);
    assert.equal(type(state, `${down}${down}`).cursor, "root:b");
    assert.equal(type(state, "G").cursor, "root:c");
    assert.equal(type(state, "Gj").cursor, "root:c");
    assert.equal(type(state, "g").cursor, "root");
    assert.equal(type(state, `g${up}`).cursor, "root");
    assert.equal(type(state, "\u001b[6~").cursor, "root:c");
    assert.equal(type(state, "G\u001b[5~").cursor, "root");
  });

  it("lists the children of a workspace when it is opened, and once", () => {
    const state = type(small(), `${down}${right}`);
    assert.deepEqual(unknownNodes(state), ["root:c"]);
    assert.deepEqual(unknownNodes(withChildren(state, "root:c", [])), []);
    assert.deepEqual(unknownNodes(withProblem(state, "root:c", "not allowed")), []);
  });

  it("does not list the children of mounts", () => {
    const mount = { ...named("far")[0], name: "far", isMount: true } as never;
    const state = withChildren(initialState("root"), "root", [mount]);
    assert.deepEqual(unknownNodes(type(state, `${down}${right}`)), []);
  });

  it("is chosen from by enter, and left by q, escape and interrupts", () => {
    const state = small();
    assert.deepEqual(handleKey(state, { kind: "enter" }, pageRows), {
      kind: "choose",
      path: "root:b",
    });
    for (const key of [
      { kind: "text", text: "q" },
      { kind: "escape" },
      { kind: "interrupt" },
    ] as const)
      assert.deepEqual(handleKey(state, key, pageRows), { kind: "leave" });
  });
});

describe("searching the tree", () => {
  it("shows workspaces whose name contains the text, with their ancestors, whether or not they were open", () => {
    const state = type(small(), "/A2");
    assert.deepEqual(shown(state), ["root", " a", ">  a2"]);
    assert.deepEqual(handleKey(state, { kind: "enter" }, pageRows), {
      kind: "choose",
      path: "root:a:a2",
    });
  });

  it("uses letters as search text, also those that are keys otherwise", () => {
    const state = type(small(), "/q");
    assert.equal(state.search, "q");
    assert.deepEqual(shown(state), [">root"]);
    assert.deepEqual(handleKey(state, { kind: "interrupt" }, pageRows), { kind: "leave" });
  });

  it("lists the children of all workspaces, unless there are too many", () => {
    const state = type(small(), "/x");
    assert.deepEqual(unknownNodes(state), ["root:c", "root:a:a1", "root:a:a2"]);
    const names = Array.from({ length: searchedMax }, (_, at) => `w${at}`);
    assert.deepEqual(unknownNodes(withChildren(state, "root:c", named(...names))), []);
  });

  it("restores the tree at its end, with the found workspace visible", () => {
    const state = type(small(), "/a2\u007f\u007fa1\u001b");
    assert.equal(state.search, undefined);
    assert.deepEqual(shown(state), ["root", " a", ">  a1", "  a2", " b", " c"]);
  });

  it("moves among the matches", () => {
    const state = type(small(), `/a${down}${down}`);
    assert.equal(state.cursor, "root:a:a2");
    assert.equal(state.search, "a");
  });
});
