/** Runs test files with Node's test runner, two at a time, and tells what happened: a line per file, failures in full, skips and notes by name, counts last. */
import { relative } from "node:path";
import { run } from "node:test";
import { longestFirst } from "./longest-first.ts";
import type { StepResult } from "./run-step.ts";
import { TestReport } from "./test-report.ts";

export interface TestRun {
  readonly files: readonly string[];
  /** Said again at the end, where people look. */
  readonly missing: readonly string[];
  readonly failedSteps: readonly StepResult[];
}

export async function runTests({ files, missing, failedSteps }: TestRun): Promise<boolean> {
  const root = process.cwd();
  const nameOf = (file: string) =>
    relative(root, file)
      .replace("/dist/", "/src/")
      .replace(/\.test\.[jt]s$/, "");
  const report = new TestReport({ print: (line) => process.stdout.write(`${line}\n`), nameOf });
  const events = run({
    files: [...longestFirst(files, nameOf)],
    concurrency: fileConcurrency,
    timeout: fileTimeoutMs,
  });
  for await (const event of events) report.take(event);
  return report.end({ missing, failedSteps: failedSteps.map(({ name }) => name) });
}

const fileConcurrency = 2;
/** For what hangs: the slowest file takes half a minute, and ten times that on a machine with other work. */
const fileTimeoutMs = 900_000;
