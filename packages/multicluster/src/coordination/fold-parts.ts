/**
 * What folding statuses has in common for all kinds: sums, the worst condition with the cluster's name in the message, and the generation that all
 * have observed.
 *
 * Parts in clusters that are lost count as nothing: what they last reported is no longer known to be true.
 */
import { isJsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type ConditionInput, timestamp } from "@kcp-ts/sdk";
import { hasSpecOf } from "./part.ts";
import type { RolloutPlan } from "./rolling/roll-out.ts";
import type { Strategy } from "./strategy.ts";
import {
  conditionsOf,
  isObserved,
  statusCount,
  type Workload,
  type WorkloadCondition,
} from "./workload.ts";

export interface CopyStatus {
  readonly cluster: string;
  readonly object: Workload;
  /** Whether its cluster can be asked. */
  readonly isKnown: boolean;
  /** Its spec is not ours to set, or no longer. */
  readonly isLeftAlone: boolean;
  /** What the syncer could not do for it: JSON with a reason and a message. */
  readonly trouble: string | undefined;
  /** It has not had its turn with the newest template. */
  readonly isBehind?: boolean;
  /** Its Pods are being replaced, at a pace of its own. */
  readonly isPaced?: boolean;
}

export interface AggregationInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly parts: readonly CopyStatus[];
  /** Says where the replicas are; takes the place of Progressing when nothing can progress. */
  readonly verdict: ScheduledResult;
  readonly rollOut?: RolloutPlan | undefined;
  /** Whether parts are still to be written. */
  readonly isWriting: boolean;
  readonly nowMs: number;
}

export interface ScheduledResult {
  /** True: the split is what it should be. */
  readonly isPlaced: boolean;
  /** Nothing goes on until somebody does something. */
  readonly isBlocked: boolean;
  readonly reason: string;
  readonly message: string;
}

export const scheduledCondition = "Placed";

export function reachableCopies({ parts }: AggregationInput): readonly CopyStatus[] {
  return parts.filter(({ isKnown }) => isKnown);
}

/** The sum of each field; those that nobody reports are left out, unless they are among the `always`. */
export function sumStatusFields(
  known: readonly CopyStatus[],
  fields: readonly string[],
  always: readonly string[] = [],
): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const field of [...always, ...fields]) {
    const total = known.reduce((sum, { object }) => sum + statusCount(object, field), 0);
    if (total > 0 || always.includes(field)) totals[field] = total;
  }
  return totals;
}

/** The worst of each type that parts report, what the syncer could not do, and where it all is. */
export function aggregatedConditions(
  { parent, verdict, nowMs }: AggregationInput,
  known: readonly CopyStatus[],
): readonly WorkloadCondition[] {
  const types = new Set(
    known.flatMap(({ object }) => conditionsOf(object).map(({ type }) => type)),
  );
  types.delete(scheduledCondition);
  const reported = [...types].sort().map((type) => worstCondition(type, known));
  const inputs = [...reported, syncing(known), scheduledConditionOf(verdict)];
  return withTransitionTimes(
    conditionsOf(parent),
    inputs.filter((one) => one !== undefined),
    nowMs,
  );
}

export function scheduledConditionOf({
  isPlaced,
  reason,
  message,
}: ScheduledResult): ConditionInput {
  return { type: scheduledCondition, status: isPlaced ? "True" : "False", reason, message };
}

/** Absent when everything is in sync. */
function syncing(known: readonly CopyStatus[]): ConditionInput | undefined {
  for (const { cluster, trouble } of known) {
    if (trouble === undefined) continue;
    const { reason, message } = readSyncError(trouble);
    return { type: "Synced", status: "False", reason, message: `${cluster}: ${message}` };
  }
  return undefined;
}

/** The very status of the parent when it says the same. */
export function unlessEqual<Status extends object>(parent: Workload, status: Status): Status {
  const { status: before } = parent;
  return before !== undefined && same(before, status) ? (before as Status) : status;
}

/** What counts as updated is of the newest template: parts that have not had their turn have none of it, nor those whose cluster does not know of it yet. */
export function updatedCopies(known: readonly CopyStatus[]): readonly CopyStatus[] {
  return known.filter(
    ({ isBehind, isPaced, object }) =>
      isBehind !== true && (isPaced !== true || isObserved(object)),
  );
}

/** A generation is observed when every part has what it is to have of it now, and its cluster has observed that. */
export function observedGenerationOf(
  { strategy, parent, isWriting }: AggregationInput,
  known: readonly CopyStatus[],
): { readonly observedGeneration?: number } {
  const isSeen =
    !isWriting &&
    known.every(
      ({ cluster, object, isLeftAlone, isBehind = false, isPaced = false }) =>
        isLeftAlone ||
        ((isBehind || isPaced || hasSpecOf(object, { strategy, parent, cluster })) &&
          strategy.report(object).isObserved),
    );
  const { observedGeneration: before } = (parent.status ?? {}) as { observedGeneration?: number };
  const generation = isSeen ? parent.metadata.generation : before;
  return generation === undefined ? {} : { observedGeneration: generation };
}

/** What the syncer could not do. */
export function readSyncError(text: string): { readonly reason: string; readonly message: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) {
      const { reason = "NotSynced", message = "not in sync" } = value as Record<string, unknown>;
      return { reason: String(reason), message: String(message) };
    }
  } catch {
    // Then it is no JSON, and said as it stands.
  }
  return { reason: "NotSynced", message: text };
}

/** Of the conditions of one type. Of some it is True that is bad. */
export function worstCondition(
  type: string,
  known: readonly CopyStatus[],
): ConditionInput | undefined {
  const order = badWhenTrue.has(type) ? ["True", "Unknown"] : ["False", "Unknown", "True"];
  for (const status of order) {
    const found = known.flatMap(({ cluster, object }) =>
      conditionsOf(object)
        .filter((one) => one.type === type && one.status === status)
        .map(({ reason = "", message = "" }) => ({ cluster, reason, message })),
    );
    const [first, ...more] = found;
    if (first === undefined) continue;
    const also =
      more.length === 0 ? "" : ` (also ${more.map(({ cluster }) => cluster).join(", ")})`;
    const message = `${first.cluster}: ${first.message}${also}`;
    return { type, status: status as ConditionInput["status"], reason: first.reason, message };
  }
  return undefined;
}

/** Transition times move with the status. */
export function withTransitionTimes(
  before: readonly WorkloadCondition[],
  inputs: readonly ConditionInput[],
  nowMs: number,
): readonly WorkloadCondition[] {
  const now = timestamp(nowMs);
  return inputs.map((input) => {
    const known = before.find(({ type }) => type === input.type);
    const isSame = known?.status === input.status;
    return { ...input, lastTransitionTime: isSame ? known.lastTransitionTime : now };
  });
}

/** Where a kind has times of updates as well: they move with anything. */
export function withUpdateTimes(
  before: readonly WorkloadCondition[],
  conditions: readonly WorkloadCondition[],
  nowMs: number,
): readonly WorkloadCondition[] {
  const now = timestamp(nowMs);
  return conditions.map((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    const { status, reason, message, lastUpdateTime = now } = known ?? {};
    const isSame =
      status === condition.status && reason === condition.reason && message === condition.message;
    return { ...condition, lastUpdateTime: isSame ? lastUpdateTime : now };
  });
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}

const badWhenTrue: ReadonlySet<string> = new Set(["ReplicaFailure", "Failed", "FailureTarget"]);
