/**
 * StreamPacer limits the rate of streams: chunks of lists and events of watches that are ready to
 * be written.
 *
 * One change can make ten thousand watches of one tenant ready in one turn. Chunks that exceed the
 * budget of a turn are written in the following turns, shared fairly between tenants.
 */
import { EventLoopBudget, type EventLoopBudgetOptions } from "./budgets.ts";
import { FairQueue, type QueueItem } from "./fair-queue.ts";
import { eventLoopCosts } from "./limits.ts";

interface Ready extends QueueItem {
  readonly write: () => void;
}

export class StreamPacer {
  readonly #queue = new FairQueue<Ready>();
  readonly #budget: EventLoopBudget;

  constructor(options: Omit<EventLoopBudgetOptions, "onTurn">) {
    this.#budget = new EventLoopBudget({ ...options, onTurn: () => this.#writeSome() });
  }

  /** The callback that a stream calls before each chunk: see `mayWrite`. */
  paceOf(
    tenantKey: string,
    flow: string,
    microsPerByte: number = eventLoopCosts.byte,
  ): (bytes: number, write: () => void) => boolean {
    return (bytes, write) =>
      this.mayWrite(tenantKey, flow, eventLoopCosts.chunk + bytes * microsPerByte, write);
  }

  /** True when the chunk may be written now; otherwise `write` is called when it may be. */
  mayWrite(cluster: string, flow: string, cost: number, write: () => void): boolean {
    if (this.#queue.size === 0 && this.#budget.isOpen) {
      this.#budget.spend(cost);
      return true;
    }
    this.#queue.push({ cluster, flow, cost, write });
    this.#budget.wake();
    return false;
  }

  noteContention(): void {
    this.#budget.noteContention();
  }

  #writeSome(): boolean {
    while (this.#budget.isOpen) {
      const ready = this.#queue.select();
      if (ready === undefined) return false;
      this.#queue.take(ready);
      this.#budget.spend(ready.cost);
      ready.write();
    }
    return this.#queue.size > 0;
  }
}
