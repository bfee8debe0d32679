/** Accessors of a Job's spec and status. */
import { conditionsOf, specCount, type Workload } from "../workload.ts";

/** The requested completions; the parallelism of a Job without completions. */
export function desiredCompletions(job: Workload): number {
  return specCount(job, "completions", specCount(job, "parallelism", 1));
}

export function countsCompletions({ spec }: Workload): boolean {
  return (spec as { completions?: unknown }).completions !== undefined;
}

export function finishedConditionOf(job: Workload): "Complete" | "Failed" | undefined {
  const ends = conditionsOf(job).filter(({ status }) => status === "True");
  if (ends.some(({ type }) => type === "Failed")) return "Failed";
  return ends.some(({ type }) => type === "Complete") ? "Complete" : undefined;
}

/** The Job's time to live after it finished: the copies themselves do not expire. */
export function expiryMs(parent: Workload): number | undefined {
  const { ttlSecondsAfterFinished: seconds } = parent.spec as { ttlSecondsAfterFinished?: unknown };
  const end = finishedConditionOf(parent);
  const ended = conditionsOf(parent).find(({ type }) => type === end);
  const endedAtMs = Date.parse(ended?.lastTransitionTime ?? "");
  if (typeof seconds !== "number" || Number.isNaN(endedAtMs)) return undefined;
  return endedAtMs + seconds * 1000;
}
