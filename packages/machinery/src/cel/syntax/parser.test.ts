import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { debugString } from "../conformance/debug-string.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import {
  EXPRESSION_CODE_POINTS_MAX,
  EXPRESSION_DEPTH_MAX,
  EXPRESSION_NODES_MAX,
} from "../limits.ts";
import type { Expr } from "./ast.ts";
import { ExprFactory } from "./expr-factory.ts";
import { parse } from "./parser.ts";
import { printIssues } from "./source.ts";
import { unparse } from "./unparser.ts";

function parseText(text: string): Expr {
  const parsed = parse(text, kubernetesEnvironment);
  assert.ok(parsed.ok, `${text}: ${parsed.ok ? "" : printIssues(text, parsed.issues)}`);
  return parsed.expr;
}

function problems(text: string): string {
  const parsed = parse(text, kubernetesEnvironment);
  return parsed.ok ? "" : printIssues(text, parsed.issues);
}

const STARTS =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

describe("syntax errors", () => {
  const rows: readonly (readonly [string, string])[] = [
    [
      "1 + +",
      `ERROR: <input>:1:5: Syntax error: mismatched input '+' expecting ${STARTS}\n | 1 + +\n | ....^`,
    ],
    [
      "",
      `ERROR: <input>:1:1: Syntax error: mismatched input '<EOF>' expecting ${STARTS}\n | \n | ^`,
    ],
    ["(1", "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"],
    [
      "[1, 2",
      "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [1, 2\n | .....^",
    ],
    ["{a}", "ERROR: <input>:1:3: Syntax error: mismatched input '}' expecting ':'\n | {a}\n | ..^"],
    [
      "a b",
      "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^",
    ],
    [
      "a.true",
      "ERROR: <input>:1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n | a.true\n | ..^",
    ],
    [
      'a."b"',
      'ERROR: <input>:1:3: Syntax error: no viable alternative at input \'."b"\'\n | a."b"\n | ..^',
    ],
    ["a $", "ERROR: <input>:1:3: Syntax error: token recognition error at: '$'\n | a $\n | ..^"],
    ["while", "ERROR: <input>:1:1: reserved identifier: while\n | while\n | ^"],
    [
      "0xFFFFFFFFFFFFFFFFF",
      "ERROR: <input>:1:1: invalid int literal\n | 0xFFFFFFFFFFFFFFFFF\n | ^",
    ],
    [
      "18446744073709551616u",
      "ERROR: <input>:1:1: invalid uint literal\n | 18446744073709551616u\n | ^",
    ],
    ["1e999", "ERROR: <input>:1:1: invalid double literal\n | 1e999\n | ^"],
    ["'\\ud800'", "ERROR: <input>:1:1: invalid unicode code point\n | '\\ud800'\n | ^"],
    ["b'\\u0041'", "ERROR: <input>:1:1: unable to unescape string\n | b'\\u0041'\n | ^"],
    ["has(m)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(m)\n | ....^"],
    [
      "[1].all(2, true)",
      "ERROR: <input>:1:9: argument must be a simple name\n | [1].all(2, true)\n | ........^",
    ],
    [
      "[1].map(a.b, 1)",
      "ERROR: <input>:1:10: argument is not an identifier\n | [1].map(a.b, 1)\n | .........^",
    ],
    [
      "[1].all(x, x, true)",
      "ERROR: <input>:1:12: duplicate variable name: x\n | [1].all(x, x, true)\n | ...........^",
    ],
    [
      "[1].map(__result__, 1)",
      "ERROR: <input>:1:9: iteration variable overwrites accumulator variable\n | [1].map(__result__, 1)\n | ........^",
    ],
  ];
  for (const [text, expected] of rows) {
    it(`says of ${JSON.stringify(text)} what cel-go says`, () =>
      assert.equal(problems(text), expected));
  }
});

