/**
 * Recently used newest entries, bounded by bytes. An optimisation only: dropping any of it at any time is
 * correct.
 *
 * Two generations: what is used goes into the young one; when that has half of the budget, it becomes the old one, and what was
 * old and not used since is forgotten. No order is kept, because keeping it in a Map costs most where it must cost least: a key
 * that is moved to the end on every use leaves its old place behind until the whole map is rehashed.
 *
 * What was created and that nobody has asked for since has two small generations of its own: most of it is never asked for, or much later. The first use
 * takes it among the others.
 *
 * What is read from the engine in the background may be outdated when it arrives: a load counts only if its
 * key was not written meanwhile.
 */
import type { StorageKey } from "../key.ts";
import type { Entry } from "../storage.ts";

/** Of the budget, for each of the two generations of what was created; on top of it. */
export const createdGenerationShare = 1 / 16;

export class EntryCache {
  readonly #generationBytesMax: number;
  readonly #createdBytesMax: number;
  readonly #loads = new Map<StorageKey, Load>();
  #young: Generation = newGeneration();
  #old: Generation = newGeneration();
  #created: Generation = newGeneration();
  #createdBefore: Generation = newGeneration();

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
    return [this.#young, this.#old, this.#created, this.#createdBefore];
  }

  /** Forgets what was not used since the last call. */
  tidy(): void {
    this.#turn();
    this.#turnCreated();
  }

  get(key: StorageKey): Entry | undefined {
    const young = this.#young.entries.get(key);
    if (young !== undefined) return young;
    return (
      this.#take(this.#old, key) ??
      this.#take(this.#created, key) ??
      this.#take(this.#createdBefore, key)
    );
  }

  /** Takes an acknowledged state of a key; undefined means that it was deleted. */
  update(key: StorageKey, entry: Entry | undefined): void {
    if (this.#loads.size > 0) this.#loads.delete(key);
    for (const generation of this.#generations) drop(generation, key);
    if (entry !== undefined) this.#add(entry);
  }

  /** Takes the acknowledged state of a key that did not exist before it. */
  insert(entry: Entry): void {
    if (this.#loads.size > 0) this.#loads.delete(entry.key);
    const bytes = entryBytes(entry);
    if (bytes > this.#createdBytesMax) return;
    if (this.#created.bytes + bytes > this.#createdBytesMax) this.#turnCreated();
    this.#created.entries.set(entry.key, entry);
    this.#created.bytes += bytes;
  }

  startLoad(key: StorageKey): Load {
    const load = { key };
    this.#loads.set(key, load);
    return load;
  }

  /** `entry` is what was read, or undefined when there is nothing to keep. */
  finishLoad(load: Load, entry: Entry | undefined): void {
    if (this.#loads.get(load.key) !== load) return;
    this.update(load.key, entry);
  }

  clear(): void {
    this.#loads.clear();
    this.#young = newGeneration();
    this.#old = newGeneration();
    this.#created = newGeneration();
    this.#createdBefore = newGeneration();
  }

  #turn(): void {
    this.#old = this.#young;
    this.#young = newGeneration();
  }

  #turnCreated(): void {
    this.#createdBefore = this.#created;
    this.#created = newGeneration();
  }

  /** What is used is young again. */
  #take(generation: Generation, key: StorageKey): Entry | undefined {
    const entry = generation.entries.get(key);
    if (entry === undefined) return undefined;
    drop(generation, key);
    this.#add(entry);
    return entry;
  }

  #add(entry: Entry): void {
    const bytes = entryBytes(entry);
    // One that does not fit would drive out all others.
    if (bytes > this.#generationBytesMax) return;
    if (this.#young.bytes + bytes > this.#generationBytesMax) this.#turn();
    this.#young.entries.set(entry.key, entry);
    this.#young.bytes += bytes;
  }
}

/** One read of a key that is under way. */
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

/** What an entry holds of memory, about: its bytes, the objects around them and its place in the map. */
function entryBytes(entry: Entry): number {
  const fixed = 300;
  return fixed + entry.key.length + entry.value.length;
}
