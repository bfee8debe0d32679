/**
 * Sees to it that the processes of test files end, and says of those that did not why.
 *
 * A process that keeps something open ends itself (tell-the-end.ts) and has failed. One whose event
 * loop turns no more cannot: Node 20 and later may wait for ever for their own threads when the
 * loop is empty, or in what follows `exit` (nodejs/node#54918). That is no failure of the tests, if
 * the kernel shows that it is so: the process has told its exit code, 0; or all of its tests have
 * ended, nothing has failed since, and its main thread has been waiting for a lock all the time,
 * where one that has something open waits for events.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { resolve } from "node:path";
import { type LastWords, readLastWords } from "./last-words.ts";
import { lockOfMainThread } from "./main-thread.ts";

/** What is to be said of a file whose process was ended. */
export interface TestResult {
  /** Its tests stand for themselves, and this is only noted. */
  readonly isExcused: boolean;
  readonly text: string;
}

export interface TestProcessesOptions {
  readonly folder: string;
  readonly patienceMs: number;
}

interface Watched {
  readonly child: ChildProcess;
  phase: Phase;
  /** Looks in this phase so far. */
  looks: number;
  /** Where the main thread waits, since half of the time or more. */
  lock: string | undefined;
}

type Phase = "tests" | "after tests" | "exit";

const looksPerPatience = 10;

export class TestProcesses {
  readonly #options: TestProcessesOptions;
  readonly #watched = new Set<Watched>();
  readonly #verdicts = new Map<string, TestResult>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: TestProcessesOptions) {
    this.#options = options;
    subscribe("child_process", this.#onChild);
    this.#timer = setInterval(() => this.#look(), options.patienceMs / looksPerPatience);
  }

  close(): void {
    clearInterval(this.#timer);
    unsubscribe("child_process", this.#onChild);
  }

  /** Undefined for one that ended by itself, whatever came of it. */
  verdictOn(file: string): TestResult | undefined {
    return this.#verdicts.get(resolve(file));
  }

  readonly #onChild = (message: unknown): void => {
    const child = (message as { process: ChildProcess }).process;
    const watched: Watched = { child, phase: "tests", looks: 0, lock: undefined };
    this.#watched.add(watched);
    child.once("exit", () => {
      this.#watched.delete(watched);
      const { open } = this.#wordsOf(child);
      if (open !== undefined)
        this.#judge(watched, this.#late(`something it opened is still open: ${open.join(", ")}`));
    });
  };

  #look(): void {
    for (const watched of this.#watched) {
      const words = this.#wordsOf(watched.child);
      const phase = phaseOf(words);
      if (phase !== watched.phase) Object.assign(watched, { phase, looks: 0 });
      watched.looks++;
      if (phase === "exit") this.#lookAtExit(watched, words.exitCode);
      else if (phase === "after tests") this.#lookAfterTests(watched, words);
    }
  }

  #lookAtExit(watched: Watched, exitCode: number | undefined): void {
    if (watched.looks <= looksPerPatience) return;
    const text = "its process did not end after its exit, and was killed (nodejs/node#54918)";
    this.#kill(watched, { isExcused: exitCode === 0, text });
  }

  /** A process that could would have ended itself after half of this time. */
  #lookAfterTests(watched: Watched, { hasErred }: LastWords): void {
    const { pid } = watched.child;
    if (pid === undefined || watched.looks < looksPerPatience) return;
    const lock = lockOfMainThread(pid);
    if (watched.looks === looksPerPatience) watched.lock = lock;
    if (watched.looks <= 2 * looksPerPatience) return;
    const isWaiting = lock !== undefined && lock === watched.lock;
    if (isWaiting && hasErred !== true) {
      const text =
        "after its last test its process waited for its own threads, not for events, and was killed (nodejs/node#54918)";
      this.#kill(watched, { isExcused: true, text });
    } else this.#kill(watched, this.#late("its main thread is held up, and it was killed"));
  }

  #late(why: string): TestResult {
    const seconds = this.#options.patienceMs / 1000;
    return {
      isExcused: false,
      text: `did not exit within ${seconds} s after its last test: ${why}`,
    };
  }

  #kill(watched: Watched, verdict: TestResult): void {
    this.#judge(watched, verdict);
    this.#watched.delete(watched);
    watched.child.kill("SIGKILL");
  }

  #judge({ child }: Watched, verdict: TestResult): void {
    this.#verdicts.set(resolve(child.spawnargs.at(-1) ?? ""), verdict);
  }

  #wordsOf({ pid }: ChildProcess): LastWords {
    return pid === undefined ? {} : readLastWords(this.#options.folder, pid);
  }
}

function phaseOf({ exitCode, hasEndedTests }: LastWords): Phase {
  if (exitCode !== undefined) return "exit";
  return hasEndedTests === true ? "after tests" : "tests";
}
