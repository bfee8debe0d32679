/**
 * ReadyList: the items that are ready to be processed, highest priority first; within a priority,
 * flows take turns; within a flow, first come first served.
 *
 *     priority 0     turns: [tenant-b, tenant-a]     tenant-a: [x, y, z, …]   tenant-b: [p]
 *     priority -100  turns: [tenant-a]               tenant-a: [q]
 *
 * By taking turns, a tenant that changes ten thousand objects does not delay a tenant that changes
 * a single one.
 */
import { Fifo } from "./fifo.ts";

/**
 * An entry of the list. It is emptied instead of searched for when its item moves to another
 * priority.
 */
export interface Slot<Item> {
  item: Item | undefined;
}

interface Level<Item> {
  readonly priority: number;
  readonly flows: Map<string, Fifo<Slot<Item>>>;
  readonly turns: Fifo<string>;
}

export class ReadyList<Item> {
  /** Few, in descending order of priority. */
  #levels: Level<Item>[] = [];

  push(item: Item, { priority, flow }: { priority: number; flow: string }): Slot<Item> {
    const level = this.#level(priority);
    const slot: Slot<Item> = { item };
    const queue = level.flows.get(flow);
    if (queue !== undefined) {
      queue.push(slot);
      return slot;
    }
    const fresh = new Fifo<Slot<Item>>();
    fresh.push(slot);
    level.flows.set(flow, fresh);
    level.turns.push(flow);
    return slot;
  }

  shift(): Item | undefined {
    for (let level = this.#levels[0]; level !== undefined; level = this.#levels[0]) {
      for (let flow = level.turns.shift(); flow !== undefined; flow = level.turns.shift()) {
        const item = nextOf(level.flows.get(flow));
        if ((level.flows.get(flow)?.length ?? 0) > 0) level.turns.push(flow);
        else level.flows.delete(flow);
        if (item !== undefined) return item;
      }
      this.#levels.shift();
    }
    return undefined;
  }

  #level(priority: number): Level<Item> {
    let at = 0;
    for (; at < this.#levels.length; at++) {
      const level = this.#levels[at] as Level<Item>;
      if (level.priority === priority) return level;
      if (level.priority < priority) break;
    }
    const level = { priority, flows: new Map(), turns: new Fifo<string>() };
    this.#levels.splice(at, 0, level);
    return level;
  }
}

function nextOf<Item>(queue: Fifo<Slot<Item>> | undefined): Item | undefined {
  for (let slot = queue?.shift(); slot !== undefined; slot = queue?.shift()) {
    if (slot.item !== undefined) return slot.item;
  }
  return undefined;
}
