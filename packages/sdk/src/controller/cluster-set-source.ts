/** The informers of one resource, one for each cluster of a ClusterSet, as one source. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { KubernetesObject } from "../client/index.ts";
import type {
  HandlerRegistration,
  Indexers,
  IndexLookup,
  Informer,
  InformerHandler,
  ObjectKey,
  ObjectStore,
  StoreFilter,
} from "../informer/index.ts";
import type { ObjectSource } from "./clusters.ts";

interface Subscription<Cached> {
  readonly handler: InformerHandler<Cached>;
  readonly registrations: Map<ClusterName, HandlerRegistration>;
}

export class ClusterSetSource<Cached> implements ObjectSource<Cached> {
  readonly store: ObjectStore<Cached>;
  readonly #informers = new Map<ClusterName, Informer<KubernetesObject, Cached>>();
  readonly #subscriptions = new Set<Subscription<Cached>>();
  readonly #indexers: Indexers<Cached>[] = [];

  constructor() {
    this.store = new ClusterSetStore(this.#informers);
  }

  addCluster(cluster: ClusterName, informer: Informer<KubernetesObject, Cached>): void {
    for (const indexers of this.#indexers) informer.addIndexers(indexers);
    this.#informers.set(cluster, informer);
    for (const { handler, registrations } of this.#subscriptions) {
      registrations.set(cluster, informer.addHandler(handler));
    }
  }

  removeCluster(cluster: ClusterName): void {
    this.#informers.delete(cluster);
    for (const { registrations } of this.#subscriptions) {
      registrations.get(cluster)?.remove();
      registrations.delete(cluster);
    }
  }

  addHandler(handler: InformerHandler<Cached>): HandlerRegistration {
    const subscription: Subscription<Cached> = { handler, registrations: new Map() };
    this.#subscriptions.add(subscription);
    for (const [cluster, informer] of this.#informers) {
      subscription.registrations.set(cluster, informer.addHandler(handler));
    }
    return {
      remove: () => {
        this.#subscriptions.delete(subscription);
        for (const registration of subscription.registrations.values()) registration.remove();
      },
    };
  }

  seenVersion(cluster: ClusterName): string | undefined {
    return this.#informers.get(cluster)?.seenVersion();
  }

  addIndexers(indexers: Indexers<Cached>): void {
    this.#indexers.push(indexers);
    for (const informer of this.#informers.values()) informer.addIndexers(indexers);
  }
}

class ClusterSetStore<Cached> implements ObjectStore<Cached> {
  readonly #informers: ReadonlyMap<ClusterName, Informer<KubernetesObject, Cached>>;

  constructor(informers: ReadonlyMap<ClusterName, Informer<KubernetesObject, Cached>>) {
    this.#informers = informers;
  }

  get size(): number {
    return this.#stores().reduce((total, { size }) => total + size, 0);
  }

  get(key: ObjectKey): Cached | undefined {
    return this.#informers.get(key.cluster)?.store.get(key);
  }

  has(key: ObjectKey): boolean {
    return this.#informers.get(key.cluster)?.store.has(key) ?? false;
  }

  list(filter?: StoreFilter): Cached[] {
    return this.#stores(filter?.cluster).flatMap((store) => store.list(filter));
  }

  *entries(): IterableIterator<[ObjectKey, Cached]> {
    for (const store of this.#stores()) yield* store.entries();
  }

  byIndex(index: string, lookup: IndexLookup): Cached[] {
    return this.#stores(lookup.cluster).flatMap((store) => store.byIndex(index, lookup));
  }

  keysByIndex(index: string, lookup: IndexLookup): ObjectKey[] {
    return this.#stores(lookup.cluster).flatMap((store) => store.keysByIndex(index, lookup));
  }

  #stores(cluster?: ClusterName): ObjectStore<Cached>[] {
    if (cluster === undefined) return [...this.#informers.values()].map(({ store }) => store);
    const informer = this.#informers.get(cluster);
    return informer === undefined ? [] : [informer.store];
  }
}
