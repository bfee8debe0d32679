import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "../compile.ts";
import { RESULT_ELEMENTS_MAX } from "../limits.ts";
import { expressionTable, outcomeOf } from "../test-support/expression-table.ts";
import { declaredString } from "../types/declared-type.ts";
import { CelError } from "../values/value.ts";
import { kubernetesEnvironment } from "./kubernetes-environment.ts";

describe("string extensions", () => {
  expressionTable(it, [
    ["'tacocat'.charAt(3) + 'tacocat'.charAt(7)", '"o"'],
    ["'x'.charAt(2)", "error: index out of range: 2"],
    ["'a😀b'.charAt(1)", '"😀"'],
    ["'tacocat'.indexOf('ac') + 'tacocat'.indexOf('a', 3)", "6"],
    ["'tacocat'.indexOf('none')", "-1"],
    ["'tacocat'.indexOf('a', -1)", "error: index out of range: -1"],
    ["'a😀b'.indexOf('b')", "2"],
    ["'tacocat'.lastIndexOf('at')", "5"],
    ["'tacocat'.lastIndexOf('a', 2)", "1"],
    ["'a😀b😀'.lastIndexOf('😀')", "3"],
    ["'TacoCät'.lowerAscii() + 'tacocät'.upperAscii()", '"tacocätTACOCäT"'],
    ["'hello hello'.replace('he', 'we')", '"wello wello"'],
    ["'hello hello'.replace('he', 'we', 1)", '"wello hello"'],
    ["'hello'.replace('l', '', 0)", '"hello"'],
    ["'ab'.replace('', '-')", '"-a-b-"'],
    ["'ab'.replace('', '-', 2)", '"-a-b"'],
    ["'a,b,c'.split(',')", '["a", "b", "c"]'],
    ["'a,b,c'.split(',', 2)", '["a", "b,c"]'],
    ["'a,b'.split(',', 0)", "[]"],
    ["'a😀'.split('')", '["a", "😀"]'],
    ["'tacocat'.substring(4) + 'tacocat'.substring(0, 4)", '"cattaco"'],
    ["'tacocat'.substring(40)", "error: index out of range: 40"],
    ["'tacocat'.substring(4, 3)", "error: invalid substring range. start: 4, end: 3"],
    ["'\\u00a0 \\ttrim\\n '.trim()", '"trim"'],
    ["['a', 'b'].join() + ['a', 'b'].join('-')", '"aba-b"'],
    ["[dyn('a'), dyn(2)].join()", "error: join: invalid input: 2"],
    ["[dyn(1), dyn(2)].join()", "error: no such overload: join(list)"],
    ["strings.quote('a\\n\"b\\\\')", '"\\"a\\\\n\\\\\\"b\\\\\\\\\\""'],
  ]);
});

describe("format, as Kubernetes has it", () => {
  expressionTable(it, [
    ["'%s is %d%%'.format([dyn('x'), 50])", '"x is 50%"'],
    ["'%b %o %x %X'.format([5, 8, 255, dyn(b'\\xab')])", '"101 10 ff AB"'],
    ["'%d %s %f'.format([1, 'abc', 1.0])", '"1 abc 1.000000"'],
    ["'%.2f %f'.format([2.5, 1.0])", '"2.50 1.000000"'],
    ["'%.0f %.0f'.format([2.5, 3.5])", '"2 4"'],
    ["'%.1f'.format([1234567.25])", '"1,234,567.2"'],
    ["'%e'.format([1052.032911275])", '"1.052033×10⁰³"'],
    ["'%s'.format([[1, 2]])", '"[1, 2]"'],
    ["'%s'.format([['a', 'b']])", '"[\\"a\\", \\"b\\"]"'],
    ["'%s'.format([{'b': 1, 'a': 2}])", '"{\\"a\\":2, \\"b\\":1}"'],
    [
      "'%s %s'.format([dyn(duration('1s')), timestamp('2020-01-01T00:00:00Z')])",
      '"1s 2020-01-01T00:00:00Z"',
    ],
    ["'%s'.format([[duration('1s')]])", '"[duration(\\"1s\\")]"'],
    ["'%s'.format([null])", '"null"'],
    [
      "'%d'.format([dyn('x')])",
      "error: error during formatting: decimal clause can only be used on integers, was given string",
    ],
    [
      "'%d'.format(['x'])",
      "refused: error during formatting: decimal clause can only be used on integers, was given string",
    ],
    [
      "'%d'.format([1, 2])",
      "refused: too many arguments supplied to string.format (expected 1, got 2)",
    ],
    [
      "'%z'.format([1])",
      'refused: could not parse formatting clause: unrecognized formatting clause "z"',
    ],
    [
      "'%z'.format([1] + [])",
      'error: could not parse formatting clause: unrecognized formatting clause "z"',
    ],
    ["'%d %d'.format([1] + [])", "error: index 1 out of range"],
    ["'%d %d'.format([1])", "refused: index 1 out of range"],
    [
      "'%s'.format([url('https://a')])",
      "refused: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.URL",
    ],
    ["'%.1000f'.format([1.0]).size()", "1002"],
    [
      "'%.1001f'.format([1.0])",
      "refused: could not parse formatting clause: error while parsing precision: precision 1001 exceeds maximum allowed precision 1000",
    ],
  ]);
});

describe("results that grow", () => {
  const environment = kubernetesEnvironment.extend({ variables: { s: declaredString() } });
  const ofLength = (length: number) => ({ s: "a".repeat(length) });

  it("replace builds a text up to the limit and no longer", () => {
    const [from, to] = ["a".repeat(32), "b".repeat(64)];
    const compilation = compile(`s.replace('${from}', '${to}').size()`, environment);
    assert.ok(compilation.ok);
    const { program } = compilation;
    const half = RESULT_ELEMENTS_MAX / 2;
    const budget = { costLimit: 1e9 };
    assert.equal(program.evaluate(ofLength(half), budget).result, BigInt(RESULT_ELEMENTS_MAX));
    const { result } = program.evaluate(ofLength(half + 32), budget);
    assert.match(result instanceof CelError ? result.message : "", /result exceeds limit/);
  });

  it("join refuses a result beyond the limit", () => {
    const expression = "s.split('').join(s).size()";
    assert.match(outcomeOf(expression, environment, ofLength(5000)), /error: result exceeds limit/);
  });
});
