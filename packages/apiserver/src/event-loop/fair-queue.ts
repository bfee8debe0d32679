/**
 * FairQueue: orders waiting items so that no logical cluster waits for the whole queue of another
 * cluster.
 *
 *     cluster a ─ user 1: x x x x x x x     deficit round robin over clusters: each visit allows one quantum of cost
 *               └ user 2: x                 round robin over the flows of a cluster
 *     cluster b ─ user 3: x                 first in, first out within a flow
 *
 * Clusters are the first level, because a tenant can create any number of users. Only clusters with
 * waiting items have state here: an idle cluster costs nothing.
 */
export interface QueueItem {
  readonly cluster: string;
  /** The flow within the cluster: a user or a namespace. */
  readonly flow: string;
  /** The estimated cost of serving the item, in microseconds. */
  readonly cost: number;
}

/** The cost that one visit of a cluster allows, in microseconds. */
const quantum = 200;
/**
 * The highest cost that counts for one item, so that `select` needs few visits, however high the
 * estimate is.
 */
const costMax = 50 * quantum;

export class FairQueue<Item extends QueueItem> {
  /** The clusters in the order in which they are visited. */
  readonly #clusters = new Map<string, ClusterQueue<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of clusters with waiting items. */
  get clusterCount(): number {
    return this.#clusters.size;
  }

  push(item: Item): void {
    let cluster = this.#clusters.get(item.cluster);
    if (cluster === undefined) {
      cluster = { deficit: 0, isVisited: false, size: 0, flows: new Map() };
      this.#clusters.set(item.cluster, cluster);
    }
    const flow = cluster.flows.get(item.flow);
    if (flow === undefined) cluster.flows.set(item.flow, new Flow(item));
    else flow.add(item);
    cluster.size++;
    this.#size++;
  }

  /** Removes an item that is canceled, or that `select` has returned. */
  remove(item: Item): boolean {
    const cluster = this.#clusters.get(item.cluster);
    const flow = cluster?.flows.get(item.flow);
    if (cluster === undefined || flow === undefined || !flow.delete(item)) return false;
    this.#size--;
    cluster.size--;
    if (flow.size === 0) cluster.flows.delete(item.flow);
    if (cluster.size === 0) this.#clusters.delete(item.cluster);
    return true;
  }

  /**
   * Returns the next item. The item stays in the queue until `take`, so a caller that cannot serve
   * it yet gets the same item again.
   */
  select(): Item | undefined {
    for (;;) {
      const first = firstOf(this.#clusters);
      if (first === undefined) return undefined;
      const [name, cluster] = first;
      const item = headOf(cluster);
      if (this.#clusters.size === 1) return item;
      if (!cluster.isVisited) cluster.deficit += quantum;
      cluster.isVisited = true;
      if (cluster.deficit >= Math.min(item.cost, costMax)) return item;
      cluster.isVisited = false;
      this.#clusters.delete(name);
      this.#clusters.set(name, cluster);
    }
  }

  /**
   * Removes the item that `select` has returned; the next cluster is visited when this one has used
   * its quantum.
   */
  take(item: Item): void {
    const cluster = this.#clusters.get(item.cluster) as ClusterQueue<Item>;
    const flow = cluster.flows.get(item.flow) as Flow<Item>;
    cluster.deficit = Math.max(0, cluster.deficit - Math.min(item.cost, costMax));
    // The flow moves behind the other flows of its cluster.
    cluster.flows.delete(item.flow);
    cluster.flows.set(item.flow, flow);
    this.remove(item);
  }

  lengthOf({ cluster, flow }: Pick<QueueItem, "cluster" | "flow">): number {
    return this.#clusters.get(cluster)?.flows.get(flow)?.size ?? 0;
  }

  lengthOfCluster(cluster: string): number {
    return this.#clusters.get(cluster)?.size ?? 0;
  }

  /**
   * The newest item of the cluster with the longest queue: the item to evict when the queue is
   * full.
   */
  newestOfLongest(): Item | undefined {
    let longest: ClusterQueue<Item> | undefined;
    for (const cluster of this.#clusters.values())
      if (longest === undefined || cluster.size > longest.size) longest = cluster;
    if (longest === undefined) return undefined;
    let flow: Flow<Item> | undefined;
    for (const each of longest.flows.values())
      if (flow === undefined || each.size > flow.size) flow = each;
    let newest: Item | undefined;
    for (const item of flow?.items ?? []) newest = item;
    return newest;
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const { flows } of this.#clusters.values())
      for (const { items } of flows.values()) yield* items;
  }
}

interface ClusterQueue<Item> {
  /** The cost that the cluster may still use in this visit. */
  deficit: number;
  /** Whether the cluster is being visited, and has received its quantum. */
  isVisited: boolean;
  size: number;
  /** The flows in the order in which they are served. */
  readonly flows: Map<string, Flow<Item>>;
}

/**
 * The waiting items of one flow in the order of arrival; never empty.
 *
 * The flow keeps one iterator: an iteration from the beginning of a set would step over every item
 * that was removed before.
 */
class Flow<Item> {
  readonly items: Set<Item>;
  readonly #rest: Iterator<Item>;
  head: Item;

  constructor(first: Item) {
    this.items = new Set([first]);
    this.#rest = this.items.values();
    this.head = this.#rest.next().value as Item;
  }

  get size(): number {
    return this.items.size;
  }

  add(item: Item): void {
    this.items.add(item);
  }

  delete(item: Item): boolean {
    if (!this.items.delete(item)) return false;
    if (item === this.head && this.items.size > 0) this.head = this.#rest.next().value as Item;
    return true;
  }
}

function firstOf<Value>(map: ReadonlyMap<string, Value>): [string, Value] | undefined {
  return map.entries().next().value;
}

function headOf<Item>({ flows }: ClusterQueue<Item>): Item {
  const [, flow] = firstOf(flows) as [string, Flow<Item>];
  return flow.head;
}
