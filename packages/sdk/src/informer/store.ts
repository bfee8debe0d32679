/**
 * What an informer knows: objects by key, and by whatever the program asked to have indexed.
 *
 * Objects in it are shared and must not be changed. Of a big store only some are kept as objects, all others packed (object-table.ts): asking twice
 * may give two equal objects. Indexes are per cluster unless declared otherwise, so that a lookup for one
 * tenant cannot return another's objects by forgetting a condition.
 */
import { assert } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatKey, type ObjectKey, parseKey } from "./object-key.ts";
import { ObjectTable } from "./object-table.ts";

export interface ObjectStore<Cached> {
  readonly size: number;
  get(key: ObjectKey): Cached | undefined;
  has(key: ObjectKey): boolean;
  /** All objects, or those of one cluster, or of one namespace of it; walks everything. */
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
  /** Left out only for an index that was declared `acrossClusters`. */
  readonly cluster?: ClusterName;
  readonly value: string;
}

export interface Indexer<Cached> {
  readonly acrossClusters?: boolean;
  /** The values under which an object is found. Must depend on nothing but the object and its key. */
  readonly values: (object: Cached, key: ObjectKey) => readonly string[];
}

export type Indexers<Cached> = Readonly<Record<string, Indexer<Cached>>>;

interface Index<Cached> {
  readonly indexer: Indexer<Cached>;
  /** Most values have one object: a set for each would cost more than the objects. */
  readonly keys: Map<string, string | Set<string>>;
}

export class IndexedStore<Cached> implements ObjectStore<Cached> {
  readonly #liveMax: number;
  #objects: ObjectTable<Cached>;
  readonly #indexes = new Map<string, Index<Cached>>();

  constructor(liveMax: number) {
    this.#liveMax = liveMax;
    this.#objects = new ObjectTable(liveMax);
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

  /** The same indexer may be added by several users of a shared store; another one under its name is a bug. */
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

  /** By the key's text, which the informer has at hand. */
  peek(text: string): Cached | undefined {
    return this.#objects.get(text);
  }

  /** `previous` is what `peek` says is there. */
  put(text: string, object: Cached, previous: Cached | undefined): void {
    if (previous !== undefined) this.#unindex(text, previous);
    this.#objects.set(text, object);
    for (const index of this.#indexes.values()) addToIndex(index, text, object);
  }

  remove(text: string): boolean {
    const previous = this.#indexes.size === 0 ? undefined : this.#objects.get(text);
    if (previous !== undefined) this.#unindex(text, previous);
    return this.#objects.delete(text);
  }

  /** An empty table for the next state, which takes over what has not changed from this one. */
  nextTable(): ObjectTable<Cached> {
    return new ObjectTable(this.#liveMax);
  }

  /** The object at `text` has not changed: the next state has the same. */
  carryOver(text: string, next: ObjectTable<Cached>): void {
    next.adopt(text, this.#objects);
  }

  /** Takes `next` as the whole truth at once, and hands back what it replaces. */
  replace(next: ObjectTable<Cached>): ObjectTable<Cached> {
    const previous = this.#objects;
    this.#objects = next;
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
