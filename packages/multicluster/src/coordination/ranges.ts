/** Ranges of numbers: from `start`, up to and without `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** What of it nobody has taken, from its first on. */
export function firstFree(range: Range, taken: readonly Range[]): Range {
  let { start, end } = range;
  for (const other of taken) {
    if (other.end <= start || other.start >= end || sizeOf(other) === 0) continue;
    if (other.start <= start) start = Math.max(start, other.end);
    else end = other.start;
  }
  return { start, end: Math.max(start, end) };
}

/** What of all of them nobody has. */
export function freeIn(all: Range, kept: ReadonlyMap<string, Range>): readonly Range[] {
  const taken = [...kept.values()].filter((range) => sizeOf(range) > 0);
  const free: Range[] = [];
  let at = all.start;
  for (const { start, end } of taken.sort((a, b) => a.start - b.start)) {
    if (start > at) free.push({ start: at, end: Math.min(start, all.end) });
    at = Math.max(at, end);
  }
  if (at < all.end) free.push({ start: at, end: all.end });
  return free;
}

/** The first so many. */
export function firstOf(ranges: readonly Range[], count: number): readonly Range[] {
  let left = count;
  return ranges.flatMap(({ start, end }) => {
    const size = Math.min(left, end - start);
    if (size <= 0) return [];
    left -= size;
    return [{ start, end: start + size }];
  });
}

export const empty: Range = { start: 0, end: 0 };

export function joined(a: Range, b: Range): Range {
  return { start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) };
}

export function sizeOf({ start, end }: Range): number {
  return Math.max(0, end - start);
}
