/** What waits, in the order of its turns: one of each logical cluster after the other, and those of one in the order in which they came. */
import { SlotSet } from "@kcp-ts/machinery/base";

export class RoundRobinQueue<Item> {
  /** Whoever is first is next. One that all have left stays until it is found empty. */
  readonly #ofClusters = new Map<string, SlotSet<Item>>();

  /** Returns what gives the place up again. */
  add(cluster: string, item: Item): () => void {
    const queue = this.#ofClusters.get(cluster) ?? new SlotSet<Item>();
    this.#ofClusters.set(cluster, queue);
    return queue.add(item);
  }

  next(): Item | undefined {
    for (const [cluster, queue] of this.#ofClusters) {
      this.#ofClusters.delete(cluster);
      const item = queue.shift();
      if (item === undefined) continue;
      if (queue.size > 0) this.#ofClusters.set(cluster, queue);
      return item;
    }
    return undefined;
  }
}
