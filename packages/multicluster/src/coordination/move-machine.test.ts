import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  mayGrow,
  mayShrink,
  moveEventMeanings,
  moveEvents,
  moveStateMeanings,
  moveStates,
  moveTransitions,
  persistedMoveStates,
} from "./move-machine.ts";

const page = readFileSync(new URL("../../../../docs/internals/moves.md", import.meta.url), "utf8");

describe("the life of a copy", () => {
  it("is the same in docs/internals/moves.md: states, events and where each leads", () => {
    const row = (...cells: readonly string[]) => `| ${cells.join(" | ")} |`;
    const expected = [
      ...moveStates.map((state) => row(`\`${state}\``, moveStateMeanings[state])),
      ...moveEvents.map((event) => row(`\`${event}\``, moveEventMeanings[event])),
      row("", ...moveEvents),
      ...persistedMoveStates.map((state) =>
        row(`**${state}**`, ...moveEvents.map((event) => moveTransitions[state][event])),
      ),
    ];
    const lines = new Set(page.split("\n"));
    assert.deepEqual(
      expected.filter((line) => !lines.has(line)),
      [],
    );
  });

  it("has no row in docs/internals/moves.md that nothing looks up", () => {
    const rows = page.split("\n").filter((line) => line.startsWith("| **"));
    assert.deepEqual(
      rows.map((line) => line.split("**")[1]).filter((name) => moveStates.includes(name as never)),
      [...persistedMoveStates],
    );
  });

  it("reaches every state", () => {
    const reached = persistedMoveStates.flatMap((state) =>
      moveEvents.map((event) => moveTransitions[state][event]),
    );
    assert.deepEqual([...new Set(reached)].sort(), [...moveStates].sort());
  });

  it("takes nothing from a copy that is lost, held, has nowhere to go, or is not replaced", () => {
    for (const state of persistedMoveStates) {
      for (const event of ["lost", "held"] as const) {
        const next = moveTransitions[state][event];
        assert.ok(!mayShrink[next] && !mayGrow[next], `${state} ${event} ${next}`);
      }
      // What was given up goes without a replacement: it was never available.
      for (const event of ["nowhere", "unwanted"] as const) {
        const next = moveTransitions[state][event];
        assert.ok(!mayShrink[next] || state === "rolledBack", `${state} ${event} ${next}`);
      }
    }
  });

  it("gives up only what was started", () => {
    const givesUp = persistedMoveStates.filter(
      (state) => moveTransitions[state].expired === "rolledBack",
    );
    assert.deepEqual(givesUp, ["starting", "rolledBack"]);
  });
});
