/** Runs test files with Node's test runner, a few at a time, and tells what happened: a line per file, failures in full, skips and notes by name, counts last. */
import { availableParallelism } from "node:os";
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
      .replace(/^tools\/dist\//, "tools/")
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

/** One more than there are cores, because end-to-end tests wait for a third of their time; no more than a disk can take. */
const fileConcurrency = Math.min(availableParallelism() + 1, 4);
/** For what hangs: the slowest file takes a minute, and ten times that on a machine with other work. */
const fileTimeoutMs = 1_800_000;
