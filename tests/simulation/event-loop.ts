/**
 * The simulated event loop: one queue of timers for all processes of a simulated system, and a time
 * that moves to the next timer when nothing else is left to do.
 *
 * Promises and turns of the event loop run on the real one: their order does not depend on time,
 * because nothing in a simulation waits for a socket, a file or a thread.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { globals, realTurn, wallMs } from "./deterministic-globals.ts";

interface SimulatedTimer {
  readonly dueAtMs: number;
  readonly sequence: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

/** A program that runs this many steps without a pause never rests. */
const stepsPerMillisecondMax = 200_000;

export class StuckProgram extends Error {
  override readonly name = "StuckProgram";
}

export class SimulatedEventLoop {
  #timers: SimulatedTimer[] = [];
  #sequence = 0;
  #steps = 0;

  get nowMs(): number {
    return globals.nowMs;
  }

  /** Timers that have neither fired nor been cancelled. */
  get hasTimers(): boolean {
    return this.#timers.some(({ isCancelled }) => !isCancelled);
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const timer: SimulatedTimer = {
      dueAtMs: globals.nowMs + Math.max(0, delayMs),
      sequence: this.#sequence++,
      callback,
      isCancelled: false,
    };
    this.#push(timer);
    return {
      cancel: () => {
        timer.isCancelled = true;
      },
    };
  }

  /** Runs the system until the promise settles, and then until all promises have. */
  async until<Result>(promise: Promise<Result>): Promise<Result> {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    // The caller observes the failure below.
    settled.catch(() => {});
    for (;;) {
      await this.#rest();
      if (isSettled) return settled;
      if (!this.#fireNext(Number.POSITIVE_INFINITY))
        throw new StuckProgram("nothing is left to do, and the awaited promise has not settled");
    }
  }

  /** Runs the system for some time. */
  async run(ms: number): Promise<void> {
    const targetMs = globals.nowMs + ms;
    do await this.#rest();
    while (this.#fireNext(targetMs));
    this.#moveTo(targetMs);
  }

  /**
   * Runs the system until the predicate holds, checked whenever it is at rest between two timers.
   * False when the time is over.
   */
  async runUntil(ms: number, predicate: () => boolean): Promise<boolean> {
    const targetMs = globals.nowMs + ms;
    for (;;) {
      await this.#rest();
      if (predicate()) return true;
      if (!this.#fireNext(targetMs)) break;
    }
    this.#moveTo(targetMs);
    return false;
  }

  /** Resolves when neither a promise nor a turn of the event loop is left to run. */
  #rest(): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (++this.#steps > stepsPerMillisecondMax)
          reject(new StuckProgram(`the program does not pause at ${globals.nowMs} ms`));
        else if (globals.pendingTurns > 0) realTurn(look);
        else resolve();
      };
      realTurn(look);
    });
  }

  #fireNext(targetMs: number): boolean {
    const timer = this.#pop(targetMs);
    if (timer === undefined) return false;
    this.#moveTo(timer.dueAtMs);
    timer.callback();
    return true;
  }

  #moveTo(ms: number): void {
    if (ms <= globals.nowMs) return;
    globals.nowMs = ms;
    this.#steps = 0;
  }

  #pop(targetMs: number): SimulatedTimer | undefined {
    for (;;) {
      const [first] = this.#timers;
      if (first === undefined || (first.dueAtMs > targetMs && !first.isCancelled)) return undefined;
      this.#removeFirst();
      if (!first.isCancelled) return first;
    }
  }

  #push(timer: SimulatedTimer): void {
    const heap = this.#timers;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent] as SimulatedTimer)) break;
      heap[at] = heap[parent] as SimulatedTimer;
      at = parent;
    }
    heap[at] = timer;
  }

  #removeFirst(): void {
    const heap = this.#timers;
    const last = heap.pop() as SimulatedTimer;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as SimulatedTimer)) child++;
      if (!isBefore(heap[child] as SimulatedTimer, last)) break;
      heap[at] = heap[child] as SimulatedTimer;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: SimulatedTimer, b: SimulatedTimer): boolean {
  return a.dueAtMs < b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.sequence < b.sequence);
}

/** The clock of one process: a process that has ended has no timers left. */
export class ProcessClock implements Clock {
  readonly #loop: SimulatedEventLoop;
  #hasEnded = false;
  /** The wall clock of the machine is wrong by this much. */
  readonly #errorMs: () => number;

  constructor(loop: SimulatedEventLoop, errorMs: () => number = () => 0) {
    this.#loop = loop;
    this.#errorMs = errorMs;
  }

  now(): number {
    return wallMs() + this.#errorMs();
  }

  monotonic(): number {
    return globals.nowMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    return this.#loop.schedule(delayMs, () => {
      if (!this.#hasEnded) callback();
    });
  }

  end(): void {
    this.#hasEnded = true;
  }
}
