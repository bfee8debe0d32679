import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { claimEvents, claimStates, nextClaimState } from "./claim-machine.ts";

describe("states of a PersistentVolumeClaim in a cluster", () => {
  it("every state is described in docs/guides/stateful.md", () => {
    const page = new URL("../../../../docs/guides/stateful.md", import.meta.url);
    const listed = readFileSync(page, "utf8").matchAll(/^\| `([a-z]+)` \| /gm);
    assert.deepEqual(
      [...listed].map(([, state]) => state),
      [...claimStates],
    );
  });

  it("a usable claim stops no workload and is not released, unless no workload needs it or other data is restored into it", () => {
    for (const event of claimEvents) {
      const gone = { unwanted: "absent", unneeded: "releasing", outdated: "releasing" };
      const expected = gone[event as keyof typeof gone] ?? "bound";
      assert.equal(nextClaimState("bound", event), expected, event);
    }
  });

  it("a claim whose data has arrived never returns to a state that stops workloads or requests data", () => {
    const asking = ["fencing", "detaching", "copying", "refused", "pending"];
    for (const event of claimEvents)
      assert.ok(!asking.includes(nextClaimState("binding", event)), event);
  });

  it("before the first action, every state leads to the same states, and every state is reachable", () => {
    const idle = ["absent", "pending", "refused", "frozen"] as const;
    const found = (state: (typeof idle)[number]) =>
      claimEvents.map((event) => nextClaimState(state, event));
    for (const state of idle) assert.deepEqual(found(state), found("absent"), state);
    assert.deepEqual(new Set(found("absent")), new Set(claimStates));
  });
});
