/**
 * What schemas and rules cost by themselves, in this process: processor time, so that other
 * programs do not count.
 */
import {
  compile,
  declaredInt,
  declaredList,
  declaredObject,
  declaredString,
  kubernetesEnvironment,
} from "@kcp-ts/machinery/cel";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { compileSchema } from "@kcp-ts/machinery/schema";
import type { Bench } from "./contest.ts";
import { largeObject, largeSchema } from "./crd-definitions.ts";
import { median } from "./measure.ts";

export function schemaRows(bench: Bench): void {
  const rounds = bench.options.sizes.customObjects;
  const row = (work: string, figure: number, unit: "ms" | "µs", atMost: number): void =>
    bench.report.add({ work, server: "kcp", figure, unit, wanted: { what: "figure", atMost } });
  const text = JSON.stringify(largeSchema());
  const schemaJson = JSON.parse(text) as JsonValue;
  const size = `${Math.round(text.length / 1000)} KB`;
  const compiling = Array.from({ length: 20 }, () => cpuMicros(() => compileSchema(schemaJson)));
  row(`compile a definition of ${size}`, median(compiling) / 1000, "ms", 10);
  row(`compile a definition of ${size}, first time`, (compiling[0] ?? 0) / 1000, "ms", 50);

  const schema = compileSchema(schemaJson);
  const object = largeObject() as JsonValue;
  const length = JSON.stringify(object).length;
  const judge = () => schema.validate(schema.admit(object).value);
  row(`validate, default and prune ${length} bytes`, eachMicros(judge, rounds), "µs", 50);

  const items = declaredList(
    declaredObject("self.items", [
      ["name", { declared: declaredString({ maxLength: 63 }) }],
      ["count", { declared: declaredInt }],
    ]),
    { maxItems: 100 },
  );
  const self = declaredObject("self", [["items", { declared: items }]]);
  const compiled = compile(
    'self.items.all(i, i.name.startsWith("a") && i.count >= 0)',
    kubernetesEnvironment.extend({ variables: { self } }),
  );
  if (!compiled.ok) throw new Error(compiled.message);
  const data = {
    self: { items: Array.from({ length: 20 }, (_, i) => ({ name: `a${i}`, count: i })) },
  };
  const { program } = compiled;
  row(
    "a CEL rule over 20 items",
    eachMicros(() => program.evaluate(data), rounds * 10),
    "µs",
    20,
  );
}

function eachMicros(work: () => unknown, rounds: number): number {
  for (let i = 0; i < rounds; i++) work();
  return (
    cpuMicros(() => {
      for (let i = 0; i < rounds; i++) work();
    }) / rounds
  );
}

function cpuMicros(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
