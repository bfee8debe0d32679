/** Accessors of a Job's spec, status and annotations. */
import { stringMember } from "@kcp-ts/sdk";
import { conditionsOf, specCount, type Workload } from "../workload.ts";

/** On a Job: the completions of its deleted copies, as JSON by their names. */
export const completedAnnotation = "workload.kcp.io/completed";

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

export function completedByCopy({ metadata }: Workload): ReadonlyMap<string, number> {
  const text = stringMember(metadata.annotations, completedAnnotation);
  if (text === undefined) return new Map();
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(entries.filter((one): one is [string, number] => Number.isInteger(one[1])));
  } catch {
    // The annotation has a foreign value: no completion is known.
    return new Map();
  }
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
