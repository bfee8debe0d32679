/**
 * Detects that most new names do not exist, so that a create in a busy collection need not read the
 * engine.
 *
 *     misses in a collection are counted -> many: its keys are read in the background -> other keys are absent
 *
 * The set of a collection has every existing key, and may have others: deleted ones, and those with
 * the same hash. So it can prove "absent", and never "present". This holds because the set is
 * started between two batches, every key that is created from then on is added before it is
 * written, and the keys are read from a state no older than that. An optimisation only: dropping
 * any of it at any time is correct.
 */
import type { StorageKey } from "../key.ts";
import type { EngineView } from "./engine.ts";
import { HashSet32 } from "./hash-set.ts";
import { newestRange } from "./layout.ts";

export interface NegativeLookupLimits {
  /** The number of misses after which the keys of a collection are read. */
  readonly missesMin: number;
  /** Collections with more keys are not tracked. */
  readonly keysMax: number;
}

const defaultLimits: NegativeLookupLimits = { missesMin: 512, keysMax: 1 << 18 };

/** The number of counted or tracked collections; the oldest is evicted. */
const collectionsMax = 16;
const keysPerSlice = 1000;

interface Collection {
  misses: number;
  /** Set since the begin of the read of its keys. */
  keys: HashSet32 | undefined;
  isComplete: boolean;
}

export class NegativeLookupFilter {
  readonly #limits: NegativeLookupLimits;
  readonly #collections = new Map<string, Collection>();
  /** Collections with enough misses whose keys are not being read yet. */
  readonly #dueCollections: string[] = [];

  constructor(limits: NegativeLookupLimits = defaultLimits) {
    this.#limits = limits;
  }

  /**
   * True when the key certainly does not exist in the acknowledged state; false when that is
   * unknown.
   */
  isAbsent(key: StorageKey): boolean {
    const split = key.lastIndexOf("/") + 1;
    const collection = this.#collections.get(key.slice(0, split));
    if (collection?.isComplete !== true) return false;
    return collection.keys?.has(hashOf(key, split)) === false;
  }

  /** Called before a key that did not exist is written. */
  noteCreate(key: StorageKey): void {
    const split = key.lastIndexOf("/") + 1;
    const prefix = key.slice(0, split);
    const collection = this.#collections.get(prefix);
    if (collection?.keys === undefined) return;
    // Many of the keys may be deleted by now: the set is rebuilt.
    if (!collection.keys.add(hashOf(key, split))) this.#collections.delete(prefix);
  }

  /** Called when the engine did not find this key. */
  noteMiss(key: StorageKey): void {
    const prefix = key.slice(0, key.lastIndexOf("/") + 1);
    const collection = this.#collections.get(prefix) ?? this.#track(prefix);
    if (++collection.misses === this.#limits.missesMin) this.#dueCollections.push(prefix);
  }

  /**
   * Called between batches, when the engine has all accepted writes: starts reading the keys of due
   * collections.
   */
  loadDueCollections(engine: () => EngineView): void {
    for (const prefix of this.#dueCollections.splice(0)) {
      const collection = this.#collections.get(prefix);
      if (collection === undefined) continue;
      collection.keys = new HashSet32(this.#limits.keysMax);
      this.#loadKeys(prefix as StorageKey, collection, collection.keys, engine()).catch(() => {
        // The next read or write reports the engine's error; here the set is only dropped.
        if (this.#collections.get(prefix) === collection) this.#collections.delete(prefix);
      });
    }
  }

  clear(): void {
    this.#collections.clear();
    this.#dueCollections.length = 0;
  }

  #track(prefix: string): Collection {
    const [oldest] = this.#collections.keys();
    if (this.#collections.size >= collectionsMax && oldest !== undefined)
      this.#collections.delete(oldest);
    const collection: Collection = { misses: 0, keys: undefined, isComplete: false };
    this.#collections.set(prefix, collection);
    return collection;
  }

  async #loadKeys(
    prefix: StorageKey,
    collection: Collection,
    keys: HashSet32,
    engine: EngineView,
  ): Promise<void> {
    const cursor = engine.scan({ ...newestRange(prefix, undefined), keysOnly: true });
    const isWanted = () => this.#collections.get(prefix) === collection;
    const split = prefix.length + 1;
    try {
      let slice = await cursor.next(keysPerSlice);
      while (slice.length > 0 && isWanted()) {
        for (const [key] of slice) {
          // Too many keys: the collection stays counted and is not read again, until it is evicted.
          if (keys.add(hashOf(key, split))) continue;
          collection.keys = undefined;
          return;
        }
        slice = await cursor.next(keysPerSlice);
      }
      collection.isComplete = isWanted();
    } finally {
      await cursor.close();
    }
  }
}

/** The hash of the key after the prefix (FNV-1a with a final mix). */
function hashOf(key: string, from: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < key.length; at++)
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
