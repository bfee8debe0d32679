/** Tables of expressions and what becomes of them. Test support only. */
import { assert } from "../../base/index.ts";
import type { Environment } from "../check/environment.ts";
import { compile } from "../compile.ts";
import type { Activation } from "../eval/program.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { CelError, CelOptional, type CelResult } from "../values/value.ts";
import { show } from "./show.ts";

/** An expression and its outcome in words: `true`, `"text"`, `error: …`, `refused: …`. */
export type Row = readonly [expression: string, outcome: string];

export function outcomeOf(
  expression: string,
  environment: Environment = kubernetesEnvironment,
  activation: Activation = {},
): string {
  const compilation = compile(expression, environment);
  if (!compilation.ok) return `refused: ${compilation.issues[0]?.message ?? ""}`;
  return inWords(compilation.program.evaluate(activation).result);
}

function inWords(result: CelResult): string {
  if (result instanceof CelError) return `error: ${result.message}`;
  if (result instanceof CelOptional) {
    return result.value === undefined ? "none" : `optional(${inWords(result.value)})`;
  }
  return show(result);
}

/** What defines a test; handed in, since this file is no test and knows no test runner. */
export type DefineTest = (title: string, run: () => void) => unknown;

/** Defines one test for each row. */
export function expressionTable(
  define: DefineTest,
  rows: readonly Row[],
  environment?: Environment,
  activation?: Activation,
): void {
  for (const [expression, wanted] of rows) {
    define(`${expression} gives ${wanted}`, () => {
      const outcome = outcomeOf(expression, environment, activation);
      assert(outcome === wanted, `${expression} gives ${outcome}, not ${wanted}`);
    });
  }
}
