/**
 * What tenants may try. Goal: every attempt ends, refused or cancelled, after a bounded amount of
 * work; method: the bound that stopped it is asserted, not the time it took, since machines differ.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "./compile.ts";
import type { Evaluation } from "./eval/program.ts";
import { kubernetesEnvironment } from "./library/kubernetes-environment.ts";
import {
  COST_PER_CALL_MAX,
  EVALUATION_STEPS_MAX,
  PATTERN_CACHE_ENTRIES_MAX,
  PATTERN_LENGTH_MAX,
  PATTERN_SIZE_MAX,
} from "./limits.ts";
import { declaredDynamic, declaredString } from "./types/declared-type.ts";
import { compilePattern } from "./values/pattern.ts";
import { expandedSize } from "./values/pattern-size.ts";
import { toJson } from "./values/to-json.ts";
import { CelError } from "./values/value.ts";

const environment = kubernetesEnvironment.extend({
  variables: { any: declaredDynamic, s: declaredString() },
});

function evaluate(text: string, activation: Record<string, unknown> = {}): Evaluation {
  const compilation = compile(text, environment);
  assert.ok(compilation.ok, compilation.ok ? "" : compilation.message.slice(0, 500));
  return compilation.program.evaluate(activation);
}

describe("hostile expressions", () => {
  it("nested loops of exponential size are cancelled by their cost", () => {
    let text = "true";
    for (let i = 0; i < 20; i++) text = `[1, 2, 3, 4, 5, 6, 7, 8].all(x${i}, ${text})`;
    const evaluation = evaluate(text);
    assert.equal(evaluation.cancelled, "cost");
    assert.ok(evaluation.cost <= COST_PER_CALL_MAX + 10);
  });

  it("texts that double in each step are cancelled by their cost", () => {
    const evaluation = evaluate(`[s]${".map(x, x + x)".repeat(60)}[0].size() > 0`, {
      s: "abcdefgh",
    });
    assert.equal(evaluation.cancelled, "cost");
  });

  it("lists that double in each step are cancelled though adding them is cheap", () => {
    const evaluation = evaluate(`[[1]]${".map(x, x + x)".repeat(60)}[0].size() > 0`);
    assert.equal(evaluation.cancelled, "cost");
  });

  it("searching a list for each of its elements is cancelled though one search is cheap", () => {
    const any = Array.from({ length: 20_000 }, (_, i) => `x${i}`);
    assert.equal(evaluate("any.all(x, any.indexOf(x) >= 0)", { any }).cancelled, "cost");
  });

  it("comparing large data in a loop is cancelled though one comparison is cheap", () => {
    const large = Array.from({ length: 1000 }, (_, i) => ({ i, list: [i, [i]] }));
    const any = { rounds: new Array(10_000).fill(1), a: large, b: structuredClone(large) };
    assert.equal(evaluate("any.rounds.all(x, any.a == any.b)", { any }).cancelled, "cost");
  });

  it("finding distinct values among many is cancelled before all pairs are compared", () => {
    const any = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    assert.equal(evaluate("any.distinct().size() > 0", { any }).cancelled, "cost");
  });

  it("errors in every element are absorbed without being thrown", () => {
    const any = new Array(20_000).fill({});
    assert.equal(evaluate("any.all(x, x.missing > 1 || true)", { any }).result, true);
  });

  it("patterns that ruin backtracking engines take linear time", () => {
    assert.equal(evaluate("s.matches('^(a+)+$')", { s: `${"a".repeat(50_000)}b` }).result, false);
    assert.equal(evaluate("s.matches('(a|aa)+c')", { s: "a".repeat(50_000) }).result, false);
    assert.equal(
      evaluate("s.matches('(.*)(.*)(.*)(.*)x')", { s: "a".repeat(20_000) }).result,
      false,
    );
  });

  it("patterns that would expand without bound are refused", () => {
    for (const pattern of ["((a{100}){100}){100}", "a{1001}", "(?=a)", "(a)\\\\1"]) {
      const compilation = compile(`'a'.matches('${pattern}')`, environment);
      assert.ok(!compilation.ok, pattern);
      assert.match(compilation.message, /invalid matches argument/);
    }
  });

  it("patterns from data are priced by their length", () => {
    const s = "(a|b)*".repeat(1500);
    assert.equal(evaluate("s.matches(s)", { s }).cancelled, "cost");
  });

  it("small patterns that are large inside are cancelled before they run", () => {
    const s = `${"a".repeat(100_000)}y`;
    assert.equal(evaluate("s.find('(a?){1000}[yz]$') == ''", { s }).cancelled, "cost");
    assert.equal(evaluate("s.matches('[^x]{900}[x-z]$')", { s: s.repeat(30) }).cancelled, "cost");
    assert.equal(evaluate("s.find('a+') != ''", { s }).result, true);
  });
});

/**
 * What reads, compares or makes much more than it costs in Kubernetes; each ends after as many
 * steps as an evaluation may take.
 */
