/** Which slices tell of which export, whatever they are called and wherever they are: by the export's name, since paths say the same in many ways. */
import type { StorageKey } from "../storage/index.ts";

export class SlicesOfExports {
  readonly #byExport = new Map<string, Set<StorageKey>>();

  /** Of exports of this name, in any workspace. */
  of(exportName: string): Iterable<StorageKey> {
    return this.#byExport.get(exportName) ?? [];
  }

  *all(): Generator<StorageKey> {
    for (const keys of this.#byExport.values()) yield* keys;
  }

  change(key: StorageKey, now: string | undefined, before: string | undefined): void {
    if (before !== undefined && before !== now) {
      const keys = this.#byExport.get(before);
      keys?.delete(key);
      if (keys?.size === 0) this.#byExport.delete(before);
    }
    if (now === undefined) return;
    const keys = this.#byExport.get(now);
    if (keys === undefined) this.#byExport.set(now, new Set([key]));
    else keys.add(key);
  }
}
