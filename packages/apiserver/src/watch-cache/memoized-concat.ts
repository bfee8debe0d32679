/**
 * Concatenated bytes of one watch equal those of the next watch of a group with the same lag: the
 * last result is reused.
 */
let lastParts: readonly Buffer[] = [];
let lastJoined: Buffer = Buffer.alloc(0);

/** The result is shared: callers must not write to it. */
export function memoizedConcat(parts: readonly Buffer[]): Buffer {
  if (isLast(parts)) return lastJoined;
  lastJoined = Buffer.concat(parts);
  lastParts = parts;
  return lastJoined;
}

/** Releases the memoized bytes. */
export function clearMemoizedConcat(): void {
  lastParts = [];
  lastJoined = Buffer.alloc(0);
}

function isLast(parts: readonly Buffer[]): boolean {
  if (parts.length !== lastParts.length) return false;
  for (let i = 0; i < parts.length; i++) if (parts[i] !== lastParts[i]) return false;
  return true;
}