describe("an expression that is cheap by its cost", () => {
  const any = {
    s: "a".repeat(1_500_000),
    wide: "é世".repeat(400_000),
    emoji: "😀".repeat(300_000),
    quotes: '"\\'.repeat(500_000),
    rounds: new Array(40_000).fill(1),
    ints: Array.from({ length: 70_000 }, (_, i) => i % 10),
    texts: Array.from({ length: 70_000 }, (_, i) => `x${i}`),
    nested: Array.from({ length: 20_000 }, (_, i) => [[i], []]),
    map: Object.fromEntries(Array.from({ length: 19_000 }, (_, i) => [`k${i}`, { a: [i] }])),
    numbers: Array.from({ length: 70_000 }, (_, i) => i + 0.5),
  };
  const both = { ...any, again: structuredClone(any) };
  for (const text of [
    "'%s'.format([any.map]) != ''",
    "'%s'.format([[any.quotes]]) != ''",
    "'%s'.format([any.numbers]) != ''",
    "'%x'.format([any.s]) != ''",
    "any.rounds.all(x, any.map == any.again.map)",
    "any.rounds.all(x, any.nested == any.again.nested)",
    "any.rounds.all(x, any.s == any.again.s)",
    "any.rounds.all(x, any.wide.size() > 0)",
    "any.rounds.all(x, any.wide.contains(''))",
    "any.rounds.all(x, any.emoji.charAt(1) != '')",
    "any.rounds.all(x, any.ints.reverse().size() > 0)",
    "any.rounds.all(x, any.texts.max() != '')",
    "any.rounds.all(x, any.texts.join('').size() > 0)",
    "any.rounds.all(x, any.s.lowerAscii() == any.s)",
    "any.rounds.all(x, any.s.replace('a', 'bcd') != '')",
    "any.rounds.all(x, any.s.split('') != [])",
    "any.rounds.all(x, any.s.lastIndexOf('aaaaaaaab') < 0)",
    "any.rounds.all(x, any.nested.flatten().size() > 0)",
    "any.rounds.all(x, any.map.transformMap(k, v, v).size() > 0)",
    "any.rounds.all(x, !isURL(any.s))",
    "any.rounds.all(x, '%.1000f'.format([1.5]) != '')",
    "any.rounds.all(x, url('http://a/?b=c').getQuery().size() > 0)",
    "any.texts.all(x, !any.s.matches(x))",
    "any.texts.all(x, quantity('9e1000').compareTo(quantity('1e-1000')) > 0)",
    `[any.ints]${".map(x, [x, x])".repeat(40)}.indexOf([]) < 0`,
  ]) {
    it(`does little before it is cancelled: ${text.slice(0, 60)}`, () => {
      const { cancelled, cost, charged } = evaluate(text, { any: both });
      assert.equal(cancelled, "cost");
      assert.ok(cost <= 2 * COST_PER_CALL_MAX, `${cost}`);
      assert.ok(charged >= EVALUATION_STEPS_MAX, `${charged}`);
    });
  }

  it("gives no JSON of a list that holds another one again and again", () => {
    const { result } = evaluate(`[any.ints]${".map(x, [x, x])".repeat(40)}`, { any: both });
    const json = toJson(result);
    assert.equal(json instanceof CelError && json.message, "value is too large");
  });

  it("is refused when its patterns take too long to compile", () => {
    const patterns = Array.from({ length: 30 }, (_, i) => `s.matches('x${i}(a?b){900}')`);
    const compilation = compile(patterns.join(" || "), environment);
    assert.ok(!compilation.ok && compilation.message.includes("constants of the expression"));
  });
});

describe("compiled patterns", () => {
  it("are compiled up to the longest length and not beyond", () => {
    assert.ok(!(compilePattern("a".repeat(PATTERN_LENGTH_MAX)) instanceof CelError));
    assert.ok(compilePattern("a".repeat(PATTERN_LENGTH_MAX + 1)) instanceof CelError);
  });

  it("are compiled up to the largest size with repetitions written out, and not beyond", () => {
    assert.equal(expandedSize("(ab[c-e]\\d){10}x{3}"), 43);
    assert.equal(expandedSize("[]a]{2}[[:alpha:]]{3}\\{9"), 7);
    const ten = "a{1000}".repeat(PATTERN_SIZE_MAX / 1000);
    assert.ok(!(compilePattern(ten) instanceof CelError));
    const refused = compilePattern(`${ten}a`);
    assert.equal(
      refused instanceof CelError && refused.message,
      "error parsing regexp: expression too large",
    );
  });

  it("are kept up to a number and then dropped, the oldest first", () => {
    const first = compilePattern("first-pattern");
    const second = compilePattern("second-pattern");
    assert.equal(compilePattern("first-pattern"), first);
    for (let i = 0; i < PATTERN_CACHE_ENTRIES_MAX - 1; i++) compilePattern(`filler${i}`);
    assert.equal(compilePattern("first-pattern"), first);
    assert.notEqual(compilePattern("second-pattern"), second);
  });
});

describe("hostile data", () => {
  it("cannot reach prototypes through any kind of access", () => {
    const any = JSON.parse('{"a": 1}');
    for (const text of [
      "any.__proto__",
      "any['__proto__']",
      "any.constructor",
      "any.?constructor.value()",
      "any['toString']",
    ]) {
      const { result } = evaluate(`type(${text}) == map`, { any });
      assert.match(
        result instanceof CelError ? result.message : "",
        /no such key|optional.none/,
        text,
      );
    }
    assert.equal(evaluate("'constructor' in any || has(any.__proto__)", { any }).result, false);
  });
});
