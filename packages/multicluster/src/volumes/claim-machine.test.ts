import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { claimEvents, claimStates, nextClaimState } from "./claim-machine.ts";

describe("the life of a claim in a cluster", () => {
  it("is described in docs/guides/stateful.md, state by state", () => {
    const page = new URL("../../../../docs/guides/stateful.md", import.meta.url);
    const listed = readFileSync(page, "utf8").matchAll(/^\| `([a-z]+)` \| /gm);
    assert.deepEqual(
      [...listed].map(([, state]) => state),
      [...claimStates],
    );
  });

  it("stops nothing and takes nothing away once the claim can be used, unless nobody needs it, or other data is to come", () => {
    for (const event of claimEvents) {
      const gone = { unwanted: "absent", unneeded: "releasing", outdated: "releasing" };
      const expected = gone[event as keyof typeof gone] ?? "bound";
      assert.equal(nextClaimState("bound", event), expected, event);
    }
  });

  it("never goes back to stopping or asking once the data is here", () => {
    const asking = ["fencing", "detaching", "copying", "refused", "pending"];
    for (const event of claimEvents)
      assert.ok(!asking.includes(nextClaimState("binding", event)), event);
  });

  it("leads from every state to every other that is found, before anything was done", () => {
    const idle = ["absent", "pending", "refused", "frozen"] as const;
    const found = (state: (typeof idle)[number]) =>
      claimEvents.map((event) => nextClaimState(state, event));
    for (const state of idle) assert.deepEqual(found(state), found("absent"), state);
    assert.deepEqual(new Set(found("absent")), new Set(claimStates));
  });
});
