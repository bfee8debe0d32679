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
} from "./move-machine.ts";

const page = readFileSync(new URL("../../../../docs/internals/moves.md", import.meta.url), "utf8");

describe("the life of a copy", () => {
  it("is the same in docs/internals/moves.md: states, events and where each leads", () => {
    const row = (...cells: readonly string[]) => `| ${cells.join(" | ")} |`;
    const expected = [
      ...moveStates.map((state) => row(`\`${state}\``, moveStateMeanings[state])),
      ...moveEvents.map((event) => row(`\`${event}\``, moveEventMeanings[event])),
      row("", ...moveEvents),
      ...moveStates.map((state) =>
        row(`**${state}**`, ...moveEvents.map((event) => moveTransitions[state][event])),
      ),
    ];
    const lines = new Set(page.split("\n"));
    assert.deepEqual(
      expected.filter((line) => !lines.has(line)),
      [],
    );
  });

  it("reaches every state, and leaves every state again", () => {
    const reached = new Set(["gone"]);
    for (let size = 0; size < reached.size; ) {
      size = reached.size;
      for (const state of moveStates) {
        if (!reached.has(state)) continue;
        for (const event of moveEvents) reached.add(moveTransitions[state][event]);
      }
    }
    assert.deepEqual([...reached].sort(), [...moveStates].sort());
    for (const state of moveStates) {
      assert.ok(
        moveEvents.some((event) => moveTransitions[state][event] !== state),
        state,
      );
    }
  });

  it("takes nothing from a copy that is lost, held, has nowhere to go, or is not replaced", () => {
    for (const state of moveStates) {
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
    const givesUp = moveStates.filter((state) => moveTransitions[state].expired === "rolledBack");
    assert.deepEqual(givesUp, ["starting", "rolledBack"]);
  });
});
