/**
 * ReconcileDeadline: ends one reconcile when its time is over, or when its controller stops.
 *
 * A signal with its listeners costs more than the rest of a short reconcile, and most reconciles
 * never ask for theirs: it is made when it is asked for.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

export interface ReconcileDeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The reason of the signal when the time is over. */
  readonly timeoutError: () => Error;
  /** Called once, when it ends before it was cancelled. */
  readonly onEnd: () => void;
}

export class ReconcileDeadline {
  readonly #onEnd: () => void;
  readonly #timer: Timer;
  #controller: AbortController | undefined;
  #hasEnded = false;
  #reason: unknown;

  constructor({ clock, timeoutMs, timeoutError, onEnd }: ReconcileDeadlineOptions) {
    this.#onEnd = onEnd;
    this.#timer = clock.schedule(timeoutMs, () => this.end(timeoutError()));
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#hasEnded) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  end(reason: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#reason = reason;
    this.#timer.cancel();
    this.#controller?.abort(reason);
    this.#onEnd();
  }

  cancel(): void {
    this.#timer.cancel();
  }
}
