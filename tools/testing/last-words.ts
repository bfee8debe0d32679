/** What the process of a test file leaves in a file about its own end, and how it is found. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The variable of the environment that has the mission. */
export const lastWordsVariable = "KCP_TEST_LAST_WORDS";

export interface Mission {
  /** Whose children have something to say. */
  readonly runnerPid: number;
  readonly folder: string;
  /** How long a process may take to exit after its last test. */
  readonly patienceMs: number;
}

export interface LastWords {
  /** All tests have ended, and what the file does after them has begun. */
  readonly hasEndedTests?: true;
  /** Something failed outside of tests, which the exit code would have told. */
  readonly hasErred?: true;
  /** What kept the process from exiting, by Node's names. */
  readonly open?: readonly string[];
  /**
   * The process has nothing more to do, and says so in its event `exit`: what comes now is Node's
   * own work.
   */
  readonly exitCode?: number;
}

export function writeLastWords(folder: string, pid: number, words: LastWords): void {
  // Nobody reads half of it.
  const path = pathOf(folder, pid);
  writeFileSync(`${path}.new`, JSON.stringify(words));
  renameSync(`${path}.new`, path);
}

export function readLastWords(folder: string, pid: number): LastWords {
  try {
    return JSON.parse(readFileSync(pathOf(folder, pid), "utf8")) as LastWords;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

function pathOf(folder: string, pid: number): string {
  return join(folder, `${pid}.json`);
}
