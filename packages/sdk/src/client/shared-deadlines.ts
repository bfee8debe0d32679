/**
 * Shared deadlines of requests: requests that start within the same second, with the same caller's
 * signal or none, share one signal.
 *
 * An AbortController with a listener costs a tenth of a request, most of it in the garbage
 * collector. The price of sharing is a deadline that is up to a second late.
 */
import { type Clock, onAbort, type Timer } from "@kcp-ts/machinery/base";
import type { Deadline } from "./deadline.ts";
import { TransportError } from "./transport.ts";

interface Bucket {
  readonly controller: AbortController;
  readonly startedAtMs: number;
  users: number;
  timer: Timer | undefined;
  stopListening: () => void;
}

export const sharedDeadlineMs = 1000;

export class SharedDeadlines {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #current: Bucket | undefined;
  /** Deadlines by the caller's signal: a controller has one signal for all its requests. */
  readonly #currentOf = new WeakMap<AbortSignal, Bucket>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  start(callerSignal?: AbortSignal): Deadline {
    const nowMs = this.#clock.monotonic();
    let bucket = callerSignal === undefined ? this.#current : this.#currentOf.get(callerSignal);
    if (bucket === undefined || nowMs - bucket.startedAtMs >= sharedDeadlineMs) {
      const controller = new AbortController();
      bucket = {
        controller,
        startedAtMs: nowMs,
        users: 0,
        timer: undefined,
        stopListening: nothing,
      };
      if (callerSignal === undefined) this.#current = bucket;
      else this.#currentOf.set(callerSignal, bucket);
    }
    if (bucket.users++ === 0) this.#arm(bucket, nowMs, callerSignal);
    const { signal } = bucket.controller;
    const own = bucket;
    return { signal, cancel: () => release(own) };
  }

  #arm(bucket: Bucket, nowMs: number, callerSignal: AbortSignal | undefined): void {
    bucket.stopListening = onAbort(callerSignal, () =>
      bucket.controller.abort(callerSignal?.reason),
    );
    const dueAtMs = bucket.startedAtMs + sharedDeadlineMs + this.#timeoutMs;
    bucket.timer = this.#clock.schedule(dueAtMs - nowMs, () => {
      const message = `the request took longer than ${this.#timeoutMs} ms`;
      bucket.controller.abort(new TransportError("timeout", message));
    });
  }
}

/**
 * Without users there is no timer, so an otherwise idle program can end, and no reference to the
 * caller's signal.
 */
function release(bucket: Bucket): void {
  if (--bucket.users > 0) return;
  bucket.timer?.cancel();
  bucket.timer = undefined;
  bucket.stopListening();
  bucket.stopListening = nothing;
}

const nothing = () => {};
