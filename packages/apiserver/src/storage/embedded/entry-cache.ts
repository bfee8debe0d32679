/**
 * Caches recently used newest entries, bounded by bytes. An optimisation only: dropping any of it
 * at any time is correct.
 *
 * Two generations: a used entry goes into the young one; when that has half of the budget, it
 * becomes the old one, and the unused entries of the old one are evicted. The cache keeps no order
 * of use, because keeping it in a Map is most expensive for hits: a key that is moved to the end on
 * every use leaves its old slot behind until the whole map is rehashed.
 *
 * Created entries without a read have two small generations of their own: most of them are never
 * read, or much later. The first read moves an entry to the others.
 *
 * A background read of the engine may be outdated when it arrives: a load is cached only if its key
 * was not written meanwhile.
 */
import type { StorageKey } from "../key.ts";
import type { Entry } from "../storage.ts";

/**
 * The part of the budget for each of the two generations of created entries; in addition to the
 * budget.
 */
export const createdGenerationShare = 1 / 16;

export class EntryCache {
  readonly #generationBytesMax: number;
  readonly #createdBytesMax: number;
  readonly #loads = new Map<StorageKey, Load>();
  #young: Generation = newGeneration();
  #old: Generation = newGeneration();
  #created: Generation = newGeneration();
  #createdOld: Generation = newGeneration();

  constructor(bytesMax: number) {
    this.#generationBytesMax = bytesMax / 2;
    this.#createdBytesMax = bytesMax * createdGenerationShare;
  }

  get bytes(): number {
    return this.#generations.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get size(): number {
    return this.#generations.reduce((sum, { entries }) => sum + entries.size, 0);
  }

  get #generations(): readonly Generation[] {
    return [this.#young, this.#old, this.#created, this.#createdOld];
  }

  /** Evicts entries without a use since the last call. */
  evictUnused(): void {
    this.#rotate();
    this.#rotateCreated();
  }

  get(key: StorageKey): Entry | undefined {
    const young = this.#young.entries.get(key);
    if (young !== undefined) return young;
    return (
      this.#promote(this.#old, key) ??
      this.#promote(this.#created, key) ??
      this.#promote(this.#createdOld, key)
    );
  }

  /** Caches an acknowledged state of a key; undefined means that it was deleted. */
  update(key: StorageKey, entry: Entry | undefined): void {
    if (this.#loads.size > 0) this.#loads.delete(key);
    for (const generation of this.#generations) drop(generation, key);
    if (entry !== undefined) this.#add(entry);
  }

  /** Caches the acknowledged state of a key that did not exist before. */
  insert(entry: Entry): void {
    if (this.#loads.size > 0) this.#loads.delete(entry.key);
    const bytes = entryBytes(entry);
    if (bytes > this.#createdBytesMax) return;
    if (this.#created.bytes + bytes > this.#createdBytesMax) this.#rotateCreated();
    this.#created.entries.set(entry.key, entry);
    this.#created.bytes += bytes;
  }

  startLoad(key: StorageKey): Load {
    const load = { key };
    this.#loads.set(key, load);
    return load;
  }

  /** `entry` is the result of the read, or undefined when there is nothing to cache. */
  finishLoad(load: Load, entry: Entry | undefined): void {
    if (this.#loads.get(load.key) !== load) return;
    this.update(load.key, entry);
  }

  clear(): void {
    this.#loads.clear();
    this.#young = newGeneration();
    this.#old = newGeneration();
    this.#created = newGeneration();
    this.#createdOld = newGeneration();
  }

  #rotate(): void {
    this.#old = this.#young;
    this.#young = newGeneration();
  }

  #rotateCreated(): void {
    this.#createdOld = this.#created;
    this.#created = newGeneration();
  }

  /** Moves a used entry to the young generation. */
  #promote(generation: Generation, key: StorageKey): Entry | undefined {
    const entry = generation.entries.get(key);
    if (entry === undefined) return undefined;
    drop(generation, key);
    this.#add(entry);
    return entry;
  }

  #add(entry: Entry): void {
    const bytes = entryBytes(entry);
    // An entry that does not fit would evict all others.
    if (bytes > this.#generationBytesMax) return;
    if (this.#young.bytes + bytes > this.#generationBytesMax) this.#rotate();
    this.#young.entries.set(entry.key, entry);
    this.#young.bytes += bytes;
  }
}

/** One read of a key in flight. */
export interface Load {
  readonly key: StorageKey;
}

interface Generation {
  readonly entries: Map<StorageKey, Entry>;
  bytes: number;
}

function newGeneration(): Generation {
  return { entries: new Map(), bytes: 0 };
}

function drop(generation: Generation, key: StorageKey): void {
  const entry = generation.entries.get(key);
  if (entry === undefined) return;
  generation.entries.delete(key);
  generation.bytes -= entryBytes(entry);
}

/**
 * The approximate memory of an entry: its bytes, the objects around them and its slot in the map.
 */
function entryBytes(entry: Entry): number {
  const fixed = 300;
  return fixed + entry.key.length + entry.value.length;
}
