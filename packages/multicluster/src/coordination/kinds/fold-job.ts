/** The status of a Job from those of its parts: it is complete when as much is completed as was asked for, and failed when a part is. */
import { type ConditionInput, timestamp } from "@kcp-ts/sdk";
import {
  type AggregationInput,
  reachableCopies,
  readSyncError,
  scheduledConditionOf,
  sumStatusFields,
  unlessEqual,
  withTransitionTimes,
} from "../fold-parts.ts";
import { conditionsOf, statusCount, statusText, type Workload } from "../workload.ts";
import {
  completedByCopy,
  countsCompletions,
  desiredCompletions,
  finishedConditionOf,
} from "./job-facts.ts";

export function aggregateJobStatus(input: AggregationInput): object {
  const { parent, parts, nowMs } = input;
  // What has come to an end stays as it was.
  if (finishedConditionOf(parent) !== undefined) return parent.status ?? {};
  const known = reachableCopies(input);
  const there = new Set(parts.map(({ object }) => object.metadata.name));
  const before = [...completedByCopy(parent)].filter(([name]) => !there.has(name));
  const succeeded =
    before.reduce((sum, [, done]) => sum + done, 0) +
    parts.reduce((sum, { object }) => sum + statusCount(object, "succeeded"), 0);
  const failed = parts.reduce((sum, { object }) => sum + statusCount(object, "failed"), 0);
  const end = endCondition(input, succeeded);
  const conditions = [end, notSynced(known), scheduledConditionOf(input.verdict)];
  return unlessEqual(parent, {
    ...sumStatusFields(known, ["active", "ready", "terminating"]),
    ...(succeeded === 0 ? {} : { succeeded }),
    ...(failed === 0 ? {} : { failed }),
    ...started(parts.map(({ object }) => object)),
    ...indexes(parts.map(({ object }) => object)),
    ...(end?.type === "Complete" ? { completionTime: timestamp(nowMs) } : {}),
    conditions: withTransitionTimes(
      conditionsOf(parent),
      conditions.filter((one) => one !== undefined),
      nowMs,
    ),
  });
}

function endCondition(
  { parent, parts }: AggregationInput,
  succeeded: number,
): ConditionInput | undefined {
  for (const { cluster, object } of parts) {
    if (finishedConditionOf(object) !== "Failed") continue;
    const failure = conditionsOf(object).find(({ type }) => type === "Failed");
    const { reason = "Failed", message = "" } = failure ?? {};
    return { type: "Failed", status: "True", reason, message: `${cluster}: ${message}` };
  }
  const isDone = countsCompletions(parent)
    ? succeeded >= desiredCompletions(parent)
    : parts.length > 0 && parts.every(({ object }) => finishedConditionOf(object) === "Complete");
  if (!isDone) return undefined;
  const message = "as much is completed as was asked for";
  return { type: "Complete", status: "True", reason: "CompletionsReached", message };
}

function notSynced(known: ReturnType<typeof reachableCopies>): ConditionInput | undefined {
  const found = known.find(({ trouble }) => trouble !== undefined);
  if (found?.trouble === undefined) return undefined;
  const { reason, message } = readSyncError(found.trouble);
  return { type: "Synced", status: "False", reason, message: `${found.cluster}: ${message}` };
}

/** Of a Job that is not divided. */
function indexes(parts: readonly Workload[]): Record<string, string> {
  const [only, ...others] = parts;
  if (only === undefined || others.length > 0) return {};
  const fields = ["completedIndexes", "failedIndexes"] as const;
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = statusText(only, field);
      return text === undefined ? [] : [[field, text]];
    }),
  );
}

function started(parts: readonly Workload[]): Record<string, string> {
  const times = parts.flatMap((part) => statusText(part, "startTime") ?? []);
  const [first] = times.sort();
  return first === undefined ? {} : { startTime: first };
}
