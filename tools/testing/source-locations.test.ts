import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { inSources } from "./source-locations.ts";

const source = fileURLToPath(new URL("../../testing/source-locations.test.ts", import.meta.url));

function thrown(): Error {
  return new Error("here"); // The line that the test below looks for.
}

describe("places in stack traces", () => {
  it("are those of the sources", () => {
    const stack = inSources(thrown().stack ?? "");
    assert.match(stack, /^Error: here\n/);
    assert.ok(stack.includes(`${source}:9:10`), stack);
    assert.doesNotMatch(stack, /source-locations\.test\.js/);
  });

  it("stay as they are where there is no map", () => {
    const text = "at run (node:internal/x:1:2) at f (file:///nowhere/a.js:3:4) /nowhere/b.js:5:6";
    assert.equal(inSources(text), text);
  });
});
