/**
 * Fault schedules: which pattern of faults a controller meets, and at which of its opportunities.
 * A schedule repeats itself: with the same one, the same requests are hit.
 */
export const faultPatterns = [
  "crash",
  "conflict",
  "lose-request",
  "lose-answer",
  "delay-events",
  "skip-events",
  "expire-watch",
  "break-watch",
] as const;

export type FaultPattern = (typeof faultPatterns)[number];

/** What each pattern does at an opportunity, for reports. */
export const patternTexts: Readonly<Record<FaultPattern, string>> = {
  crash: "the controller crashes after its write",
  conflict: "the write is refused with Conflict",
  "lose-request": "the connection breaks before the write",
  "lose-answer": "the write happens, and its answer is lost",
  "delay-events": "the watch is behind, as that of a stale replica",
  "skip-events": "the watch is behind, and skips states in between",
  "expire-watch": "the watch ends with Expired",
  "break-watch": "the connection of the watch breaks",
};

export interface FaultSchedule {
  readonly pattern: FaultPattern;
  /** The opportunities that it takes, from 1 on: writes, or batches of events. */
  readonly strikes: "all" | readonly number[];
  /** Of delays. */
  readonly seed: number;
}

export function formatSchedule({ pattern, strikes, seed }: FaultSchedule): string {
  const which = strikes === "all" ? "at every opportunity" : `at opportunity ${strikes.join(", ")}`;
  return `${pattern} ${which} (seed ${seed}): ${patternTexts[pattern]}`;
}

/** Crashes hit once each: a program that always crashes gets nowhere. */
export function isOneByOne(pattern: FaultPattern): boolean {
  return pattern === "crash";
}
