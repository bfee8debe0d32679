/** Ordinal ranges: from `start` up to, but excluding, `end`. */
export interface OrdinalRange {
  readonly start: number;
  readonly end: number;
}

/** The first free subrange of a range. */
export function firstFree(range: OrdinalRange, taken: readonly OrdinalRange[]): OrdinalRange {
  let { start, end } = range;
  for (const other of taken) {
    if (other.end <= start || other.start >= end || sizeOf(other) === 0) continue;
    if (other.start <= start) start = Math.max(start, other.end);
    else end = other.start;
  }
  return { start, end: Math.max(start, end) };
}

/** The subranges that no cluster has. */
export function freeIn(
  all: OrdinalRange,
  kept: ReadonlyMap<string, OrdinalRange>,
): readonly OrdinalRange[] {
  const taken = [...kept.values()].filter((range) => sizeOf(range) > 0);
  const free: OrdinalRange[] = [];
  let at = all.start;
  for (const { start, end } of taken.sort((a, b) => a.start - b.start)) {
    if (start > at) free.push({ start: at, end: Math.min(start, all.end) });
    at = Math.max(at, end);
  }
  if (at < all.end) free.push({ start: at, end: all.end });
  return free;
}

/** The first `count` ordinals of the ranges. */
export function firstOf(ranges: readonly OrdinalRange[], count: number): readonly OrdinalRange[] {
  let left = count;
  return ranges.flatMap(({ start, end }) => {
    const size = Math.min(left, end - start);
    if (size <= 0) return [];
    left -= size;
    return [{ start, end: start + size }];
  });
}

export const emptyRange: OrdinalRange = { start: 0, end: 0 };

export function unionOfRanges(a: OrdinalRange, b: OrdinalRange): OrdinalRange {
  return { start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) };
}

export function sizeOf({ start, end }: OrdinalRange): number {
  return Math.max(0, end - start);
}
