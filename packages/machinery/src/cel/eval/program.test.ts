import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Compilation, compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { EVALUATION_STEPS_MAX, INTERRUPT_CHECK_STEPS } from "../limits.ts";
import {
  declaredDynamic,
  declaredInt,
  declaredList,
  declaredString,
  declaredValue,
} from "../types/declared-type.ts";
import { INT, structType } from "../types/type.ts";
import { CelError, CelLazyObject } from "../values/value.ts";
import type { Program } from "./program.ts";

const lazyType = structType("variables", () => INT);
const environment = kubernetesEnvironment.extend({
  variables: {
    n: declaredInt,
    s: declaredString(),
    list: declaredList(declaredInt),
    any: declaredDynamic,
    variables: { ...declaredValue(lazyType), isLazy: true },
  },
});

function program(text: string): Program {
  const compilation: Compilation = compile(text, environment);
  assert.ok(compilation.ok, text);
  return compilation.program;
}

function messageOf(result: unknown): string {
  return result instanceof CelError ? result.message : "";
}

describe("runtime cost", () => {
  const list = Array.from({ length: 10 }, (_, i) => i);
  const rows: readonly (readonly [string, number])[] = [
    ["n", 1],
    ["any.a.b", 3],
    ["has(any.a)", 1],
    ["n == 1", 2],
    ["s == 'aaaaaaaaaaaaaaaaaaaa'", 3],
    ["s + s", 6],
    ["s.startsWith('a')", 2],
    ["s.contains('aaaaaaaaaaaaaaa')", 5],
    ["s.matches('a{3}')", 4],
    ["[n, n]", 12],
    ["[1, 2]", 0],
    ["{'a': n}", 31],
    ["n in [1, 2, 3]", 4],
    ["s in ['a', 'b']", 1],
    ["true || n == 1", 0],
    ["list.all(x, x >= 0)", 52],
    ["list.exists(x, x == 0)", 11],
    ["list.exists_one(x, x == 0)", 25],
    ["list.map(x, x)", 132],
    ["list.filter(x, x < 5)", 87],
    ["list.size()", 2],
    ["[1,2,3,4].isSorted()", 4],
    ["url('https:://kubernetes.io/').getHostname() != 'test'", 4],
    ["size('abc 123 def 123'.split(' ')) > 0", 5],
    ["size(['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join(' ')) > 0", 7],
    ["quantity('1').isGreaterThan(quantity('2'))", 3],
  ];
  for (const [text, cost] of rows) {
    it(`of ${text} is ${cost}`, () => {
      const evaluation = program(text).evaluate({
        n: 1,
        s: "a".repeat(20),
        list,
        any: { a: { b: 1 } },
      });
      assert.equal(evaluation.cost, cost);
      assert.equal(evaluation.cancelled, undefined);
    });
  }
});

describe("evaluation", () => {
  it("runs to its end at the cost limit and is cancelled one unit below", () => {
    const sum = program("list.map(x, x * 2).sum() > 0");
    const { cost } = sum.evaluate({ list: [1, 2, 3] });
    assert.equal(sum.evaluate({ list: [1, 2, 3] }, { costLimit: cost }).result, true);
    const stopped = sum.evaluate({ list: [1, 2, 3] }, { costLimit: cost - 1 });
    assert.equal(stopped.cancelled, "cost");
    assert.equal(messageOf(stopped.result), "operation cancelled: actual cost limit exceeded");
  });

  it("does not let || absorb its own cancellation", () => {
    const stopped = program("list.all(x, x >= 0) || true").evaluate(
      { list: [1, 2, 3] },
      { costLimit: 3 },
    );
    assert.equal(stopped.cancelled, "cost");
  });

  it("counts the steps of deep comparisons up to the limit and no further", () => {
    // One step for each element and one for the list.
    const equal = program("any.a == any.b");
    const ofSize = (size: number) => ({
      any: { a: new Array(size).fill(1), b: new Array(size).fill(1) },
    });
    assert.equal(equal.evaluate(ofSize(EVALUATION_STEPS_MAX - 1)).result, true);
    assert.equal(equal.evaluate(ofSize(EVALUATION_STEPS_MAX)).cancelled, "cost");
  });

  it("asks for an interruption every so many rounds of a loop", () => {
    let asked = 0;
    const rounds = INTERRUPT_CHECK_STEPS * 3;
    const all = program("list.all(x, x == 0)");
    const list = new Array(rounds).fill(0);
    const interrupt = () => ++asked === 2;
    const evaluation = all.evaluate({ list }, { interrupt });
    assert.equal(asked, 2);
    assert.equal(evaluation.cancelled, "interrupt");
    assert.equal(messageOf(evaluation.result), "operation interrupted");
    assert.equal(
      all.evaluate({ list: list.slice(0, INTERRUPT_CHECK_STEPS - 1) }, { interrupt: () => true })
        .result,
      true,
    );
  });

  it("survives data that is nested deeper than the stack", () => {
    const deep = () => JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    const evaluation = program("any.a == any.b").evaluate({ any: { a: deep(), b: deep() } });
    assert.equal(messageOf(evaluation.result), "operation cancelled: value is nested too deeply");
  });

  it("asks for a variable once, and only if it is used", () => {
    const asked: string[] = [];
    const evaluation = program("n == 1 || s == ''").evaluate((name) => {
      asked.push(name);
      return 1;
    });
    assert.equal(evaluation.result, true);
    assert.deepEqual(asked, ["n"]);
    asked.length = 0;
    program("n + n + n").evaluate((name) => {
      asked.push(name);
      return 1;
    });
    assert.deepEqual(asked, ["n"]);
  });

  it("takes variables from maps and from records without their prototypes", () => {
    assert.equal(program("n").evaluate(new Map([["n", 2]])).result, 2n);
    const constructorEnvironment = kubernetesEnvironment.extend({
      variables: { constructor: declaredDynamic },
    });
    const compilation = compile("constructor", constructorEnvironment);
    assert.ok(compilation.ok);
    assert.equal(
      messageOf(compilation.program.evaluate({}).result),
      "no such attribute(s): constructor",
    );
  });

  it("passes an error in the place of a variable on", () => {
    const evaluation = program("n == 1 || true").evaluate({ n: new CelError("broken") });
    assert.equal(evaluation.result, true);
    assert.equal(
      messageOf(program("n == 1").evaluate({ n: new CelError("broken") }).result),
      "broken",
    );
  });

  it("computes lazy fields once, when they are used", () => {
    const computed: string[] = [];
    const variables = new CelLazyObject(lazyType.name, function* (field) {
      computed.push(field);
      yield;
      return field === "a" ? 20n : new CelError("no such variable");
    });
    assert.equal(
      program("variables.a + variables.a + n").evaluate({ variables, n: 2 }).result,
      42n,
    );
    assert.deepEqual(computed, ["a"]);
    assert.equal(
      messageOf(program("variables.b").evaluate({ variables }).result),
      "no such variable",
    );
  });

  it("names the variables that it refers to", () => {
    assert.deepEqual(program("n == 1 && list.all(x, x == n)").variables, ["n", "list"]);
  });
});
