/**
 * Waits with progress output: one line that is rewritten on a terminal, and elsewhere a line for
 * each change.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { durationMs } from "./durations.ts";
import type { Session } from "./session.ts";

export interface ProgressCheck {
  readonly isDone: boolean;
  readonly line: string;
  /** Lines that are printed once, before the progress. */
  readonly notes?: readonly string[];
}

const pollMs = 300;

export class Progress {
  readonly #session: Session;
  readonly #timeoutMs: number;
  readonly #isQuiet: boolean;

  /** A quiet one shows nothing: the result is printed as a whole. */
  constructor(session: Session, timeout: string | undefined, isQuiet = false) {
    this.#session = session;
    this.#isQuiet = isQuiet;
    this.#timeoutMs =
      timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(timeout, "--timeout");
  }

  /** Throws `late` after the timeout. */
  async until(look: () => Promise<ProgressCheck>, late: string): Promise<void> {
    const startedAtMs = systemClock.monotonic();
    let shown = "";
    const noted = new Set<string>();
    for (;;) {
      const { isDone, line, notes = [] } = await look();
      for (const note of notes.filter((one) => !noted.has(one))) {
        noted.add(note);
        this.#show(note, true);
        shown = "";
      }
      if (line !== shown) this.#show(line, isDone);
      shown = line;
      if (isDone) return;
      if (systemClock.monotonic() - startedAtMs > this.#timeoutMs) throw new Error(late);
      await sleep(systemClock, pollMs);
    }
  }

  #show(line: string, isLast: boolean): void {
    if (this.#isQuiet) return;
    if (process.stdout.isTTY !== true) {
      this.#session.print(line);
      return;
    }
    // A line that is rewritten must not wrap.
    const { columns = 80 } = process.stdout;
    const text = isLast || line.length < columns ? line : `${line.slice(0, columns - 2)}…`;
    process.stdout.write(`\r\u001b[K${text}${isLast ? "\n" : ""}`);
  }
}
