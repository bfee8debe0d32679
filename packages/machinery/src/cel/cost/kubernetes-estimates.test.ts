/**
 * The estimates that Kubernetes' own tests expect of rules on bounded and unbounded schemas: the
 * largest cost of the rule without a bound on the data, and with one.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import {
  type DeclaredType,
  declaredBool,
  declaredBytes,
  declaredDate,
  declaredDateTime,
  declaredDouble,
  declaredDuration,
  declaredIntOrString,
  declaredList,
  declaredMap,
  declaredString,
} from "../types/declared-type.ts";
import { estimateCost } from "./estimator.ts";

type Bounded = (bound?: number) => DeclaredType;

const arrayOf =
  (element: DeclaredType): Bounded =>
  (bound) =>
    declaredList(element, bound === undefined ? {} : { maxItems: bound });
const mapOf =
  (value: DeclaredType): Bounded =>
  (bound) =>
    declaredMap(value, bound === undefined ? {} : { maxProperties: bound });
const text: Bounded = (bound) => declaredString(bound === undefined ? {} : { maxLength: bound });
const bytes: Bounded = (bound) => declaredBytes(bound === undefined ? {} : { maxLength: bound });
const textMap: Bounded = (bound) =>
  declaredMap(text(bound), bound === undefined ? {} : { maxProperties: bound });

const numbers = arrayOf(declaredDouble);
const rows: readonly (readonly [string, Bounded, string, number, number, number])[] = [
  ["numbers", numbers, "self.all(x, true)", 4_718_591, 10, 32],
  ["strings", arrayOf(declaredString()), "self.all(x, true)", 3_145_727, 20, 62],
  ["booleans", arrayOf(declaredBool), "self.all(x, true)", 1_887_437, 5, 17],
  ["arrays", arrayOf(declaredList(declaredDouble)), "self.all(x, true)", 3_145_727, 100, 302],
  ["a map of numbers", mapOf(declaredDouble), "self.all(x, true)", 1_348_169, 10, 32],
  ["a map of strings", mapOf(declaredString()), "self.all(x, true)", 1_179_647, 3, 11],
  ["a map of booleans", mapOf(declaredBool), "self.all(x, true)", 943_718, 100, 302],
  ["a string", text, "self.contains('test')", 314_574, 10, 5],
  ["a string", text, "self.startsWith('test')", 2, 15, 2],
  ["a string", text, "self.endsWith('test')", 2, 30, 2],
  ["a string", text, `size(self + "hello") > size("hello")`, 314_578, 4, 7],
  ["numbers", numbers, "self[1] == 0.0", 2, 5000, 2],
  ["strings", arrayOf(declaredString()), "self[1] == self[1]", 314_577, 8, 314_577],
  ["a string", text, `"".matches("(((((((((())))))))))[0-9]")`, 7, 10, 7],
  ["a string", text, `self.matches("")`, 1, 100, 1],
  ["a map of strings", textMap, "self.all(x, x.contains(self[x]))", 2_752_507, 10, 72],
  ["a map of numbers", mapOf(declaredDouble), `self["x"] == 0.0`, 2, 0, 2],
  ["a string", text, `self == "x"`, 2, 0, 1],
  ["bytes", bytes, `self == b"x"`, 2, 0, 1],
  ["numbers", numbers, "self.all(x, x == 0.0)", 6_291_454, 3 * 1024 * 2048, 25_165_826],
  ["ints or strings", arrayOf(declaredIntOrString()), "self.all(x, true)", 4_718_591, 10, 32],
  ["ints or strings", arrayOf(declaredIntOrString()), "self[0] == 5", 3, 10, 3],
  ["booleans", arrayOf(declaredBool), "self[0] == false", 2, 25, 2],
  ["arrays", arrayOf(declaredList(declaredDouble)), "self[0][0] == -1.0", 3, 51, 3],
  ["maps", arrayOf(declaredMap(declaredDouble)), "self[0].x > 2.0", 4, 3000, 4],
  ["durations", arrayOf(declaredDuration), "self.all(x, true)", 2_359_295, 5, 17],
  ["durations", arrayOf(declaredDuration), "self[0].getHours() == 2", 4, 525, 4],
  ["dates", arrayOf(declaredDate), "self.all(x, true)", 725_936, 15, 47],
  ["dates", arrayOf(declaredDate), "self[2].getDayOfMonth() == 13", 4, 42, 4],
  ["times", arrayOf(declaredDateTime), "self.all(x, true)", 428_963, 25, 77],
  ["a map of times", mapOf(declaredDateTime), `self["a"] == self["b"]`, 8, 7, 8],
  ["a map of durations", mapOf(declaredDuration), `self["c"] == self["d"]`, 8, 42, 8],
  ["a map of dates", mapOf(declaredDate), "self.all(x, true)", 524_288, 10, 32],
  ["ints or strings", arrayOf(declaredIntOrString()), "type(self[0]) == int", 157_291, 10, 5],
  ["a string", text, "type(self) == string", 314_576, 10, 7],
  ["a string", text, "self.find('[0-9]+') == ''", 629_147, 10, 11],
];

describe("estimates of Kubernetes", () => {
  for (const [name, declared, rule, unbounded, bound, bounded] of rows) {
    it(`${rule} on ${name} costs ${unbounded} without a bound and ${bounded} with ${bound}`, () => {
      const estimate = (self: DeclaredType) => {
        const environment = kubernetesEnvironment.extend({ variables: { self } });
        const compilation = compile(rule, environment);
        assert.ok(compilation.ok);
        return estimateCost(compilation.program.checked, environment).max;
      };
      assert.equal(estimate(declared()), unbounded);
      assert.equal(estimate(declared(bound)), bounded);
    });
  }

  it("an enumeration bounds a string that has no bound of its own", () => {
    const environment = (self: DeclaredType) =>
      kubernetesEnvironment.extend({ variables: { self } });
    const values = ["A", "B", "C", "LongValue"];
    for (const [self, max] of [
      [declaredString({ enumValues: values }), 2],
      [declaredString({ enumValues: values, maxLength: 1000 }), 401],
    ] as const) {
      const compilation = compile("self.contains('A')", environment(self));
      assert.ok(compilation.ok);
      assert.equal(estimateCost(compilation.program.checked, environment(self)).max, max);
    }
  });
});
