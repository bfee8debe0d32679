/**
 * The pace of streams: chunks of lists and events of watches that are ready to be written.
 *
 * One change can wake ten thousand watches of one tenant in one turn. What a turn has no room for is
 * written in the next ones, each tenant getting its share of them.
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

  /** To be asked before each chunk of a stream: see `mayWrite`. */
  paceOf(
    tenantKey: string,
    flow: string,
    microsPerByte: number = eventLoopCosts.byte,
  ): (bytes: number, write: () => void) => boolean {
    return (bytes, write) =>
      this.mayWrite(tenantKey, flow, eventLoopCosts.chunk + bytes * microsPerByte, write);
  }

  /** True when it may be written now; else `write` is called when it may. */
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
