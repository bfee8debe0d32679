/** A timeout that can be moved while a stream is being read. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { onAbort, TransportError } from "../client/index.ts";

export class ReadLimit {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #stopListening: () => void;
  #timer: Timer | undefined;
  /** By the monotonic clock. */
  #endsAtMs = 0;

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    this.#stopListening = onAbort(outer, () => this.#controller.abort(outer.reason));
  }

  /** Aborts with the outer signal, and when the limit is exceeded. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Replaces the previous limit. */
  set(limitMs: number, complaint: string): void {
    this.#timer?.cancel();
    this.extend(limitMs);
    this.#wait(limitMs, () => {
      const why = `${complaint} for ${Math.round(limitMs)} ms`;
      this.#controller.abort(new TransportError("timeout", why));
    });
  }

  /**
   * Restarts the current limit. It needs no timer, and can be called for every few objects of a
   * hundred thousand.
   */
  extend(limitMs: number): void {
    this.#endsAtMs = this.#clock.monotonic() + limitMs;
  }

  /** A read that ended because of the limit looks like a clean end to its reader. */
  throwIfExceeded(): void {
    if (this.signal.aborted && !this.#outer.aborted) throw this.signal.reason;
  }

  #wait(delayMs: number, end: () => void): void {
    this.#timer = this.#clock.schedule(delayMs, () => {
      const leftMs = this.#endsAtMs - this.#clock.monotonic();
      if (leftMs > 0) this.#wait(leftMs, end);
      else end();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#stopListening();
  }
}
