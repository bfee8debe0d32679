/** The sources of one resource, one for each member of a ClusterSet, as one source. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type {
  HandlerRegistration,
  Indexers,
  IndexLookup,
  InformerHandler,
  ObjectKey,
  ObjectStore,
  StoreFilter,
} from "../informer/index.ts";
import type { ObjectSource } from "./clusters.ts";

interface Subscription<Cached> {
  readonly handler: InformerHandler<Cached>;
  readonly registrations: Map<string, HandlerRegistration>;
}

/** The member's source, which gets these indexers in addition to those that it has. */
type GetSource<Cached> = (indexers?: Indexers<Cached>) => ObjectSource<Cached>;
type NameOf = (cluster: ClusterName) => string;

export class ClusterSetSource<Cached> implements ObjectSource<Cached> {
  readonly store: ObjectStore<Cached>;
  readonly #nameOf: NameOf;
  readonly #members = new Map<string, GetSource<Cached>>();
  readonly #sources = new Map<string, ObjectSource<Cached>>();
  readonly #subscriptions = new Set<Subscription<Cached>>();
  readonly #indexers: Indexers<Cached>[] = [];

  constructor(nameOf: NameOf) {
    this.#nameOf = nameOf;
    this.store = new ClusterSetStore(this.#sources, nameOf);
  }

  addMember(name: string, get: GetSource<Cached>): void {
    this.#members.set(name, get);
    const source = get();
    for (const indexers of this.#indexers) get(indexers);
    this.#sources.set(name, source);
    for (const { handler, registrations } of this.#subscriptions) {
      registrations.set(name, source.addHandler(handler));
    }
  }

  removeMember(name: string): void {
    this.#members.delete(name);
    this.#sources.delete(name);
    for (const { registrations } of this.#subscriptions) {
      registrations.get(name)?.remove();
      registrations.delete(name);
    }
  }

  addHandler(handler: InformerHandler<Cached>): HandlerRegistration {
    const subscription: Subscription<Cached> = { handler, registrations: new Map() };
    this.#subscriptions.add(subscription);
    for (const [name, source] of this.#sources) {
      subscription.registrations.set(name, source.addHandler(handler));
    }
    return {
      remove: () => {
        this.#subscriptions.delete(subscription);
        for (const registration of subscription.registrations.values()) registration.remove();
      },
    };
  }

  seenVersion(cluster: ClusterName): string | undefined {
    return this.#sources.get(this.#nameOf(cluster))?.seenVersion?.(cluster);
  }

  addIndexers(indexers: Indexers<Cached>): void {
    this.#indexers.push(indexers);
    for (const get of this.#members.values()) get(indexers);
  }
}

class ClusterSetStore<Cached> implements ObjectStore<Cached> {
  readonly #sources: ReadonlyMap<string, ObjectSource<Cached>>;
  readonly #nameOf: NameOf;

  constructor(sources: ReadonlyMap<string, ObjectSource<Cached>>, nameOf: NameOf) {
    this.#sources = sources;
    this.#nameOf = nameOf;
  }

  get size(): number {
    return this.#stores().reduce((total, { size }) => total + size, 0);
  }

  get(key: ObjectKey): Cached | undefined {
    return this.#sources.get(this.#nameOf(key.cluster))?.store.get(key);
  }

  has(key: ObjectKey): boolean {
    return this.#sources.get(this.#nameOf(key.cluster))?.store.has(key) ?? false;
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
    if (cluster === undefined) return [...this.#sources.values()].map(({ store }) => store);
    const source = this.#sources.get(this.#nameOf(cluster));
    return source === undefined ? [] : [source.store];
  }
}
