import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { supportsProgressRequests } from "./member.ts";

describe("an etcd member", () => {
  it("answers progress requests correctly from 3.4.25 and 3.5.8 on", () => {
    const truthful = ["3.4.25", "3.4.30", "3.5.8", "3.5.30", "3.6.0", "3.6.5-rc.1", "4.0.0"];
    const not = ["", "unknown", "3.3.27", "3.4.0", "3.4.24", "3.5.0", "3.5.7", "2.3.8"];
    assert.deepEqual(truthful.map(supportsProgressRequests), Array(truthful.length).fill(true));
    assert.deepEqual(not.map(supportsProgressRequests), Array(not.length).fill(false));
  });
});
