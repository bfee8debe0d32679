/**
 * Knows of most new names that nobody has them, so that a create in a busy collection need not ask the engine.
 *
 *     misses in a collection are counted -> many: its keys are read in the background -> what is not among them is absent
 *
 * The set of a collection holds every key that exists, and may hold others: those that were deleted since, and those that share a hash. So it can
 * say "absent" for certain, and never "present". It stays so because it is begun between two batches, everything that is created from then on is
 * added before it is written, and the keys are read from a state no older than that. An optimisation only: dropping any of it at any time is correct.
 */
import type { StorageKey } from "../key.ts";
import type { EngineView } from "./engine.ts";
import { HashSet32 } from "./hash-set.ts";
import { newestRange } from "./layout.ts";

export interface NegativeLookupLimits {
  /** The engine is asked so often for nothing before the keys of a collection are worth reading. */
  readonly missesMin: number;
  /** Collections with more keys than this are not remembered. */
  readonly keysMax: number;
}

const defaultLimits: NegativeLookupLimits = { missesMin: 512, keysMax: 1 << 18 };

/** So many collections are counted or remembered at a time; the oldest gives way. */
const collectionsMax = 16;
const keysPerSlice = 1000;

interface Collection {
  misses: number;
  /** From when its keys are being read. */
  keys: HashSet32 | undefined;
  isComplete: boolean;
}

export class NegativeLookupFilter {
  readonly #limits: NegativeLookupLimits;
  readonly #collections = new Map<string, Collection>();
  /** With enough misses, and their names not being read yet. */
  readonly #due: string[] = [];

  constructor(limits: NegativeLookupLimits = defaultLimits) {
    this.#limits = limits;
  }

  /** True when the key certainly does not exist in the acknowledged state; false when that is not known. */
  has(key: StorageKey): boolean {
    const split = key.lastIndexOf("/") + 1;
    const collection = this.#collections.get(key.slice(0, split));
    if (collection?.isComplete !== true) return false;
    return collection.keys?.has(hashOf(key, split)) === false;
  }

  /** Before a key that did not exist is written. */
  noteCreate(key: StorageKey): void {
    const split = key.lastIndexOf("/") + 1;
    const prefix = key.slice(0, split);
    const collection = this.#collections.get(prefix);
    if (collection?.keys === undefined) return;
    // Many of them may be gone by now: a new beginning shows.
    if (!collection.keys.add(hashOf(key, split))) this.#collections.delete(prefix);
  }

  /** The engine was asked for this key in vain. */
  noteMiss(key: StorageKey): void {
    const prefix = key.slice(0, key.lastIndexOf("/") + 1);
    const collection = this.#collections.get(prefix) ?? this.#count(prefix);
    if (++collection.misses === this.#limits.missesMin) this.#due.push(prefix);
  }

  /** Between batches, when the engine shows all that was accepted: begins to read the names that are worth it. */
  readDue(engine: () => EngineView): void {
    for (const prefix of this.#due.splice(0)) {
      const collection = this.#collections.get(prefix);
      if (collection === undefined) continue;
      collection.keys = new HashSet32(this.#limits.keysMax);
      this.#read(prefix as StorageKey, collection, collection.keys, engine()).catch(() => {
        // Whoever reads or writes next gets to know what is wrong with the engine; here it means that nothing was learnt.
        if (this.#collections.get(prefix) === collection) this.#collections.delete(prefix);
      });
    }
  }

  clear(): void {
    this.#collections.clear();
    this.#due.length = 0;
  }

  #count(prefix: string): Collection {
    const [oldest] = this.#collections.keys();
    if (this.#collections.size >= collectionsMax && oldest !== undefined)
      this.#collections.delete(oldest);
    const collection: Collection = { misses: 0, keys: undefined, isComplete: false };
    this.#collections.set(prefix, collection);
    return collection;
  }

  async #read(
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
          // Too many: it stays counted and is not read again, until others push it out.
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

/** Of what follows the prefix (FNV-1a, its bits mixed once more). */
function hashOf(key: string, from: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < key.length; at++)
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
