/**
 * The status of a Job, aggregated from its copies: it is complete when the requested completions
 * are done, and failed when a copy is.
 */
import { type ConditionInput, timestamp } from "@kcp-ts/sdk";
import {
  type AggregationInput,
  reachableCopies,
  readSyncError,
  scheduledConditionOf,
  sumStatusFields,
  unlessEqual,
  withTransitionTimes,
} from "../status-aggregation.ts";
import { conditionsOf, statusCount, statusText, type Workload } from "../workload.ts";
import { countsCompletions, desiredCompletions, finishedConditionOf } from "./job-state.ts";

export function aggregateJobStatus(input: AggregationInput): object {
  const { parent, copies, nowMs } = input;
  // A finished Job keeps its status.
  if (finishedConditionOf(parent) !== undefined) return parent.status ?? {};
  const known = reachableCopies(input);
  const there = new Set(copies.map(({ object }) => object.metadata.name));
  const before = Object.entries(input.completions ?? {}).filter(([name]) => !there.has(name));
  const succeeded =
    before.reduce((sum, [, done]) => sum + done, 0) +
    copies.reduce((sum, { object }) => sum + statusCount(object, "succeeded"), 0);
  const failed = copies.reduce((sum, { object }) => sum + statusCount(object, "failed"), 0);
  const end = endCondition(input, succeeded);
  const conditions = [end, notSynced(known), scheduledConditionOf(input.scheduled)];
  return unlessEqual(parent, {
    ...sumStatusFields(known, ["active", "ready", "terminating"]),
    ...(succeeded === 0 ? {} : { succeeded }),
    ...(failed === 0 ? {} : { failed }),
    ...started(copies.map(({ object }) => object)),
    ...indexes(copies.map(({ object }) => object)),
    ...(end?.type === "Complete" ? { completionTime: timestamp(nowMs) } : {}),
    conditions: withTransitionTimes(
      conditionsOf(parent),
      conditions.filter((one) => one !== undefined),
      nowMs,
    ),
  });
}

function endCondition(
  { parent, copies }: AggregationInput,
  succeeded: number,
): ConditionInput | undefined {
  for (const { cluster, object } of copies) {
    if (finishedConditionOf(object) !== "Failed") continue;
    const failure = conditionsOf(object).find(({ type }) => type === "Failed");
    const { reason = "Failed", message = "" } = failure ?? {};
    return { type: "Failed", status: "True", reason, message: `${cluster}: ${message}` };
  }
  const isDone = countsCompletions(parent)
    ? succeeded >= desiredCompletions(parent)
    : copies.length > 0 && copies.every(({ object }) => finishedConditionOf(object) === "Complete");
  if (!isDone) return undefined;
  const message = "as much is completed as was asked for";
  return { type: "Complete", status: "True", reason: "CompletionsReached", message };
}

function notSynced(known: ReturnType<typeof reachableCopies>): ConditionInput | undefined {
  const found = known.find(({ syncError }) => syncError !== undefined);
  if (found?.syncError === undefined) return undefined;
  const { reason, message } = readSyncError(found.syncError);
  return { type: "Synced", status: "False", reason, message: `${found.cluster}: ${message}` };
}

/** The indexes of a Job that is not divided. */
function indexes(copies: readonly Workload[]): Record<string, string> {
  const [only, ...others] = copies;
  if (only === undefined || others.length > 0) return {};
  const fields = ["completedIndexes", "failedIndexes"] as const;
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = statusText(only, field);
      return text === undefined ? [] : [[field, text]];
    }),
  );
}

function started(copies: readonly Workload[]): Record<string, string> {
  const times = copies.flatMap((copy) => statusText(copy, "startTime") ?? []);
  const [first] = times.sort();
  return first === undefined ? {} : { startTime: first };
}
