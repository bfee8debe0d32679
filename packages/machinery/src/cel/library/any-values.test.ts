/**
 * Goal: no function of the environment can be made to throw, whatever it is called with; wrong
 * values are errors of the evaluation. Method: every overload is called with dynamic values of all
 * kinds.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compile } from "../compile.ts";
import { declaredDynamic } from "../types/declared-type.ts";
import { kubernetesEnvironment } from "./kubernetes-environment.ts";

const names = ["a", "b", "c", "d"] as const;
const environment = kubernetesEnvironment.extend({
  variables: Object.fromEntries(names.map((name) => [name, declaredDynamic])),
});

/** Expressions for values of every kind, among them awkward ones of each. */
const VALUES: readonly string[] = [
  ..."null true false 0 -1 9223372036854775807 5u 1.5 -0.0".split(" "),
  "double('NaN')",
  "''",
  "'text'",
  "'😀%s%d'",
  "'10.0.0.0/8'",
  "'1.2.3'",
  "'1Gi'",
  "'https://a/b?c'",
  "'('",
  "b''",
  "b'\\xff'",
  "[]",
  "[1, 2]",
  "['b', 'a']",
  "[[1], [2]]",
  "[optional.of(1)]",
  "{}",
  "{'k': 1}",
  "duration('1h')",
  "timestamp('2020-01-01T00:00:00Z')",
  "int",
  "optional.none()",
  "optional.of('x')",
  "quantity('1')",
  "semver('1.2.3')",
  "ip('::1')",
  "cidr('10.0.0.0/8')",
  "url('/x')",
  "format.uuid()",
];

function evaluated(expression: string): unknown {
  const compilation = compile(expression, kubernetesEnvironment);
  assert.ok(compilation.ok, expression);
  return compilation.program.evaluate({}).result;
}

describe("every function", () => {
  const pool = VALUES.map(evaluated);
  const argument = fc.constantFrom(...pool);
  const calls = [...environment.functions.values()].flatMap(({ name, overloads }) => {
    if (!/^[A-Za-z]/.test(name) || name.includes("@")) return [];
    const shapes = new Set(
      overloads.map(({ member, params }) => `${member ? "member" : "global"}:${params.length}`),
    );
    return [...shapes].map((shape) => {
      const [style, count] = shape.split(":");
      const args = names.slice(0, Number(count));
      return style === "global"
        ? `${name}(${args.join(", ")})`
        : `${args[0]}.${name}(${args.slice(1).join(", ")})`;
    });
  });

  it(`survives values of every kind`, () => {
    assert.ok(calls.length > 100, `${calls.length} calls`);
    for (const call of calls) {
      const compilation = compile(call, environment);
      assert.ok(compilation.ok, compilation.ok ? "" : compilation.message);
      const { program } = compilation;
      fc.assert(
        fc.property(fc.tuple(argument, argument, argument, argument), ([a, b, c, d]) => {
          const { result } = program.evaluate({ a, b, c, d });
          assert.notEqual(result, undefined, call);
        }),
        { numRuns: 200 },
      );
    }
  });
});
