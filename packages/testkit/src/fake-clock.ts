/**
 * A clock that stands still until a test moves it.
 *
 * Timers fire in the order of their due time, then of their making; while one fires, the clock
 * shows its due time. So a program that only waits through a `Clock` runs through an hour in no
 * time, and the same way every time.
 */
import { type Clock, isResumableWorkWaiting, type Timer } from "@kcp-ts/machinery/base";

interface FakeTimer {
  readonly dueAtMs: number;
  readonly sequence: number;
  readonly callback: () => void;
}

const startWallMs = Date.UTC(2026, 0, 1);

export class FakeClock implements Clock {
  #elapsedMs = 0;
  #wallMs: number;
  #sequence = 0;
  readonly #timers = new Set<FakeTimer>();

  constructor(wallMs: number = startWallMs) {
    this.#wallMs = wallMs;
  }

  now(): number {
    return this.#wallMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const timer = {
      dueAtMs: this.#elapsedMs + Math.max(0, delayMs),
      sequence: this.#sequence++,
      callback,
    };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Timers that have neither fired nor been cancelled: a program at rest leaves none behind. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Moves time and fires what falls due, timers made on the way included. Promises settle
   * afterwards.
   */
  advance(ms: number): void {
    const targetMs = this.#elapsedMs + ms;
    while (this.#fireNext(targetMs)) {
      // Each round fires one timer.
    }
    this.#elapsedMs = targetMs;
  }

  /** Like `advance`, but lets all promises settle before the first timer and behind every one. */
  async advanceAndFlush(ms: number): Promise<void> {
    const targetMs = this.#elapsedMs + ms;
    do await flushEventLoop();
    while (this.#fireNext(targetMs));
    this.#elapsedMs = targetMs;
    await flushEventLoop();
  }

  /**
   * Time passes and nothing runs, as in a process that is stopped: what falls due fires late, when
   * time is moved next.
   */
  stall(ms: number): void {
    this.#elapsedMs += ms;
  }

  /** Moves the wall without moving time: what an administrator or NTP does. */
  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  #fireNext(targetMs: number): boolean {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAtMs > targetMs) continue;
      const sooner =
        next === undefined ||
        timer.dueAtMs < next.dueAtMs ||
        (timer.dueAtMs === next.dueAtMs && timer.sequence < next.sequence);
      if (sooner) next = timer;
    }
    if (next === undefined) return false;
    this.#timers.delete(next);
    this.#elapsedMs = Math.max(this.#elapsedMs, next.dueAtMs);
    next.callback();
    return true;
  }
}

/**
 * Runs the event loop until the promises of this turn have settled. Only turns without resumable
 * work in flight count: a slow machine needs more of them for the same work, and its continuations
 * come after it.
 */
export async function flushEventLoop(turns = 2): Promise<void> {
  for (let quiet = 0; quiet < turns; quiet++) {
    await nextTurn();
    if (isResumableWorkWaiting()) quiet = -1;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
