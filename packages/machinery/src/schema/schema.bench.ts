/**
 * Figures for compiling and serving: run after a build with `node --expose-gc packages/machinery/dist/schema/schema.bench.js`.
 */
import { parseJson, stringifyJson } from "../json/index.ts";
import { compileSchema } from "./compile-schema.ts";
import {
  deploymentLikeObject,
  deploymentLikeSchema,
} from "./test-support/deployment-like-schema.ts";

/** What the runtime offers for measuring memory, if anything. */
const host = globalThis as {
  readonly gc?: () => void;
  readonly process?: { memoryUsage(): { readonly heapUsed: number } };
};

function milliseconds(work: () => unknown, rounds: number): number {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    work();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return times[rounds >> 1] as number;
}

function print(name: string, figure: string): void {
  console.log(`${name.padEnd(44)} ${figure}`);
}

const schemaText = stringifyJson(deploymentLikeSchema());
const schemaJson = parseJson(schemaText).value;
print("schema text", `${(schemaText.length / 1024).toFixed(0)} KiB`);
print("compile, first time", `${milliseconds(() => compileSchema(schemaJson), 1).toFixed(2)} ms`);
print(
  "compile, median of 20",
  `${milliseconds(() => compileSchema(schemaJson), 20).toFixed(2)} ms`,
);

if (host.gc !== undefined && host.process !== undefined) {
  const kept: unknown[] = [];
  host.gc();
  const before = host.process.memoryUsage().heapUsed;
  for (let i = 0; i < 10; i++) kept.push(compileSchema(parseJson(schemaText).value));
  host.gc();
  const bytes = (host.process.memoryUsage().heapUsed - before) / kept.length;
  print("heap of one compiled schema", `${(bytes / 1024).toFixed(0)} KiB`);
}

const schema = compileSchema(schemaJson);
print("distinct sub-schemas", String(schema.nodes));
const objectText = stringifyJson(deploymentLikeObject());
const object = parseJson(objectText).value;
const complete = schema.admit(object).value;
print("object text", `${objectText.length} bytes`);
print("errors (must be 0)", String(schema.validate(complete).length));
const rounds = 20_000;
const micro = (work: () => unknown): string => {
  for (let i = 0; i < 2_000; i++) work();
  const start = performance.now();
  for (let i = 0; i < rounds; i++) work();
  return `${(((performance.now() - start) * 1000) / rounds).toFixed(1)} µs`;
};
print(
  "admit (coerce, prune, nulls, default)",
  micro(() => schema.admit(object)),
);
print(
  "admit, nothing to change",
  micro(() => schema.admit(complete)),
);
print(
  "validate",
  micro(() => schema.validate(complete)),
);
print(
  "validate an update",
  micro(() => schema.validate(complete, { old: object })),
);
print(
  "admit + validate",
  micro(() => schema.validate(schema.admit(object).value)),
);
