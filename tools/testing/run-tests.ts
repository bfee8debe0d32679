/**
 * Runs test files with Node's test runner, in groups that share a process, and tells what happened:
 * a line per file, failures in full, skips and notes by name, counts last.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { groupTestFiles, writeGroup } from "./group-test-files.ts";
import { lastWordsVariable, type Mission } from "./last-words.ts";
import { longestFirst, longFiles } from "./longest-first.ts";
import type { StepResult } from "./run-step.ts";
import { TestProcesses } from "./test-processes.ts";
import { TestReport } from "./test-report.ts";

export interface TestRun {
  readonly files: readonly string[];
  /** Said again at the end, where people look. */
  readonly missing: readonly string[];
  readonly failedSteps: readonly StepResult[];
  readonly exitPatienceMs?: number;
}

export async function runTests(testRun: TestRun): Promise<boolean> {
  const { files, missing, failedSteps, exitPatienceMs = exitPatienceDefaultMs } = testRun;
  const root = process.cwd();
  const ownNameOf = (file: string) =>
    relative(root, file)
      .replace(/^(tests|tools)\/dist\//, "$1/")
      .replace("/dist/", "/src/")
      .replace(/\.test\.[jt]s$/, "");
  const folder = mkdtempSync(join(tmpdir(), "kcp-last-words-"));
  const ordered = longestFirst(files, ownNameOf);
  const isLong = (file: string) => longFiles.includes(ownNameOf(file));
  const entries = new Map<string, readonly string[]>();
  const entryOf = new Map<string, string>();
  for (const group of groupTestFiles(ordered, isLong)) {
    const entry = writeGroup(join(folder, `group-${entries.size}.mjs`), group);
    entries.set(entry, group);
    for (const file of group) entryOf.set(file, entry);
  }
  const nameOf = (file: string) => (entries.get(file) ?? [file]).map(ownNameOf).join(", ");
  const processes = new TestProcesses({ folder, patienceMs: exitPatienceMs });
  const report = new TestReport({
    print: (line) => process.stdout.write(`${line}\n`),
    nameOf,
    entryOf: (file) => entryOf.get(file) ?? file,
    verdictOn: (file) => processes.verdictOn(file),
  });
  const execArgv = withLastWords({ runnerPid: process.pid, folder, patienceMs: exitPatienceMs });
  try {
    const options = {
      files: [...entries.keys()],
      concurrency: fileConcurrency,
      timeout: fileTimeoutMs,
      execArgv,
    };
    for await (const event of run(options)) report.take(event);
  } finally {
    processes.close();
    rmSync(folder, { recursive: true });
  }
  return report.end({ missing, failedSteps: failedSteps.map(({ name }) => name) });
}

/**
 * Has the processes of test files tell of their end. Node 20 starts them with its own arguments,
 * later ones with those that they are given.
 */
function withLastWords(mission: Mission): readonly string[] {
  process.env[lastWordsVariable] = JSON.stringify(mission);
  const preload = ["--import", new URL("./last-words-preload.js", import.meta.url).href];
  process.execArgv.push(...preload);
  return preload;
}

/**
 * One more than there are cores, because end-to-end tests wait for a third of their time; no more
 * than a disk can take.
 */
const fileConcurrency = Math.min(availableParallelism() + 1, 4);
/**
 * For what hangs: the slowest file takes a minute, and ten times that on a machine with other work.
 */
const fileTimeoutMs = 1_800_000;
/** From the last test of a file to the end of its process. */
const exitPatienceDefaultMs = 60_000;
