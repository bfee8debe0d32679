/**
 * Store: the cached objects of an informer by key, and by the indexes that the program declares.
 *
 * Stored objects are shared and must not be changed. Of a large store only some are kept as
 * JavaScript objects, all others packed (object-table.ts): reading a key twice may return two equal
 * objects. Indexes are per cluster unless declared otherwise, so that a lookup for one tenant
 * cannot return another tenant's objects by a forgotten condition.
 */
import { assert } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { MemoryAccount } from "../client/index.ts";
import { ObjectCharges } from "./object-charges.ts";
import { formatKey, type ObjectKey, parseKey } from "./object-key.ts";
import { ObjectTable } from "./object-table.ts";

export interface ObjectStore<Cached> {
  readonly size: number;
  get(key: ObjectKey): Cached | undefined;
  has(key: ObjectKey): boolean;
  /**
   * All objects, or those of one cluster, or of one namespace of it; iterates over the full store.
   */
  list(filter?: StoreFilter): Cached[];
  entries(): IterableIterator<[ObjectKey, Cached]>;
  byIndex(index: string, lookup: IndexLookup): Cached[];
  keysByIndex(index: string, lookup: IndexLookup): ObjectKey[];
}

export interface StoreFilter {
  readonly cluster: ClusterName;
  readonly namespace?: string;
}

export interface IndexLookup {
  /** Omitted only for an index that was declared `acrossClusters`. */
  readonly cluster?: ClusterName;
  readonly value: string;
}

export interface Indexer<Cached> {
  readonly acrossClusters?: boolean;
  /** The index values of an object. Must depend only on the object and its key. */
  readonly values: (object: Cached, key: ObjectKey) => readonly string[];
}

export type Indexers<Cached> = Readonly<Record<string, Indexer<Cached>>>;

interface Index<Cached> {
  readonly indexer: Indexer<Cached>;
  /** Most values have one object: a set for each value would cost more than the objects. */
  readonly keys: Map<string, string | Set<string>>;
}

export class IndexedStore<Cached> implements ObjectStore<Cached> {
  readonly #liveMax: number;
  #objects: ObjectTable<Cached>;
  readonly #indexes = new Map<string, Index<Cached>>();

  /** With an account, an object that it has no room for is not stored: an error is thrown. */
  constructor(liveMax: number, account?: MemoryAccount) {
    this.#liveMax = liveMax;
    this.#objects = new ObjectTable(liveMax, account && new ObjectCharges(account));
  }

  /** The account has the memory back. */
  releaseMemory(): void {
    this.#objects.charges?.clear();
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): Cached | undefined {
    return this.#objects.get(formatKey(key));
  }

  has(key: ObjectKey): boolean {
    return this.#objects.has(formatKey(key));
  }

  list(filter?: StoreFilter): Cached[] {
    const found: Cached[] = [];
    if (filter === undefined) {
      for (const [, object] of this.#objects.entries()) found.push(object);
      return found;
    }
    const { cluster, namespace } = filter;
    const prefix = namespace === undefined ? `${cluster}|` : `${cluster}|${namespace}/`;
    for (const key of this.#objects.keys()) {
      if (key.startsWith(prefix)) found.push(this.#objects.get(key) as Cached);
    }
    return found;
  }

  *entries(): IterableIterator<[ObjectKey, Cached]> {
    for (const [key, object] of this.#objects.entries()) yield [parseKey(key), object];
  }

  byIndex(index: string, lookup: IndexLookup): Cached[] {
    return this.#lookUp(index, lookup).map((key) => this.#objects.get(key) as Cached);
  }

  keysByIndex(index: string, lookup: IndexLookup): ObjectKey[] {
    return this.#lookUp(index, lookup).map(parseKey);
  }

  /**
   * Several users of a shared store may add the same indexer; another indexer with the same name is
   * a bug.
   */
  addIndexers(indexers: Indexers<Cached>): void {
    for (const [name, indexer] of Object.entries(indexers)) {
      const known = this.#indexes.get(name)?.indexer;
      if (known === indexer) continue;
      assert(known === undefined, `index ${name} exists already and is another one`);
      const index = { indexer, keys: new Map() };
      this.#indexes.set(name, index);
      for (const [text, object] of this.#objects.entries()) addToIndex(index, text, object);
    }
  }

  /** Looks up by the key's text, which the informer already has. */
  peek(text: string): Cached | undefined {
    return this.#objects.get(text);
  }

  /** `previous` is the result of `peek`. */
  put(text: string, object: Cached, previous: Cached | undefined): void {
    this.#objects.setRecent(text, object);
    if (previous !== undefined) this.#unindex(text, previous);
    for (const index of this.#indexes.values()) addToIndex(index, text, object);
  }

  remove(text: string): boolean {
    const previous = this.#indexes.size === 0 ? undefined : this.#objects.get(text);
    if (previous !== undefined) this.#unindex(text, previous);
    return this.#objects.delete(text);
  }

  /** An empty table for the next state, into which unchanged objects of this one are moved. */
  nextTable(): ObjectTable<Cached> {
    return new ObjectTable(this.#liveMax, this.#objects.charges?.next());
  }

  /** The object at `text` is unchanged: the next state has the identical one. */
  carryOver(text: string, next: ObjectTable<Cached>): void {
    next.adopt(text, this.#objects);
  }

  /** Replaces the complete state by `next` at once, and returns the previous one. */
  replace(next: ObjectTable<Cached>): ObjectTable<Cached> {
    const previous = this.#objects;
    this.#objects = next;
    next.charges?.replaceCurrent();
    for (const index of this.#indexes.values()) index.keys.clear();
    if (this.#indexes.size === 0) return previous;
    for (const [text, object] of next.entries()) {
      for (const index of this.#indexes.values()) addToIndex(index, text, object);
    }
    return previous;
  }

  #unindex(text: string, object: Cached): void {
    for (const { indexer, keys } of this.#indexes.values()) {
      for (const value of indexValues(indexer, text, object)) {
        const found = keys.get(value);
        if (found === text) keys.delete(value);
        else if (found instanceof Set) {
          found.delete(text);
          if (found.size === 0) keys.delete(value);
        }
      }
    }
  }

  #lookUp(name: string, { cluster, value }: IndexLookup): string[] {
    const index = this.#indexes.get(name);
    assert(index !== undefined, `there is no index ${name}`);
    const isAcross = index.indexer.acrossClusters === true;
    assert(isAcross === (cluster === undefined), `index ${name} is asked for the wrong scope`);
    const found = index.keys.get(cluster === undefined ? value : `${cluster}|${value}`);
    if (found === undefined) return [];
    return typeof found === "string" ? [found] : [...found];
  }
}

function addToIndex<Cached>(index: Index<Cached>, text: string, object: Cached): void {
  for (const value of indexValues(index.indexer, text, object)) {
    const found = index.keys.get(value);
    if (found === undefined) index.keys.set(value, text);
    else if (typeof found !== "string") found.add(text);
    else if (found !== text) index.keys.set(value, new Set([found, text]));
  }
}

function indexValues<Cached>(indexer: Indexer<Cached>, text: string, object: Cached): string[] {
  const key = parseKey(text);
  const values = indexer.values(object, key);
  return indexer.acrossClusters === true
    ? [...values]
    : values.map((value) => `${key.cluster}|${value}`);
}

/** Objects by namespace: `byIndex("namespace", { cluster, value: namespace })`. */
export const byNamespace = {
  namespace: { values: (_object: unknown, key: ObjectKey) => [key.namespace] },
} as const satisfies Indexers<unknown>;
