/** How large the spec of a definition may be, and the error for larger ones. */
import { type Resumable, YieldCounter } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";

/** Values that are counted at once. */
const countedAtOnce = 2_000;

/**
 * Throws a 413. Status and managedFields do not count: the server's own writes are never too large.
 */
export function* checkDefinitionSize(spec: JsonValue | undefined): Resumable<void> {
  const { bytesMax } = bounds.definition;
  const pending: JsonValue[] = [spec ?? null];
  const pace = new YieldCounter(countedAtOnce);
  let bytes = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (pace.isTime()) yield;
    bytes += ownBytes(next);
    if (bytes > bytesMax) throw statusError.tooLarge(`limit is ${bytesMax} bytes`);
    if (typeof next !== "object" || next === null) continue;
    for (const member of Object.values(next) as JsonValue[]) pending.push(member);
  }
}

/** What a value takes as compact JSON in UTF-8 besides its members; escapes do not count. */
function ownBytes(value: JsonValue): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 2;
  if (typeof value !== "object" || value === null) return String(value).length;
  const keys = Object.keys(value);
  // Brackets, and commas between the members.
  const bytes = 1 + Math.max(1, keys.length);
  return Array.isArray(value)
    ? bytes
    : keys.reduce((sum, key) => sum + Buffer.byteLength(key) + 3, bytes);
}