describe("parser limits", () => {
  it("accepts an expression of the longest length and refuses one code point more", () => {
    const longest = `'${"😀".repeat(EXPRESSION_CODE_POINTS_MAX - 2)}'`;
    assert.equal(problems(longest), "");
    assert.equal(
      problems(`${longest} `),
      "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000",
    );
  });

  const nested = (open: string, close: string, depth: number) =>
    `${open.repeat(depth)}1${close.repeat(depth)}`;
  for (const [open, close] of [
    ["(", ")"],
    ["[", "]"],
    ["{1: ", "}"],
    ["size(", ")"],
    ["a ? b : ", ""],
  ] as const) {
    it(`accepts ${open} nested to the limit and refuses one more`, () => {
      assert.equal(problems(nested(open, close, EXPRESSION_DEPTH_MAX - 1)), "");
      assert.match(
        problems(nested(open, close, EXPRESSION_DEPTH_MAX)),
        /recursion (limit|depth) exceeded/,
      );
    });
  }

  for (const [first, more] of [
    ["1", " + 1"],
    ["a", ".b"],
    ["a", "[0]"],
    ["a", ".f()"],
    ["1", " < 1"],
  ] as const) {
    it(`accepts a chain of ${more} to the limit and refuses one more`, () => {
      assert.equal(problems(first + more.repeat(EXPRESSION_DEPTH_MAX)), "");
      assert.match(
        problems(first + more.repeat(EXPRESSION_DEPTH_MAX + 1)),
        /max recursion depth exceeded/,
      );
    });
  }

  it("accepts very long chains of && since they are balanced", () => {
    assert.equal(problems(`true${" && true".repeat(1_900)}`), "");
  });

  it("gives out ids up to the most nodes and not one more", () => {
    const make = new ExprFactory();
    for (let i = 0; i < EXPRESSION_NODES_MAX; i++) make.nextId();
    assert.equal(make.nodeCount, EXPRESSION_NODES_MAX);
    assert.throws(() => make.nextId(), /expression node count exceeds limit/);
  });

  it("refuses expressions that macros blow up", () => {
    const text = `optional.of(1)${".optMap(x, x)".repeat(40)}`;
    assert.equal(
      problems(text),
      `ERROR: <input>:-1:0: expression node count exceeds limit: ${EXPRESSION_NODES_MAX}`,
    );
  });
});

describe("unparser", () => {
  const tree = (text: string) => debugString(parseText(text), (e) => `~${e.kind}`);
  const identifiers = fc.constantFrom("a", "b", "self", "namespace_", "_x1");
  const leaf = fc.oneof(
    identifiers,
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => `${value}u`),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => {
      const text = Object.is(value, -0) ? "-0" : String(value);
      return /[.e]/.test(text) ? text : `${text}.0`;
    }),
    fc
      .string({ maxLength: 8 })
      .map((value) => JSON.stringify(value).replaceAll(/\\u[0-9a-f]{4}/g, "x")),
    fc.constantFrom("true", "false", "null", "b'\\x00\\xff'", "r'\\d'"),
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => {
    const sub = tie("expression");
    return {
      expression: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        leaf,
        fc
          .tuple(
            sub,
            fc.constantFrom("+", "-", "*", "/", "%", "<", "<=", "==", "!=", "in", "&&", "||"),
            sub,
          )
          .map(([left, op, right]) => `(${left}) ${op} (${right})`),
        fc.tuple(sub, sub, sub).map(([c, t, f]) => `(${c}) ? (${t}) : (${f})`),
        fc.tuple(fc.constantFrom("!", "-", "--"), sub).map(([op, operand]) => `${op}(${operand})`),
        fc.tuple(sub, identifiers).map(([operand, field]) => `(${operand}).${field}`),
        fc.tuple(sub, identifiers).map(([operand, field]) => `has((${operand}).${field})`),
        fc.tuple(sub, identifiers).map(([operand, field]) => `(${operand}).?${field}`),
        fc.tuple(sub, sub).map(([operand, index]) => `(${operand})[?${index}]`),
        fc.tuple(sub, sub).map(([operand, argument]) => `(${operand}).f(${argument})`),
        fc.array(sub, { maxLength: 3 }).map((elements) => `[${elements.join(", ")}]`),
        fc.tuple(sub, sub).map(([key, value]) => `{${key}: ${value}, ?"k": ${value}}`),
        fc.tuple(sub, sub).map(([range, body]) => `(${range}).map(x, ${body})`),
        fc.tuple(sub, sub).map(([range, body]) => `(${range}).all(i, v, ${body})`),
        sub.map((value) => `a.B{f: ${value}, \`g-h\`: 1}`),
      ),
    };
  });

  it("writes text that parses to the same tree", () => {
    fc.assert(
      fc.property(expression, (text) => {
        const once = unparse(parseText(text));
        assert.equal(tree(once), tree(text));
        assert.equal(unparse(parseText(once)), once);
      }),
      { numRuns: 500 },
    );
  });
});
