import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";
import { longestFirst, longFiles } from "./longest-first.ts";

describe("the order of test files", () => {
  it("begins with those that take long, and keeps that of the others", () => {
    const [longest = "", next = ""] = longFiles;
    const files = ["b", next, "a", longest, "c"];
    assert.deepEqual(
      longestFirst(files, (file) => file),
      [longest, next, "b", "a", "c"],
    );
  });

  it("names no file that is not there", () => {
    const root = new URL("../../../", import.meta.url);
    for (const name of longFiles) assert.ok(existsSync(new URL(`${name}.test.ts`, root)), name);
  });
});
