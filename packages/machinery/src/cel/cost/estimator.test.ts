import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Environment } from "../check/environment.ts";
import { compile } from "../compile.ts";
import { AUTHORIZER_TYPE } from "../library/authorizer.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { ESTIMATE_PER_RULE_MAX } from "../limits.ts";
import {
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
  declaredValue,
} from "../types/declared-type.ts";
import { add, COST_MAX, multiply, multiplyByFactor, union } from "./estimate.ts";
import { estimateCost } from "./estimator.ts";

const withAuthorizer = kubernetesEnvironment.extend({
  variables: { authorizer: declaredValue(AUTHORIZER_TYPE) },
});

function estimate(text: string, environment: Environment = withAuthorizer) {
  const compilation = compile(text, environment);
  assert.ok(compilation.ok, compilation.ok ? "" : compilation.message);
  return estimateCost(compilation.program.checked, environment);
}

describe("static estimates of literals", () => {
  // The numbers of Kubernetes' own tests of its cost estimator.
  const rows: readonly (readonly [string, number, number])[] = [
    ["'ABCDEFGHIJ abcdefghij'.lowerAscii()", 3, 3],
    ["'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()", 7, 9],
    ["strings.quote('ABCDEFGHIJ abcdefghij')", 3, 3],
    ["{'a': 1, 'b': 2}.all(k, v, v > 0)", 37, 41],
    ["{'a': 1, 'b': 2}.exists(k, v, v > 0)", 39, 43],
    ["{'a': 1, 'b': 2}.existsOne(k, v, v > 0)", 38, 40],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", 71, 71],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1)", 67, 75],
    ["{'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1})", 131, 131],
    ["[1, 2, 3, 4, 5].sum()", 15, 15],
    ["[1, 2, 3, 4, 5].isSorted()", 15, 15],
    [
      "[duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].max()",
      20,
      20,
    ],
    ["url('https:://kubernetes.io/').getHost()", 4, 4],
    ["url('https:://kubernetes.io/') == url('https:://kubernetes.io/')", 7, 9],
    ["ip('192.168.0.1').family()", 3, 3],
    ["ip('192.168.0.1') == ip('192.168.0.1')", 5, 5],
    ["authorizer.group('').resource('pods').check('get').allowed()", 350_004, 350_004],
    ["sets.contains([1], [1])", 22, 22],
    ["sets.equivalent([1], [1])", 23, 23],
  ];
  for (const [text, min, max] of rows) {
    it(`${text} costs ${min} to ${max}`, () => assert.deepEqual(estimate(text), { min, max }));
  }
});

