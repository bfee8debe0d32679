/** A signal that aborts with the caller's signal, or when the given time is over. */
import { type Clock, onAbort } from "@kcp-ts/machinery/base";
import { TransportError } from "./transport.ts";

export interface Deadline {
  readonly signal: AbortSignal;
  /** Must be called when the work is over; otherwise the timer stays. */
  cancel(): void;
}

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The operation that did not end in time, for the error's text. */
  readonly what: string;
}

export function timeoutError(what: string, timeoutMs: number): TransportError {
  return new TransportError("timeout", `${what} took longer than ${timeoutMs} ms`);
}

export function startDeadline({ clock, timeoutMs, signal, what }: DeadlineOptions): Deadline {
  const controller = new AbortController();
  const stopListening = onAbort(signal, () => controller.abort(signal?.reason));
  const timer = clock.schedule(timeoutMs, () => {
    controller.abort(timeoutError(what, timeoutMs));
  });
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      stopListening();
    },
  };
}
