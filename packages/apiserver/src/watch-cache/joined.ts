/** Bytes joined for one watch are those for the next one of a crowd, which is just as far behind: the last ones are used again. */
let lastParts: readonly Buffer[] = [];
let lastJoined: Buffer = Buffer.alloc(0);

/** The result is shared: nobody may write to it. */
export function memoizedConcat(parts: readonly Buffer[]): Buffer {
  if (isLast(parts)) return lastJoined;
  lastJoined = Buffer.concat(parts);
  lastParts = parts;
  return lastJoined;
}

/** Lets go of them. */
export function clearMemoizedConcat(): void {
  lastParts = [];
  lastJoined = Buffer.alloc(0);
}

function isLast(parts: readonly Buffer[]): boolean {
  if (parts.length !== lastParts.length) return false;
  for (let i = 0; i < parts.length; i++) if (parts[i] !== lastParts[i]) return false;
  return true;
}
