/** Which schedules an exploration tries, from what the controller did without faults. */
import { SeededRandom } from "@kcp-ts/testkit";
import {
  type FaultPattern,
  type FaultSchedule,
  isOfWrites,
  maySucceedAtAll,
  type ScheduledFault,
} from "./fault-schedule.ts";
import type { Strike } from "./opportunities.ts";

export interface PlanOptions {
  /** How many there are. */
  readonly writes: number;
  readonly patterns: readonly FaultPattern[];
  /** The most that are tried one by one. */
  readonly writesMax: number;
  readonly pairs: number;
  readonly seed: number;
}

export interface Plan {
  readonly schedules: readonly FaultSchedule[];
  readonly untried: readonly number[];
}

export function planSchedules({ writes, patterns, writesMax, pairs, seed }: PlanOptions): Plan {
  const numbers = Array.from({ length: writes }, (_, n) => n + 1);
  const chosen = evenly(numbers, writesMax);
  const schedules = patterns.flatMap((pattern): FaultSchedule[] => [
    ...(isOfWrites(pattern) ? chosen.map((n) => ({ pattern, strikes: [n], seed })) : []),
    ...(maySucceedAtAll(pattern) ? [{ pattern, strikes: "all" as const, seed }] : []),
  ]);
  const known = new Set(chosen);
  return {
    schedules: [...schedules, ...pairsOf(writes, patterns, pairs, seed)],
    untried: numbers.filter((n) => !known.has(n)),
  };
}

/** From the first to the last, as the end of a test is as good as its beginning. */
function evenly(numbers: readonly number[], most: number): readonly number[] {
  if (numbers.length <= most) return numbers;
  return Array.from({ length: most }, (_, n) => Math.ceil(((n + 1) * numbers.length) / most));
}

function pairsOf(
  writes: number,
  patterns: readonly FaultPattern[],
  pairs: number,
  seed: number,
): FaultSchedule[] {
  const random = new SeededRandom(seed);
  const [one, ...others] = patterns;
  if (one === undefined || others.length === 0 || writes === 0) return [];
  const fault = (pattern: FaultPattern): ScheduledFault =>
    isOfWrites(pattern)
      ? { pattern, strikes: [1 + random.integer(writes)] }
      : { pattern, strikes: "all" };
  return Array.from({ length: pairs }, () => {
    const first = random.pick([one, ...others]);
    const rest = patterns.filter((pattern) => pattern !== first);
    const second = rest[random.integer(rest.length)] ?? one;
    return { ...fault(first), seed, with: fault(second) };
  });
}

/** The schedule with just these strikes of another one. */
export function scheduleOf(strikes: readonly Strike[], from: FaultSchedule): FaultSchedule {
  const { seed, pattern } = from;
  const of = (wanted: FaultPattern): ScheduledFault => ({
    pattern: wanted,
    strikes: strikes
      .filter((strike) => strike.pattern === wanted)
      .map(({ opportunity }) => opportunity),
  });
  const faults = [pattern, ...(from.with === undefined ? [] : [from.with.pattern])]
    .map(of)
    .filter((one) => one.strikes.length > 0);
  const [first = of(pattern), second] = faults;
  return { ...first, seed, ...(second === undefined ? {} : { with: second }) };
}
