/**
 * Runs the garbage collector after a busy time: V8 does not release memory while nothing is
 * allocated, and after a burst that can be several times the memory in use.
 *
 * It runs twice soon after the burst, once when the last checks of deleted clusters are over, and
 * once more when the caches have evicted unused entries. A collection stops the event loop, so it
 * comes ten times as late while the process is still lightly loaded; and a long one delays the next
 * one: all collections together take only a small part of the time.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

/** Steps for an idle time, each of which may fail: the process then continues with more memory. */
export type IdleWork = "releaseMemory" | "collect";

export interface IdleGarbageCollectorOptions {
  readonly clock: Clock;
  /** How long this thread has been busy since it began, in milliseconds. */
  readonly busyMs: () => number;
  /** The processor time of all threads since they began, in milliseconds. */
  readonly processorMs: () => number;
  /**
   * Runs before each collection: caches release memory that they can do without. It does not block
   * this thread.
   */
  readonly releaseMemory: () => Promise<void>;
  readonly collect: () => Promise<void> | void;
  /**
   * A failed step is retried when the next collection is due: with growing delays, and a few times
   * only until the process is busy again.
   */
  readonly onFailure: (work: IdleWork, error: unknown) => void;
}

const checkMs = 1000;
/** A thread that is busy for more than this part of the time is not interrupted. */
const busyShareMax = 0.1;
/**
 * A thread that is busy for less than this has no waiting requests; time in between counts a tenth.
 */
const idleShareMax = 0.01;
const usedFactor = 0.1;
/**
 * The idle times before the collections: the second releases the pages that the first has emptied,
 * deleted clusters are checked once more after a minute, and caches evict within two.
 */
const idleMs = [3000, 15_000, 90_000, 180_000] as const;
/** A collection is followed by at least this multiple of its own duration without one. */
const restFactor = 200;

export class IdleGarbageCollector {
  readonly #options: IdleGarbageCollectorOptions;
  #timer: Timer | undefined;
  #checkedAt = 0;
  #checkedBusyMs = 0;
  /** The idle time since the last busy time. */
  #quietMs = 0;
  /** The number of collections since the last busy time: none runs before the first busy time. */
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
    await this.#try("releaseMemory");
    const [startedAt, processorBefore] = [clock.monotonic(), processorMs()];
    await this.#try("collect");
    const endedAt = clock.monotonic();
    // On a shared machine the wall time is long and the processor time is small: the processor time
    // counts.
    const tookMs = Math.min(endedAt - startedAt, processorMs() - processorBefore);
    this.#notBefore = endedAt + tookMs * restFactor;
    // The collector's own work does not count as load.
    this.#checkedBusyMs = busyMs();
    this.#checkedAt = endedAt;
  }

  /** Never throws: no caller could handle the error. */
  async #try(work: IdleWork): Promise<void> {
    try {
      await this.#options[work]();
    } catch (error) {
      this.#options.onFailure(work, error);
    }
  }
}
