/**
 * Who is next: things that wait, ordered so that no logical cluster waits for another's whole queue.
 *
 *     cluster a ─ user 1: x x x x x x x     deficit round robin over clusters: each visit allows one quantum of cost
 *               └ user 2: x                 round robin over the flows of a cluster
 *     cluster b ─ user 3: x                 first in, first out within a flow
 *
 * Clusters come first, because a tenant makes as many users as it likes. What is not waiting is not known here: an idle cluster costs
 * nothing.
 */
export interface QueueItem {
  readonly cluster: string;
  /** Within the cluster: a user or a namespace. */
  readonly flow: string;
  /** What serving it takes, in microseconds as estimated. */
  readonly cost: number;
}

/** What a cluster may be served at one visit, in microseconds. */
const quantum = 200;
/** The most that one thing counts for, so that choosing stays cheap whatever was estimated. */
const costMax = 50 * quantum;

export class FairQueue<Item extends QueueItem> {
  /** In the order of their turns. */
  readonly #clusters = new Map<string, ClusterQueue<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Clusters of which something waits. */
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

  /** Takes out what no longer wants to wait, or what `select` gave. */
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

  /** The next in turn. It stays until `take`, so that a caller who cannot serve it yet gets the same one again. */
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

  /** Takes what `select` gave; the turn passes on when its cluster has had its share. */
  take(item: Item): void {
    const cluster = this.#clusters.get(item.cluster) as ClusterQueue<Item>;
    const flow = cluster.flows.get(item.flow) as Flow<Item>;
    cluster.deficit = Math.max(0, cluster.deficit - Math.min(item.cost, costMax));
    // The flow goes behind the others of its cluster.
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

  /** The newest of the cluster of which most waits: who gives way when there is no room for more. */
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
  /** Cost that it may still be served in this visit. */
  deficit: number;
  /** It has the turn, and its share for it. */
  isVisited: boolean;
  size: number;
  /** In the order of their turns. */
  readonly flows: Map<string, Flow<Item>>;
}

/**
 * What waits of one flow, in the order of arrival; never nothing.
 *
 * It goes on where it was: looked at from its beginning, a set of which thousands were taken shows its gaps one by one.
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
