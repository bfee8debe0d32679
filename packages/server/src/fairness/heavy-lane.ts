/**
 * Heavy requests go one by one, over all levels: each holds the thread for some milliseconds at a time, and several at once would do so in
 * the same turn. When others are at work beside them they also rest between two for twice as long as the last one took, so that they never
 * have more than a third of the time.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { FairQueue, type Queued } from "./fair-queue.ts";
import { tooBusy } from "./too-busy.ts";

export interface HeavyVisitor {
  /** Whose share it takes. */
  readonly share: string;
  readonly signal: AbortSignal;
}

interface Entrant extends Queued {
  readonly visitor: HeavyVisitor;
  readonly go: () => void;
  readonly refuse: (error: unknown) => void;
}

/** What one flow, and all together, may have waiting. */
export const heavyLimits = {
  ofFlowMax: 100,
  ofAllMax: 1000,
  restFactor: 2,
  restMaxMs: 400,
} as const;

export class HeavyLane {
  readonly #clock: Clock;
  readonly #queue = new FairQueue<Entrant>();
  readonly #waiting = new Map<HeavyVisitor, Entrant>();
  #holder: HeavyVisitor | undefined;
  #since = 0;
  /** Somebody of another logical cluster began while this one was in. */
  #hasCompany = false;
  #rest: Timer | undefined;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  enter(cluster: string, flow: string, visitor: HeavyVisitor): Promise<void> | undefined {
    if (this.#holder === undefined && this.#rest === undefined && this.#queue.size === 0) {
      this.#hold(visitor);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => this.leave(visitor);
      const entrant: Entrant = {
        ...{ cluster, flow, cost: 1000, visitor },
        go: () => {
          visitor.signal.removeEventListener("abort", onAbort);
          resolve();
        },
        refuse: (error) => {
          visitor.signal.removeEventListener("abort", onAbort);
          reject(error);
        },
      };
      this.#queue.push(entrant);
      this.#waiting.set(visitor, entrant);
      visitor.signal.addEventListener("abort", onAbort, { once: true });
      if (visitor.signal.aborted) this.#drop(entrant, visitor.signal.reason);
      else if (this.#queue.lengthOf(entrant) > heavyLimits.ofFlowMax) this.#drop(entrant, tooBusy);
      else if (this.#queue.size > heavyLimits.ofAllMax)
        this.#drop(this.#queue.newestOfLongest() as Entrant, tooBusy);
    });
  }

  /** Done, or no longer interested. Whoever is not in here is not concerned. */
  leave(visitor: HeavyVisitor): void {
    if (this.#holder === visitor) this.#release();
    else if (this.#waiting.size > 0) {
      const entrant = this.#waiting.get(visitor);
      if (entrant !== undefined) this.#drop(entrant, visitor.signal.reason ?? tooBusy);
    }
  }

  noteBegun(visitor: HeavyVisitor): void {
    if (this.#holder === undefined || this.#hasCompany || visitor === this.#holder) return;
    this.#hasCompany = visitor.share !== this.#holder.share;
  }

  #hold(visitor: HeavyVisitor): void {
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
    const entrant = this.#queue.select();
    if (entrant === undefined) return;
    this.#queue.take(entrant);
    this.#waiting.delete(entrant.visitor);
    this.#hold(entrant.visitor);
    entrant.go();
  }

  #drop(entrant: Entrant, error: unknown): void {
    if (!this.#queue.remove(entrant)) return;
    this.#waiting.delete(entrant.visitor);
    entrant.refuse(error);
  }
}