describe("static estimates of declared data", () => {
  const item = (maxLength?: number) =>
    declaredObject("self.items", [
      ["name", { declared: declaredString(maxLength === undefined ? {} : { maxLength }) }],
      ["count", { declared: declaredInt }],
    ]);
  const environmentFor = (options: { maxItems?: number; maxLength?: number }) =>
    kubernetesEnvironment.extend({
      variables: {
        self: declaredObject("self", [
          ["items", { declared: declaredList(item(options.maxLength), options) }],
          [
            "labels",
            { declared: declaredMap(declaredString({ maxLength: 10 }), { maxProperties: 20 }) },
          ],
          ["count", { declared: declaredInt }],
          ["name", { declared: declaredString({ maxLength: 100 }) }],
        ]),
      },
    });

  it("follow from the declared sizes", () => {
    const bounded = environmentFor({ maxItems: 10, maxLength: 10 });
    assert.deepEqual(estimate("self.count > 0", bounded), { min: 3, max: 3 });
    assert.deepEqual(estimate("self.name == 'x'", bounded), { min: 3, max: 3 });
    assert.deepEqual(estimate("self.name.matches('^[a-z]+$')", bounded), { min: 4, max: 84 });
    assert.deepEqual(estimate("self.items.all(i, i.count > 0)", bounded), { min: 3, max: 63 });
    assert.deepEqual(estimate("self.labels.all(k, self.labels[k] != '')", bounded), {
      min: 3,
      max: 143,
    });
    assert.deepEqual(estimate("has(self.name)", bounded), { min: 1, max: 1 });
  });

  it("take what has no path of its own to begin at self, as kube-apiserver does", () => {
    const bounded = environmentFor({ maxItems: 10, maxLength: 10 });
    const unbounded = environmentFor({});
    const rounds = (rule: string, environment: Environment) => estimate(rule, environment);
    const either = "(has(self.items) ? self.items : [])";
    // An element of either list is self, so that its name is self.name: at most 400 bytes, and 46
    // for each of ten rounds.
    assert.deepEqual(rounds(`${either}.exists(x, x.name.contains('/'))`, bounded), {
      min: 4,
      max: 472,
    });
    assert.deepEqual(rounds(`${either}.size() <= 1`, bounded), { min: 5, max: 13 });
    assert.ok(rounds("[self.name].exists(x, x.contains('/'))", unbounded).max < 30);
    assert.ok(
      rounds("(self.count > 1 ? {'a': 'b'} : self.labels).all(k, k.size() < 63)", bounded).max <
        300,
    );
  });

  it("keep a quadratic rule over bounded lists within the limit and push it out over unbounded ones", () => {
    const rule = "self.items.all(i, self.items.exists_one(j, i.name == j.name))";
    assert.ok(
      estimate(rule, environmentFor({ maxItems: 100, maxLength: 63 })).max <= ESTIMATE_PER_RULE_MAX,
    );
    const { max } = estimate(rule, environmentFor({}));
    assert.ok(max > 100 * ESTIMATE_PER_RULE_MAX);
  });

  it("never fall below what evaluation costs", () => {
    const bounded = environmentFor({ maxItems: 5, maxLength: 5 });
    const rules = [
      "self.items.all(i, i.name.startsWith('a') && i.count >= 0)",
      "self.items.exists(i, i.name == self.name)",
      "self.items.map(i, i.name).join(',').size() < 100",
      "self.items.filter(i, i.count > 2).size() >= 0",
      "self.labels.all(k, v, k != v)",
      "self.name.matches('a+') || self.name.contains('b')",
      "self.items.exists_one(i, i.count == self.count) ? self.name < 'm' : self.count in [1, 2, 3]",
    ];
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 5 });
    const items = fc.array(fc.record({ name: text, count: fc.integer({ min: 0, max: 5 }) }), {
      maxLength: 5,
    });
    const labels = fc.dictionary(text, text, { maxKeys: 5 });
    const data = fc.record({ items, labels, count: fc.integer({ min: 0, max: 5 }), name: text });
    const programs = rules.map((rule) => {
      const compilation = compile(rule, bounded);
      assert.ok(compilation.ok, rule);
      return { rule, program: compilation.program, max: estimate(rule, bounded).max };
    });
    fc.assert(
      fc.property(data, (self) => {
        for (const { rule, program, max } of programs) {
          const { cost } = program.evaluate({ self });
          assert.ok(cost <= max, `${rule}: ${cost} > ${max}`);
        }
      }),
    );
  });
});

describe("saturating arithmetic", () => {
  const range = fc.double({ min: 0, max: COST_MAX, noNaN: true }).map((max) => ({ min: 0, max }));
  it("stays within 64 bits", () => {
    fc.assert(
      fc.property(range, range, fc.double({ min: 0, max: 1000, noNaN: true }), (a, b, factor) => {
        for (const result of [
          add(a, b),
          multiply(a, b),
          multiplyByFactor(a, factor),
          union(a, b),
        ]) {
          assert.ok(result.max <= COST_MAX && result.min >= 0 && result.min <= result.max);
        }
      }),
    );
    assert.equal(add({ min: 0, max: COST_MAX }, { min: 0, max: 1 }).max, COST_MAX);
  });
});
