/**
 * Watches are opened at a bounded pace while others are at work beside whoever opens them.
 *
 * What a watch needs stays in memory while it is open, so that each collection of garbage has to copy what was opened since the last one: ten
 * thousand at once hold the thread for ten milliseconds at a time, whatever each of them costs. Some hundred may be opened at once, which is what a
 * program needs that begins; who is alone opens as many as he likes.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { LaneQueue, type LaneVisitor } from "./lane-queue.ts";

export const openingLimits = {
  perSecond: 400,
  /** What may be opened at once after a quiet time. */
  atOnceMax: 400,
  /** How often those who wait are looked at. */
  intervalMs: 10,
  ofFlowMax: 1000,
  ofAllMax: 4000,
} as const;

export interface OpeningLaneOptions {
  readonly clock: Clock;
  /** Whether more than one logical cluster is at work. */
  readonly hasCompany: () => boolean;
}

export class OpeningLane {
  readonly #options: OpeningLaneOptions;
  readonly #queue = new LaneQueue<LaneVisitor>(openingLimits);
  #credit: number = openingLimits.atOnceMax;
  #countedAt: number;
  #timer: Timer | undefined;

  constructor(options: OpeningLaneOptions) {
    this.#options = options;
    this.#countedAt = options.clock.monotonic();
  }

  /** Undefined when it may be opened now. */
  enter(cluster: string, flow: string, visitor: LaneVisitor): Promise<void> | undefined {
    this.#count();
    if (this.#queue.size === 0 && (this.#credit >= 1 || !this.#options.hasCompany())) {
      this.#spend();
      return undefined;
    }
    const waiting = this.#queue.wait(cluster, flow, visitor);
    this.#wake();
    return waiting;
  }

  leave(visitor: LaneVisitor): void {
    this.#queue.leave(visitor);
  }

  get waiting(): number {
    return this.#queue.size;
  }

  #count(): void {
    const now = this.#options.clock.monotonic();
    const { perSecond, atOnceMax } = openingLimits;
    const earned = ((now - this.#countedAt) / 1000) * perSecond;
    this.#credit = Math.min(atOnceMax, this.#credit + earned);
    this.#countedAt = now;
  }

  #spend(): void {
    this.#credit = Math.max(0, this.#credit - 1);
  }

  #wake(): void {
    if (this.#timer !== undefined || this.#queue.size === 0) return;
    this.#timer = this.#options.clock.schedule(openingLimits.intervalMs, () => {
      this.#timer = undefined;
      this.#letIn();
      this.#wake();
    });
  }

  /** Those for whom there is credit; when the others have gone, a few more each time. */
  #letIn(): void {
    this.#count();
    const { perSecond, intervalMs } = openingLimits;
    const few = Math.ceil((perSecond / 1000) * intervalMs);
    const free = this.#options.hasCompany() ? few : 10 * few;
    let left = this.#options.hasCompany() ? Math.min(few, Math.floor(this.#credit)) : free;
    for (; left > 0 && this.#queue.size > 0; left--) {
      this.#spend();
      this.#queue.admitNext(() => {});
    }
  }
}
