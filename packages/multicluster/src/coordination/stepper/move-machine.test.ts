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

const page = readFileSync(
  new URL("../../../../../docs/internals/moves.md", import.meta.url),
  "utf8",
);

describe("lifecycle of a copy", () => {
  it("docs/internals/moves.md has the same states, events and transitions", () => {
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

  it("docs/internals/moves.md has no row that the state machine lacks", () => {
    const rows = page.split("\n").filter((line) => line.startsWith("| **"));
    assert.deepEqual(
      rows.map((line) => line.split("**")[1]).filter((name) => moveStates.includes(name as never)),
      [...persistedMoveStates],
    );
  });

  it("every state is reachable", () => {
    const reached = persistedMoveStates.flatMap((state) =>
      moveEvents.map((event) => moveTransitions[state][event]),
    );
    assert.deepEqual([...new Set(reached)].sort(), [...moveStates].sort());
  });

  it("no copy scales down that is frozen, blocked, without a feasible cluster, or not replaced", () => {
    for (const state of persistedMoveStates) {
      for (const event of ["unreachable", "disruptionBlocked"] as const) {
        const next = moveTransitions[state][event];
        assert.ok(!mayShrink[next] && !mayGrow[next], `${state} ${event} ${next}`);
      }
      // A copy that was rolled back stops without a replacement: it was never available.
      for (const event of ["nowhere", "unwanted"] as const) {
        const next = moveTransitions[state][event];
        assert.ok(!mayShrink[next] || state === "rolledBack", `${state} ${event} ${next}`);
      }
    }
  });

  it("only a copy that was started can be rolled back", () => {
    const givesUp = persistedMoveStates.filter(
      (state) => moveTransitions[state].expired === "rolledBack",
    );
    assert.deepEqual(givesUp, ["starting", "rolledBack"]);
  });
});
