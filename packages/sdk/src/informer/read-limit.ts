/** A limit of time that can be moved while something is being read. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { onAbort, TransportError } from "../client/index.ts";

export class ReadLimit {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #stopListening: () => void;
  #timer: Timer | undefined;

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
    this.#timer = this.#clock.schedule(limitMs, () => {
      this.#controller.abort(
        new TransportError("timeout", `${complaint} for ${Math.round(limitMs)} ms`),
      );
    });
  }

  /** A read that ended because of the limit looks like a clean end to its reader. */
  throwIfExceeded(): void {
    if (this.signal.aborted && !this.#outer.aborted) throw this.signal.reason;
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#stopListening();
  }
}
