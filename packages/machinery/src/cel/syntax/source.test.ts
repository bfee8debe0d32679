import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ISSUES_MAX } from "../limits.ts";
import { codePointCount, printIssues } from "./source.ts";

describe("printed issues", () => {
  it("quote the line they are on and point at the column, tabs as blanks", () => {
    const text = "a +\n\tb";
    const printed = printIssues(text, [{ message: "m", position: 5 }]);
    assert.equal(printed, "ERROR: <input>:2:2: m\n |  b\n | .^");
  });

  it("use wide marks under what is not ASCII", () => {
    assert.equal(
      printIssues("'é' + x", [{ message: "m", position: 6 }]),
      "ERROR: <input>:1:7: m\n | 'é' + x\n | .．....^",
    );
    assert.equal(
      printIssues("é", [{ message: "m", position: 0 }]),
      "ERROR: <input>:1:1: m\n | é\n | ＾",
    );
  });

  it("count columns in code points", () => {
    assert.match(
      printIssues("'😀' + x", [{ message: "m", position: 7 }]),
      /^ERROR: <input>:1:7: m/,
    );
  });

  it("come in the order of their places, those of the whole first", () => {
    const printed = printIssues("a b", [
      { message: "second", position: 2 },
      { message: "first", position: 0 },
      { message: "whole", position: undefined },
    ]);
    assert.deepEqual(
      printed.split("\n").filter((line) => line.startsWith("ERROR")),
      ["ERROR: <input>:-1:0: whole", "ERROR: <input>:1:1: first", "ERROR: <input>:1:3: second"],
    );
  });

  it("are all printed up to the limit, and counted beyond it", () => {
    const issues = (count: number) =>
      Array.from({ length: count }, () => ({ message: "m", position: undefined }));
    assert.equal(printIssues("", issues(ISSUES_MAX)).split("\n").length, ISSUES_MAX);
    assert.match(printIssues("", issues(ISSUES_MAX + 2)), /\n2 more errors were truncated$/);
  });
});

describe("codePointCount", () => {
  it("counts pairs of surrogates once and single ones as one", () => {
    assert.equal(codePointCount("a😀b"), 3);
    assert.equal(codePointCount("\ud800a\udc00"), 3);
  });
});
