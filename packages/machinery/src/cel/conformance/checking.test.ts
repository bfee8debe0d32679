import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  getCheckingSuite,
  getConformanceSuite,
  getParsingSuite,
  type IncrementalTest,
  type IncrementalTestSuite,
} from "@bufbuild/cel-spec/testdata/tests.js";
import { check } from "../check/checker.ts";
import { parse } from "../syntax/parser.ts";
import { printIssues } from "../syntax/source.ts";
import { checkedString } from "./checked-string.ts";
import { conformanceEnvironment } from "./conformance-environment.ts";

function allTests(suite: IncrementalTestSuite): IncrementalTest[] {
  return [...suite.tests, ...suite.suites.flatMap(allTests)];
}

/** Cases whose variables, functions or messages only cel-go's own tests declare. */
function isSelfContained({ original }: IncrementalTest): boolean {
  if (original.typeEnv.length > 0) return false;
  return !/conformance|TestAll|google\.protobuf|cel\.block/.test(
    original.expr + original.container,
  );
}

/** cel-go's output was made without comparisons across numeric types, which Kubernetes turns on. */
function withoutMixedComparisons(text: string): string {
  return text
    .replaceAll(/(less|greater)(_equals)?_(int64|uint64|double)_(int64|uint64|double)\|?/g, "")
    .replaceAll(/\|(\n|,|$)/gm, "$1");
}

/**
 * The variable `x` and the type `NotAMessage` of cel-go's tests, mixed comparisons, and a macro it
 * had not yet.
 */
const OTHERWISE_DECLARED = /\bx\b|1\.0|NotAMessage|existsOne/;

describe("checker against cel-go's output", () => {
  for (const suite of [getConformanceSuite(), getParsingSuite()]) {
    const tests = allTests(suite).filter(
      (test) => test.checkedAst !== undefined && isSelfContained(test),
    );
    it(`finds the same types and overloads in the ${tests.length} expressions of ${suite.name}`, () => {
      assert.ok(tests.length > 30);
      for (const test of tests) {
        const { expr, container } = test.original;
        const parsed = parse(expr, conformanceEnvironment);
        assert.ok(parsed.ok, expr);
        const result = check(parsed.expr, conformanceEnvironment.extend({ container }));
        assert.ok(result.ok, expr);
        assert.equal(
          withoutMixedComparisons(checkedString(result.checked)),
          withoutMixedComparisons(test.checkedAst ?? ""),
          expr,
        );
      }
    });
  }

  it("reports what cel-go reports of undeclared names and unfitting calls", () => {
    const tests = [...allTests(getCheckingSuite()), ...allTests(getParsingSuite())].filter(
      (test) => {
        const isCheckerError = test.error?.startsWith("ERROR: <input>") === true;
        return (
          isCheckerError && isSelfContained(test) && !OTHERWISE_DECLARED.test(test.original.expr)
        );
      },
    );
    assert.ok(tests.length > 60, `${tests.length}`);
    for (const { original, error } of tests) {
      const parsed = parse(original.expr, conformanceEnvironment);
      assert.ok(parsed.ok, original.expr);
      const result = check(parsed.expr, conformanceEnvironment);
      assert.ok(!result.ok, original.expr);
      assert.equal(printIssues(original.expr, result.issues), error);
    }
  });
});
