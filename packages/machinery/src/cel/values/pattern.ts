/**
 * Regular expressions: RE2 semantics and linear time, compiled once.
 *
 * Constant patterns are compiled when a program is planned. Patterns that come out of data are compiled at
 * evaluation; a bounded cache keeps the newest.
 */
import { RE2JS, RE2JSException } from "re2js";
import { PATTERN_CACHE_ENTRIES_MAX, PATTERN_LENGTH_MAX } from "../limits.ts";
import { CelError } from "./value.ts";

/** A compiled regular expression. */
export interface Pattern {
  /** Whether it matches anywhere in `text`. */
  test(text: string): boolean;
  /** The leftmost match, or undefined. */
  find(text: string): string | undefined;
  /** All matches that do not overlap, at most `limit` of them unless it is negative. */
  findAll(text: string, limit: number): string[];
}

const cache = new Map<string, Pattern>();

export function compilePattern(source: string): Pattern | CelError {
  const known = cache.get(source);
  if (known !== undefined) {
    cache.delete(source);
    cache.set(source, known);
    return known;
  }
  const compiled = compile(source);
  if (compiled instanceof CelError) return compiled;
  cache.set(source, compiled);
  if (cache.size > PATTERN_CACHE_ENTRIES_MAX) {
    for (const oldest of cache.keys()) {
      cache.delete(oldest);
      break;
    }
  }
  return compiled;
}

function compile(source: string): Pattern | CelError {
  if (source.length > PATTERN_LENGTH_MAX) {
    return new CelError(
      `regular expression exceeds limit: size: ${source.length}, limit ${PATTERN_LENGTH_MAX}`,
    );
  }
  try {
    return new Re2Pattern(RE2JS.compile(source));
  } catch (error) {
    if (error instanceof RE2JSException) return new CelError(error.message);
    throw error;
  }
}

class Re2Pattern implements Pattern {
  readonly #re: RE2JS;

  constructor(re: RE2JS) {
    this.#re = re;
  }

  test(text: string): boolean {
    return this.#re.test(text);
  }

  find(text: string): string | undefined {
    const matcher = this.#re.matcher(text);
    return matcher.find() ? (matcher.group() ?? "") : undefined;
  }

  findAll(text: string, limit: number): string[] {
    const matches: string[] = [];
    const matcher = this.#re.matcher(text);
    while ((limit < 0 || matches.length < limit) && matcher.find())
      matches.push(matcher.group() ?? "");
    return matches;
  }
}
