/**
 * Regular expressions: RE2 semantics and linear time, compiled once.
 *
 * Constant patterns are compiled when a program is planned. Patterns that come out of data are
 * compiled at evaluation; a bounded cache keeps the newest.
 */
import { RE2JS, RE2JSException } from "re2js";
import { PATTERN_CACHE_ENTRIES_MAX, PATTERN_LENGTH_MAX, PATTERN_SIZE_MAX } from "../limits.ts";
import { expandedSize } from "./pattern-size.ts";
import { chargeSteps } from "./step-counter.ts";
import { CelError } from "./value.ts";

/**
 * A compiled regular expression. Time is linear in the text, but in the pattern's size as well:
 * before matching, a caller takes the steps that it may need.
 */
export interface Pattern {
  /** Steps that `test` may need. */
  testSteps(text: string): number;
  /** Steps that `find` or `findAll` may need. */
  findSteps(text: string): number;
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
  const size = expandedSize(source);
  if (size > PATTERN_SIZE_MAX) {
    return new CelError("error parsing regexp: expression too large");
  }
  chargeSteps(COMPILE_STEPS + source.length * STEPS_PER_CHARACTER + size * STEPS_PER_INSTRUCTION);
  try {
    return new Re2Pattern(RE2JS.compile(source));
  } catch (error) {
    if (error instanceof RE2JSException) return new CelError(error.message);
    throw error;
  }
}

/**
 * What compiling takes, measured: some twenty microseconds, and some for each character and each
 * instruction.
 */
const COMPILE_STEPS = 1000;
const STEPS_PER_CHARACTER = 100;
const STEPS_PER_INSTRUCTION = 100;
/**
 * Instructions times characters that one step stands for, measured with patterns that keep all
 * their instructions busy.
 */
const TEST_WORK_PER_STEP = 16;
const FIND_WORK_PER_STEP = 3;
/** For each match there is another start. */
const STEPS_PER_MATCH = 32;
/** Small patterns still cost something for each character. */
const SIZE_MIN = 8;

class Re2Pattern implements Pattern {
  readonly #re: RE2JS;
  readonly #size: number;

  constructor(re: RE2JS) {
    this.#re = re;
    this.#size = Math.max(re.programSize(), SIZE_MIN);
  }

  testSteps(text: string): number {
    return Math.floor((text.length * this.#size) / TEST_WORK_PER_STEP);
  }

  findSteps(text: string): number {
    return Math.floor((text.length * this.#size) / FIND_WORK_PER_STEP);
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
    while ((limit < 0 || matches.length < limit) && matcher.find()) {
      chargeSteps(STEPS_PER_MATCH);
      matches.push(matcher.group() ?? "");
    }
    return matches;
  }
}
