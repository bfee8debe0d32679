/**
 * RE2 patterns, compiled once for the process.
 *
 * Tenants share patterns (every CRD has the one for quantities), and compiling one takes between 20
 * µs and some milliseconds, so they are in a bounded cache. Matching is linear in the text; callers
 * charge `work` for it.
 */
import { RE2JS, RE2JSException } from "re2js";

export interface Pattern {
  readonly source: string;
  /** Instructions of the compiled program: the factor of the worst case. */
  readonly instructions: number;
  test(text: string): boolean;
}

const patternsCachedMax = 2_000;
const cache = new Map<string, Pattern | Error>();

/** Returns the pattern, or the error with Go's text. */
export function compilePattern(source: string): Pattern | Error {
  const known = cache.get(source);
  if (known !== undefined) return known;
  const compiled = compile(source);
  if (cache.size >= patternsCachedMax) {
    // The oldest entry is evicted; a pattern in use is held by its schema, and the cache only saves
    // recompiling.
    for (const oldest of cache.keys()) {
      cache.delete(oldest);
      break;
    }
  }
  cache.set(source, compiled);
  return compiled;
}

/** See `patternWeightMax`. */
export function patternWeight(source: string): number {
  let weight = source.length + 60 * (source.match(/\\[pP]|\(\?i/g)?.length ?? 0);
  for (const [, times] of source.matchAll(/\{(?:\d*,)?(\d{1,4})\}/g)) weight += 4 * Number(times);
  return weight;
}

function compile(source: string): Pattern | Error {
  try {
    const expression = RE2JS.compile(source);
    return {
      source,
      instructions: expression.programSize(),
      test: (text) => expression.test(text),
    };
  } catch (error) {
    if (error instanceof RE2JSException) return error;
    throw error;
  }
}
