/**
 * RoundRobinQueue: waiting items, one of each logical cluster in turn, and those of one cluster in
 * the order of arrival.
 */
import { SlotSet } from "@kcp-ts/machinery/base";

export class RoundRobinQueue<Item> {
  /**
   * The first cluster is next. A cluster whose items were all removed stays until it is found
   * empty.
   */
  readonly #queuesByCluster = new Map<string, SlotSet<Item>>();

  /** Returns a function that removes the item. */
  add(cluster: string, item: Item): () => void {
    const queue = this.#queuesByCluster.get(cluster) ?? new SlotSet<Item>();
    this.#queuesByCluster.set(cluster, queue);
    return queue.add(item);
  }

  next(): Item | undefined {
    for (const [cluster, queue] of this.#queuesByCluster) {
      this.#queuesByCluster.delete(cluster);
      const item = queue.shift();
      if (item === undefined) continue;
      if (queue.size > 0) this.#queuesByCluster.set(cluster, queue);
      return item;
    }
    return undefined;
  }
}
