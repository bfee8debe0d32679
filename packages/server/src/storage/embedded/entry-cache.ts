/**
 * Recently used newest entries, bounded by bytes. An optimisation only: dropping any of it at any time is
 * correct.
 *
 * What is read from the engine in the background may be outdated when it arrives: a load counts only if its
 * key was not written meanwhile.
 */
import type { StorageKey } from "../key.ts";
import type { Entry } from "../storage.ts";

export class EntryCache {
  readonly #bytesMax: number;
  /** In order of last use, oldest first. */
  readonly #entries = new Map<StorageKey, Entry>();
  readonly #loads = new Map<StorageKey, Load>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: StorageKey): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Takes an acknowledged state of a key; undefined means that it was deleted. */
  update(key: StorageKey, entry: Entry | undefined): void {
    this.#loads.delete(key);
    this.#drop(key);
    if (entry !== undefined) this.#add(entry);
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
    this.#entries.clear();
    this.#bytes = 0;
  }

  #add(entry: Entry): void {
    // One that does not fit would drive out all others first.
    if (entryBytes(entry) > this.#bytesMax) return;
    this.#entries.set(entry.key, entry);
    this.#bytes += entryBytes(entry);
    if (this.#bytes <= this.#bytesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#drop(oldest);
      if (this.#bytes <= this.#bytesMax) return;
    }
  }

  #drop(key: StorageKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entryBytes(entry);
  }
}

/** One read of a key that is under way. */
export interface Load {
  readonly key: StorageKey;
}

/** What an entry holds of memory, about: its bytes, the objects around them and its place in the map. */
function entryBytes(entry: Entry): number {
  const fixed = 300;
  return fixed + entry.key.length + entry.value.length;
}
