/** A clock that stands still until the test advances it. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

interface Scheduled {
  readonly at: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  readonly #timers = new Set<Scheduled>();
  #elapsedMs = 0;
  readonly #startMs: number;

  constructor(startMs = Date.UTC(2026, 10, 15)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const scheduled = { at: this.#elapsedMs + delayMs, callback };
    this.#timers.add(scheduled);
    return { cancel: () => this.#timers.delete(scheduled) };
  }

  /** The number of pending timers, so that a test can check that none leaks. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Advances the time and runs due timers, in order of time. */
  advance(ms: number): void {
    const until = this.#elapsedMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#elapsedMs = Math.max(this.#elapsedMs, due.at);
      due.callback();
    }
    this.#elapsedMs = until;
  }
}
