/**
 * Deadlines for requests that nobody else can abort: those that start within the same second share one signal.
 *
 * An AbortController with a listener costs as much as a tenth of a whole request, most of it in the garbage collector. The price of
 * sharing is a deadline that comes up to a second late.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { Deadline } from "./deadline.ts";
import { TransportError } from "./transport.ts";

interface Bucket {
  readonly controller: AbortController;
  readonly startedAtMs: number;
  users: number;
  timer: Timer | undefined;
}

export const sharedDeadlineMs = 1000;

export class SharedDeadlines {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #current: Bucket | undefined;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  start(): Deadline {
    const nowMs = this.#clock.monotonic();
    let bucket = this.#current;
    if (bucket === undefined || nowMs - bucket.startedAtMs >= sharedDeadlineMs) {
      const controller = new AbortController();
      bucket = { controller, startedAtMs: nowMs, users: 0, timer: undefined };
      this.#current = bucket;
    }
    if (bucket.users++ === 0) this.#arm(bucket, nowMs);
    const { signal } = bucket.controller;
    return { signal, cancel: () => release(bucket) };
  }

  #arm(bucket: Bucket, nowMs: number): void {
    const dueAtMs = bucket.startedAtMs + sharedDeadlineMs + this.#timeoutMs;
    bucket.timer = this.#clock.schedule(dueAtMs - nowMs, () => {
      const message = `the request took longer than ${this.#timeoutMs} ms`;
      bucket.controller.abort(new TransportError("timeout", message));
    });
  }
}

/** Without users there is no timer: a program that has nothing else to do can end. */
function release(bucket: Bucket): void {
  if (--bucket.users === 0) bucket.timer?.cancel();
}
