/** Those who wait at the door of a lane, in fair order, until it is their turn or they leave. Bounded for one flow and for all. */
import { FairQueue, type Queued } from "./fair-queue.ts";
import { tooBusy } from "./too-busy.ts";

export interface LaneVisitor {
  /** Whose share it takes. */
  readonly share: string;
  readonly signal: AbortSignal;
}

interface Entrant<Visitor> extends Queued {
  readonly visitor: Visitor;
  readonly go: () => void;
  readonly refuse: (error: unknown) => void;
}

/** What one flow, and all together, may have waiting. */
export const laneLimits = { ofFlowMax: 100, ofAllMax: 1000 } as const;

export class LaneQueue<Visitor extends LaneVisitor> {
  readonly #queue = new FairQueue<Entrant<Visitor>>();
  readonly #waiting = new Map<Visitor, Entrant<Visitor>>();
  readonly #limits: { readonly ofFlowMax: number; readonly ofAllMax: number };

  constructor(limits: { readonly ofFlowMax: number; readonly ofAllMax: number } = laneLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#queue.size;
  }

  wait(cluster: string, flow: string, visitor: Visitor): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => this.leave(visitor);
      const entrant: Entrant<Visitor> = {
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
      else if (this.#queue.lengthOf(entrant) > this.#limits.ofFlowMax) this.#drop(entrant, tooBusy);
      else if (this.#queue.size > this.#limits.ofAllMax)
        this.#drop(this.#queue.newestOfLongest() as Entrant<Visitor>, tooBusy);
    });
  }

  /** Takes out whoever is next. `enter` is called before they go on. */
  admitNext(enter: (visitor: Visitor) => void): void {
    const entrant = this.#queue.select();
    if (entrant === undefined) return;
    this.#queue.take(entrant);
    this.#waiting.delete(entrant.visitor);
    enter(entrant.visitor);
    entrant.go();
  }

  /** No longer interested. Whoever does not wait here is not concerned. */
  leave(visitor: Visitor): void {
    if (this.#waiting.size === 0) return;
    const entrant = this.#waiting.get(visitor);
    if (entrant !== undefined) this.#drop(entrant, visitor.signal.reason ?? tooBusy);
  }

  #drop(entrant: Entrant<Visitor>, error: unknown): void {
    if (!this.#queue.remove(entrant)) return;
    this.#waiting.delete(entrant.visitor);
    entrant.refuse(error);
  }
}
