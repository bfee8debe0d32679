/**
 * docs/compatibility.md says what the tests count, and every test that
 * docs/internals/conformance.md names exists.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { compatibilityCounts } from "./docs/compatibility.ts";
import { bareRows, missingTests } from "./docs/named-tests.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("the table of Kubernetes' conformance tests", () => {
  const document = read("docs/internals/conformance.md");

  it("names tests that exist", () => assert.deepEqual(missingTests(document), []));

  it("ends every row with a test", () => assert.deepEqual(bareRows(document), []));
});

describe("the compatibility page", () => {
  const page = read("docs/compatibility.md");

  for (const [subject, count] of compatibilityCounts(read)) {
    it(`has the count of ${subject}`, () => {
      const row = page.split("\n").find((line) => line.startsWith(`| ${subject} |`));
      assert.ok(row !== undefined, `docs/compatibility.md has no row "${subject}"`);
      assert.ok(count > 0);
      assert.equal(row.split("|")[2]?.trim(), String(count), `the tests count ${count}`);
    });
  }
});
