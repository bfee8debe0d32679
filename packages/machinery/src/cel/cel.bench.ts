/**
 * Prints what compiling and evaluating cost, in microseconds; asserts nothing about time.
 *
 * Run with `node packages/machinery/dist/cel/cel.bench.js`.
 */
import type { Environment } from "./check/environment.ts";
import { compile } from "./compile.ts";
import { kubernetesEnvironment } from "./library/kubernetes-environment.ts";
import {
  declaredInt,
  declaredList,
  declaredObject,
  declaredString,
} from "./types/declared-type.ts";

const items = declaredList(
  declaredObject("self.items", [
    ["name", { declared: declaredString({ maxLength: 63 }) }],
    ["count", { declared: declaredInt }],
  ]),
  { maxItems: 100 },
);
const typed = kubernetesEnvironment.extend({
  variables: {
    self: declaredObject("self", [
      ["items", { declared: items }],
      ["name", { declared: declaredString({ maxLength: 63 }) }],
      ["replicas", { declared: declaredInt }],
    ]),
  },
});
const data = {
  self: {
    name: "a-name",
    replicas: 3,
    items: Array.from({ length: 20 }, (_, i) => ({ name: `a${i}`, count: i })),
  },
};

const EXPRESSIONS: readonly string[] = [
  "self.replicas >= 0 && self.replicas <= 10",
  `self.name.startsWith("a") || self.replicas == 0`,
  `self.items.all(i, i.name.startsWith("a") && i.count >= 0)`,
  `self.items.all(i, i.name.matches("^[a-z0-9]+$"))`,
  "self.items.map(i, i.count).sum() < 1000",
  "self.items.filter(i, i.count % 2 == 0).size() == 10",
  "self.items.exists_one(i, i.name == 'a7')",
];

function measure(expression: string, environment: Environment, rounds: number): string {
  const started = performance.now();
  let compilation = compile(expression, environment);
  for (let i = 1; i < rounds / 100; i++) compilation = compile(expression, environment);
  const compiledIn = (performance.now() - started) / Math.max(1, Math.ceil(rounds / 100));
  if (!compilation.ok) return compilation.message;
  const { program } = compilation;
  for (let i = 0; i < rounds / 10; i++) program.evaluate(data);
  const begun = performance.now();
  for (let i = 0; i < rounds; i++) program.evaluate(data);
  const each = ((performance.now() - begun) * 1000) / rounds;
  const { cost } = program.evaluate(data);
  return `${each.toFixed(2).padStart(8)} µs/eval ${(compiledIn * 1000).toFixed(0).padStart(6)} µs/compile  cost ${cost}  ${expression}`;
}

for (const expression of EXPRESSIONS) console.log(measure(expression, typed, 20_000));
