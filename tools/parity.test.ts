/** Every test that docs/internals/parity.md names exists, and every row names one. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { bareRows, missingTests, namedTests } from "./docs/named-tests.ts";

const document = readFileSync(new URL("../../docs/internals/parity.md", import.meta.url), "utf8");

describe("the table of what kcp asks", () => {
  it("names tests that exist", () => {
    assert.ok(namedTests(document) > 60);
    assert.deepEqual(missingTests(document), []);
  });

  it("ends every row with a test", () => {
    assert.deepEqual(bareRows(document), []);
  });
});
