import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { neverAborted } from "./never-aborted.ts";

describe("the signal of work that is never cancelled", () => {
  it("keeps no listener, and can be part of another signal", () => {
    neverAborted.addEventListener("abort", () => undefined);
    assert.equal(getEventListeners(neverAborted, "abort").length, 0);
    const ending = new AbortController();
    const either = AbortSignal.any([neverAborted, ending.signal]);
    ending.abort();
    assert.ok(either.aborted);
    assert.ok(!neverAborted.aborted);
  });
});
