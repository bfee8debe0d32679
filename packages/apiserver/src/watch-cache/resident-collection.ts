/** The resident ranges of one collection: disjoint, in key order, with holes between them. */
import type { StorageKey } from "../storage/index.ts";
import type { HubEvent } from "./hub-event.ts";
import { containsRange, type KeyRange, type ResidentRange } from "./resident-range.ts";

/** A part of a key range that is not in memory. */
export interface Hole extends KeyRange {
  readonly resident: undefined;
}

export interface ResidentPart extends KeyRange {
  readonly resident: ResidentRange;
}

export interface Loading extends KeyRange {
  readonly range: ResidentRange;
  /** The number of entries that are read, from the first one on. */
  readonly wanted: number;
  /** Resolves when the range is resident, or did not fit. */
  readonly done: Promise<void>;
}

export class ResidentCollection {
  readonly loading = new Set<Loading>();
  /** Events were missed: what is being loaded cannot be used. */
  isLost = false;
  stop: () => void = () => {};
  #ranges: ResidentRange[] = [];

  get ranges(): readonly ResidentRange[] {
    return this.#ranges;
  }

  get isUnused(): boolean {
    return this.#ranges.length === 0 && this.loading.size === 0;
  }

  /** The memory of an entry, on average; undefined while none is known. */
  get entryBytes(): number | undefined {
    let bytes = 0;
    let size = 0;
    for (const range of this.#ranges) {
      bytes += range.bytes;
      size += range.size;
    }
    return size === 0 ? undefined : bytes / size;
  }

  /** The resident ranges and the holes of a key range, in order. */
  *partsOf({ after, last }: KeyRange): Generator<ResidentPart | Hole> {
    let reached = after;
    for (let at = this.#indexOf((range) => range.last <= after); reached < last; at++) {
      const next = this.#ranges[at];
      if (next === undefined || next.after >= last) {
        yield { after: reached, last, resident: undefined };
        return;
      }
      if (next.after > reached) yield { after: reached, last: next.after, resident: undefined };
      yield { after: next.after, last: next.last, resident: next };
      reached = next.last;
    }
  }

  /** The first hole of a key range before the given number of entries; undefined without one. */
  firstHole(range: KeyRange, prefix: StorageKey, wanted: number): Hole | undefined {
    let left = wanted;
    for (const part of this.partsOf(range)) {
      if (left <= 0) return undefined;
      if (part.resident === undefined) return part;
      left -= part.resident.count(prefix, range.after as StorageKey);
    }
    return undefined;
  }

  /** The load in flight that has what another one would have. */
  loadingOf(range: KeyRange, wanted: number): Loading | undefined {
    for (const loading of this.loading) {
      if (!containsRange(loading, range)) continue;
      const isPrefix = loading.after === range.after && loading.wanted >= wanted;
      if (isPrefix || loading.wanted === Number.POSITIVE_INFINITY) return loading;
    }
    return undefined;
  }

  /**
   * Adds a loaded range, in place of those it overlaps; false when a resident range has all of it.
   */
  add(range: ResidentRange, drop: (overlapped: ResidentRange) => void): boolean {
    const overlapped = [...this.partsOf(range)].flatMap(({ resident }) => resident ?? []);
    if (overlapped.some((other) => containsRange(other, range))) return false;
    for (const other of overlapped) drop(other);
    this.#ranges.splice(
      this.#indexOf(({ last }) => last <= range.after),
      0,
      range,
    );
    return true;
  }

  remove(range: ResidentRange): void {
    const at = this.#ranges.indexOf(range);
    if (at >= 0) this.#ranges.splice(at, 1);
  }

  /** The number of objects under a prefix as far as they were read; undefined when none were. */
  knownCount(prefix: StorageKey): number | undefined {
    let count: number | undefined;
    for (const range of [...this.#ranges, ...[...this.loading].map((loading) => loading.range)]) {
      const isOver = range.after < `${prefix}\x7f` && range.last > prefix;
      if (isOver) count = (count ?? 0) + range.count(prefix);
    }
    return count;
  }

  apply(event: HubEvent): void {
    const range = this.#ranges[this.#indexOf(({ last }) => last < event.key)];
    if (range !== undefined && range.after < event.key) range.apply(event);
    for (const loading of this.loading) {
      const isIn = loading.after < event.key && event.key <= loading.last;
      if (isIn && loading.range !== range) loading.range.apply(event);
    }
  }

  /** The index of the first range that is not before a place. */
  #indexOf(isBefore: (range: ResidentRange) => boolean): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#ranges[middle] as ResidentRange)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
