import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  getComprehensionSuite,
  getConformanceSuite,
  getParsingSuite,
  type IncrementalTest,
  type IncrementalTestSuite,
} from "@bufbuild/cel-spec/testdata/tests.js";
import type { Expr } from "../syntax/ast.ts";
import { macroTable } from "../syntax/macro.ts";
import { parse } from "../syntax/parser.ts";
import { printIssues } from "../syntax/source.ts";
import { standardMacros } from "../syntax/standard-macros.ts";
import { debugString, ENTRY_MARK } from "./debug-string.ts";

const plain = { macros: macroTable(standardMacros), optionalSyntax: true };
function allTests(suite: IncrementalTestSuite): IncrementalTest[] {
  return [...suite.tests, ...suite.suites.flatMap(allTests)];
}

const LITERALS = {
  null: "NullValue",
  bool: "BoolValue",
  int: "Int64Value",
  uint: "Uint64Value",
  double: "DoubleValue",
  string: "StringValue",
  bytes: "BytesValue",
};
const NODES = {
  ident: "IdentExpr",
  select: "SelectExpr",
  call: "CallExpr",
  list: "ListExpr",
  map: "StructExpr",
  struct: "StructExpr",
  comprehension: "ComprehensionExpr",
};

function parsedString(e: Expr): string {
  const adorned = debugString(e, (node) => {
    const kind =
      node.kind === "literal"
        ? `Constant_${LITERALS[node.literal.type]}`
        : `Expr_${NODES[node.kind]}`;
    return `^#*expr.${kind}#`;
  });
  return adorned.replaceAll(ENTRY_MARK, "^#*expr.Expr_CreateStruct_Entry#");
}

describe("parser against cel-go's output", () => {
  for (const suite of [getParsingSuite(), getComprehensionSuite(), getConformanceSuite()]) {
    const tests = allTests(suite).filter((test) => test.ast !== undefined);
    it(`builds the same trees for the ${tests.length} parsable expressions of ${suite.name}`, () => {
      const wrong: string[] = [];
      for (const test of tests) {
        const parsed = parse(test.original.expr, plain);
        const text = parsed.ok
          ? parsedString(parsed.expr)
          : printIssues(test.original.expr, parsed.issues);
        if (text !== test.ast)
          wrong.push(`${test.original.expr}\n--- ours\n${text}\n--- theirs\n${test.ast}`);
      }
      assert.deepEqual(wrong, []);
    });
  }
});
