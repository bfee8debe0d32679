/**
 * Properties over random expressions. Goal: arithmetic is that of 64-bit integers, and what the
 * checker says about an expression's type holds when it is evaluated.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import {
  declaredDynamic,
  declaredInt,
  declaredList,
  declaredString,
} from "../types/declared-type.ts";
import type { Type } from "../types/type.ts";
import { kindOf } from "../values/kind.ts";
import { CelError, CelUint } from "../values/value.ts";
import { fitsType } from "./type-guard.ts";

const environment = kubernetesEnvironment.extend({
  variables: {
    a: declaredInt,
    b: declaredInt,
    s: declaredString(),
    list: declaredList(declaredInt),
    any: declaredDynamic,
  },
});

const INT_MAX = 2n ** 63n - 1n;
const edges = fc.constantFrom(
  -(2n ** 63n),
  -(2n ** 63n) + 1n,
  -1n,
  0n,
  1n,
  2n,
  INT_MAX - 1n,
  INT_MAX,
);
const int64 = fc.oneof(edges, fc.bigInt({ min: -(2n ** 63n), max: INT_MAX }));

function exact(operator: string, a: bigint, b: bigint): bigint | undefined {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return b === 0n ? undefined : a / b;
    default:
      return b === 0n || (a === -(2n ** 63n) && b === -1n) ? undefined : a % b;
  }
}

describe("integer arithmetic", () => {
  const programs = ["+", "-", "*", "/", "%"].map((operator) => {
    const signed = compile(`a ${operator} b`, environment);
    const unsigned = compile(`any.a ${operator} any.b`, environment);
    assert.ok(signed.ok && unsigned.ok);
    return { operator, signed: signed.program, unsigned: unsigned.program };
  });

  it("of ints is exact or an overflow", () => {
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        for (const { operator, signed } of programs) {
          const expected = exact(operator, a, b);
          const { result } = signed.evaluate({ a, b });
          const fits = expected !== undefined && BigInt.asIntN(64, expected) === expected;
          if (fits) assert.equal(result, expected, `${a} ${operator} ${b}`);
          else assert.ok(result instanceof CelError, `${a} ${operator} ${b}`);
        }
      }),
    );
  });

  it("of uints is exact or an overflow", () => {
    const uint64 = fc.oneof(
      fc.constantFrom(0n, 1n, 2n ** 64n - 1n),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    );
    fc.assert(
      fc.property(uint64, uint64, (a, b) => {
        for (const { operator, unsigned } of programs) {
          const expected = exact(operator, a, b);
          const { result } = unsigned.evaluate({ any: { a: new CelUint(a), b: new CelUint(b) } });
          const fits = expected !== undefined && BigInt.asUintN(64, expected) === expected;
          if (fits) assert.equal(result instanceof CelUint && result.value, expected);
          else assert.ok(result instanceof CelError, `${a} ${operator} ${b}`);
        }
      }),
    );
  });
});

describe("checked expressions", () => {
  const leaf = fc.constantFrom(
    "a",
    "b",
    "s",
    "list",
    "any",
    "any.x",
    "1",
    "2u",
    "1.5",
    "'text'",
    "b'x'",
    "true",
    "false",
    "null",
    "[]",
    "{}",
    "duration('1s')",
    "timestamp('2020-01-01T00:00:00Z')",
    "optional.of(1)",
    "optional.none()",
    "quantity('1')",
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => {
    const sub = tie("expression");
    return {
      expression: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc
          .tuple(
            sub,
            fc.constantFrom("+", "-", "*", "/", "%", "<", ">=", "==", "!=", "in", "&&", "||"),
            sub,
          )
          .map(([left, op, right]) => `(${left} ${op} ${right})`),
        fc.tuple(sub, sub, sub).map(([c, t, f]) => `(${c} ? ${t} : ${f})`),
        fc.tuple(fc.constantFrom("!", "-"), sub).map(([op, operand]) => `${op}(${operand})`),
        fc
          .tuple(fc.constantFrom("size", "string", "int", "double", "dyn", "type", "uint"), sub)
          .map(([f, x]) => `${f}(${x})`),
        fc.tuple(sub, sub).map(([x, y]) => `[${x}, ${y}]`),
        fc.tuple(sub, sub).map(([x, y]) => `{${x}: ${y}}`),
        fc.tuple(sub, sub).map(([x, y]) => `(${x})[${y}]`),
        fc
          .tuple(sub, fc.constantFrom("all", "exists", "exists_one", "map", "filter"), sub)
          .map(([r, m, p]) => `(${r}).${m}(a, ${p})`),
        fc
          .tuple(
            sub,
            fc.constantFrom(
              "sum()",
              "min()",
              "isSorted()",
              "first()",
              "reverse()",
              "startsWith('a')",
              "trim()",
              "hasValue()",
              "distinct()",
            ),
          )
          .map(([x, f]) => `(${x}).${f}`),
      ),
    };
  });

  const data = { a: 7, b: -3, s: "abc", list: [3, 1, 2], any: { x: [1, "two", null, { y: 2.5 }] } };

  function assertHolds(
    type: Type,
    text: string,
    value: Parameters<ReturnType<typeof fitsType>>[0],
  ): void {
    // Null is assignable to these, as in cel-go.
    const nullable = ["timestamp", "duration", "struct", "opaque"].includes(type.kind);
    if (value === null && nullable) return;
    assert.ok(fitsType(type)(value), `${text} is ${kindOf(value)}, the checker says ${type}`);
  }

  it("evaluate to a value of their type, or to an error", () => {
    let checked = 0;
    fc.assert(
      fc.property(expression, (text) => {
        const compilation = compile(text, environment);
        if (!compilation.ok) return;
        checked++;
        const { result } = compilation.program.evaluate(data);
        if (result instanceof CelError) return;
        assertHolds(compilation.program.resultType, text, result);
      }),
      { numRuns: 3000 },
    );
    assert.ok(checked > 100, `${checked} expressions were well typed`);
  });
});
