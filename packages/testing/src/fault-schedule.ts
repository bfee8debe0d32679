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
  "stale-reads",
] as const;

/** Also what no correct Kubernetes server causes, and a caching proxy does. */
export type FaultPattern = (typeof faultPatterns)[number] | "stale-live-reads";

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
  "stale-reads": "a read with resourceVersion=0 does not see the write before it",
  "stale-live-reads": "a read does not see the write before it",
};

/** A pattern and the opportunities that it takes, from 1 on: writes, reads, batches of events. */
export interface ScheduledFault {
  readonly pattern: FaultPattern;
  readonly strikes: "all" | readonly number[];
}

export interface FaultSchedule extends ScheduledFault {
  /** Of delays. */
  readonly seed: number;
  /** A second pattern in the same run. */
  readonly with?: ScheduledFault;
}

/** The patterns of a schedule, the first one first. */
export function faultsOf(schedule: FaultSchedule): readonly ScheduledFault[] {
  return schedule.with === undefined ? [schedule] : [schedule, schedule.with];
}

export function formatSchedule(schedule: FaultSchedule): string {
  const faults = faultsOf(schedule).map(
    ({ pattern, strikes }) => `${pattern} ${textOfStrikes(strikes)}: ${patternTexts[pattern]}`,
  );
  return `${faults.join("; with ")} (seed ${schedule.seed})`;
}

function textOfStrikes(strikes: ScheduledFault["strikes"]): string {
  if (strikes === "all") return "at every opportunity";
  return `at ${strikes.length > 1 ? "opportunities" : "opportunity"} ${strikes.join(", ")}`;
}

const ofWrites: ReadonlySet<FaultPattern> = new Set([
  "crash",
  "conflict",
  "lose-request",
  "lose-answer",
]);

/** Faults of writes are tried at each write alone: each may be the one that matters. */
export function isOfWrites(pattern: FaultPattern): boolean {
  return ofWrites.has(pattern);
}

/** A program that always crashes gets nowhere. */
export function maySucceedAtAll(pattern: FaultPattern): boolean {
  return pattern !== "crash";
}
