/**
 * Heavy requests go one by one, over all levels: each holds the thread for some milliseconds at a time, and several at once would do so in
 * the same turn. When others are at work beside them they also rest between two for twice as long as the last one took, so that they never
 * have more than a third of the time.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { LaneQueue, type LaneVisitor } from "./lane-queue.ts";

export const heavyLimits = { restFactor: 2, restMaxMs: 400 } as const;

export class HeavyLane {
  readonly #clock: Clock;
  readonly #queue = new LaneQueue<LaneVisitor>();
  #holder: LaneVisitor | undefined;
  #since = 0;
  /** Somebody of another logical cluster began while this one was in. */
  #hasCompany = false;
  #rest: Timer | undefined;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  enter(cluster: string, flow: string, visitor: LaneVisitor): Promise<void> | undefined {
    if (this.#holder === undefined && this.#rest === undefined && this.#queue.size === 0) {
      this.#hold(visitor);
      return undefined;
    }
    return this.#queue.wait(cluster, flow, visitor);
  }

  /** Done, or no longer interested. Whoever is not in here is not concerned. */
  leave(visitor: LaneVisitor): void {
    if (this.#holder === visitor) this.#release();
    else this.#queue.leave(visitor);
  }

  noteBegun(visitor: LaneVisitor): void {
    if (this.#holder === undefined || this.#hasCompany || visitor === this.#holder) return;
    this.#hasCompany = visitor.share !== this.#holder.share;
  }

  #hold(visitor: LaneVisitor): void {
    this.#holder = visitor;
    this.#since = this.#clock.monotonic();
    this.#hasCompany = false;
  }

  #release(): void {
    const tookMs = this.#clock.monotonic() - this.#since;
    this.#holder = undefined;
    if (!this.#hasCompany) {
      this.#next();
      return;
    }
    const restMs = Math.min(tookMs * heavyLimits.restFactor, heavyLimits.restMaxMs);
    this.#rest = this.#clock.schedule(restMs, () => {
      this.#rest = undefined;
      this.#next();
    });
  }

  #next(): void {
    this.#queue.admitNext((visitor) => this.#hold(visitor));
  }
}
