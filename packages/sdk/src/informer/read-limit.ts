/** A limit of time that can be moved while something is being read. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { onAbort, TransportError } from "../client/index.ts";

export class ReadLimit {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #stopListening: () => void;
  #timer: Timer | undefined;
  /** By the clock that never jumps. */
  #endsAtMs = 0;

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    this.#stopListening = onAbort(outer, () => this.#controller.abort(outer.reason));
  }

  /** Aborts with the outer signal, and when a limit is passed. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Takes the place of the limit before. */
  set(limitMs: number, complaint: string): void {
    this.#timer?.cancel();
    this.extend(limitMs);
    this.#wait(limitMs, () => {
      const why = `${complaint} for ${Math.round(limitMs)} ms`;
      this.#controller.abort(new TransportError("timeout", why));
    });
  }

  /** The limit that is set counts from now on. It costs no timer, and can be done for every few objects of a hundred thousand. */
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
