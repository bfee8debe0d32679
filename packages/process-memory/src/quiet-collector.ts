/**
 * Has the garbage collector run when a busy time is over: an engine that is not asked for memory any more does not look for what it could give back,
 * and after a burst that can be several times what is in use.
 *
 * Twice soon after, once when the last looks at deleted clusters are over, and once more when the caches have let go of what nobody used since. A collection stops everything, so it comes ten times
 * as late where somebody is still there, who would have to wait; and a long one makes the next one wait: all together they take no more than a small part of the time.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

/** What is done in a quiet time, each of which may fail: the process goes on as it is, with more memory. */
export type IdleWork = "settle" | "collect";

export interface IdleGarbageCollectorOptions {
  readonly clock: Clock;
  /** How long this thread has been at work since it began, in milliseconds. */
  readonly busyMs: () => number;
  /** The processor time of all threads since they began, in milliseconds. */
  readonly processorMs: () => number;
  /** Before each collection: others let go of what they can do without. It does not stop this thread. */
  readonly settle: () => Promise<void>;
  readonly collect: () => Promise<void> | void;
  /** It is tried again when the next one is due: later and later, and a few times only until somebody is at work again. */
  readonly onFailure: (work: IdleWork, error: unknown) => void;
}

const checkMs = 1000;
/** A thread that works more than this part of the time is not disturbed. */
const busyShareMax = 0.1;
/** One that works less than this has nobody who waits; time in between counts a tenth. */
const idleShareMax = 0.01;
const usedFactor = 0.1;
/** How long it must have been quiet: the second gives back the pages that the first has emptied, deleted clusters are looked at once more after a minute, and caches forget within two. */
const idleMs = [3000, 15_000, 90_000, 180_000] as const;
/** A collection is followed by at least so many times its own length without one. */
const restFactor = 200;

export class IdleGarbageCollector {
  readonly #options: IdleGarbageCollectorOptions;
  #timer: Timer | undefined;
  #checkedAt = 0;
  #checkedBusyMs = 0;
  /** Since the last busy time. */
  #quietMs = 0;
  /** How many collections have followed the last busy time: none is wanted before the first. */
  #done: number = idleMs.length;
  #notBefore = 0;
  #isStopped = false;

  constructor(options: IdleGarbageCollectorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#checkedAt = this.#options.clock.monotonic();
    this.#checkedBusyMs = this.#options.busyMs();
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.schedule(checkMs, () => {
      const collecting = this.#check();
      if (collecting === undefined) this.#schedule();
      else void collecting.then(() => this.#schedule());
    });
  }

  #check(): Promise<void> | undefined {
    const now = this.#options.clock.monotonic();
    const busyMs = this.#options.busyMs();
    const passedMs = Math.max(1, now - this.#checkedAt);
    const share = (busyMs - this.#checkedBusyMs) / passedMs;
    this.#checkedAt = now;
    this.#checkedBusyMs = busyMs;
    if (share > busyShareMax) {
      this.#quietMs = 0;
      this.#done = 0;
      return undefined;
    }
    this.#quietMs += passedMs * (share <= idleShareMax ? 1 : usedFactor);
    const wanted = idleMs[this.#done];
    if (wanted === undefined || this.#quietMs < wanted || now < this.#notBefore) return undefined;
    this.#done++;
    return this.#collect();
  }

  async #collect(): Promise<void> {
    const { clock, busyMs, processorMs } = this.#options;
    await this.#try("settle");
    const [startedAt, processorBefore] = [clock.monotonic(), processorMs()];
    await this.#try("collect");
    const endedAt = clock.monotonic();
    // On a machine that is shared it takes long and is little: what counts is what it has taken from this process.
    const tookMs = Math.min(endedAt - startedAt, processorMs() - processorBefore);
    this.#notBefore = endedAt + tookMs * restFactor;
    // Its own work is no sign of life.
    this.#checkedBusyMs = busyMs();
    this.#checkedAt = endedAt;
  }

  /** Never throws: nobody waits for it who could do something about it. */
  async #try(work: IdleWork): Promise<void> {
    try {
      await this.#options[work]();
    } catch (error) {
      this.#options.onFailure(work, error);
    }
  }
}
