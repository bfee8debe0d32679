/**
 * The common functions of status aggregation for all kinds: sums, the worst condition with the
 * cluster's name in the message, and the generation that all copies have observed.
 *
 * Copies in Unreachable clusters count as 0: their last reports are no longer known to be true.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type ConditionInput, timestamp } from "@kcp-ts/sdk";
import { jsonObjectOf } from "../api/index.ts";
import { hasSpecOf } from "./cluster-copy.ts";
import type { PlacementRecord } from "./placement-record.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
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
  /** Whether the copy's cluster is reachable. */
  readonly isReachable: boolean;
  /** The copy is unmanaged: the coordinator does not set its spec. */
  readonly isUnmanaged: boolean;
  /** The sync error of the copy: JSON with a reason and a message. */
  readonly syncError: string | undefined;
  /** The rollout has not reached the copy: it has an older template. */
  readonly isOutdated?: boolean;
  /** The copy's Pods are being replaced, within its own rolling update limits. */
  readonly isRollingOut?: boolean;
}

export interface AggregationInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly copies: readonly CopyStatus[];
  /** The condition Scheduled; it replaces Progressing when nothing can progress. */
  readonly scheduled: ScheduledResult;
  readonly rollout?: RolloutPlan | undefined;
  /** The recorded completions of a Job's copies, by name. */
  readonly completions?: PlacementRecord["completions"];
  /** Whether per-cluster objects are still to be written. */
  readonly isWriting: boolean;
  readonly nowMs: number;
}

export interface ScheduledResult {
  /** The assignment is the desired one. */
  readonly isScheduled: boolean;
  /** No progress is possible without a change by a user. */
  readonly isBlocked: boolean;
  readonly reason: string;
  readonly message: string;
}

export const scheduledCondition = "Scheduled";

export function reachableCopies({ copies }: AggregationInput): readonly CopyStatus[] {
  return copies.filter(({ isReachable }) => isReachable);
}

/** The sum of each field; fields that no copy reports are omitted, unless they are in `always`. */
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

/**
 * The worst condition of each type that copies report, the sync errors, and the condition
 * Scheduled.
 */
export function aggregatedConditions(
  { parent, scheduled, nowMs }: AggregationInput,
  known: readonly CopyStatus[],
): readonly WorkloadCondition[] {
  const byType = new Map<string, ReportedCondition[]>();
  for (const { cluster, object } of known)
    for (const { type, status, reason = "", message = "" } of conditionsOf(object)) {
      const all = byType.get(type);
      const one = { cluster, status, reason, message };
      if (all === undefined) byType.set(type, [one]);
      else all.push(one);
    }
  byType.delete(scheduledCondition);
  const types = [...byType.keys()].sort();
  const reported = types.map((type) => worstOf(type, byType.get(type) ?? []));
  const inputs = [...reported, syncing(known), scheduledConditionOf(scheduled)];
  return withTransitionTimes(
    conditionsOf(parent),
    inputs.filter((one) => one !== undefined),
    nowMs,
  );
}

export function scheduledConditionOf({
  isScheduled,
  reason,
  message,
}: ScheduledResult): ConditionInput {
  return { type: scheduledCondition, status: isScheduled ? "True" : "False", reason, message };
}

/** The condition of sync errors; undefined when every copy is in sync. */
function syncing(known: readonly CopyStatus[]): ConditionInput | undefined {
  for (const { cluster, syncError } of known) {
    if (syncError === undefined) continue;
    const { reason, message } = readSyncError(syncError);
    return { type: "Synced", status: "False", reason, message: `${cluster}: ${message}` };
  }
  return undefined;
}

/** The parent's identical status object when the new status equals it. */
export function unlessEqual<Status extends object>(parent: Workload, status: Status): Status {
  const { status: before } = parent;
  return before !== undefined && same(before, status) ? (before as Status) : status;
}

/**
 * The copies whose updated replicas count: copies that the rollout has not reached, or whose
 * cluster has not observed the newest template, have none.
 */
export function updatedCopies(known: readonly CopyStatus[]): readonly CopyStatus[] {
  return known.filter(
    ({ isOutdated, isRollingOut, object }) =>
      isOutdated !== true && (isRollingOut !== true || isObserved(object)),
  );
}

/**
 * A generation is observed when every copy has its current part of the rollout, and its cluster has
 * observed that.
 */
export function observedGenerationOf(
  { strategy, parent, isWriting }: AggregationInput,
  known: readonly CopyStatus[],
): { readonly observedGeneration?: number } {
  const isSeen =
    !isWriting &&
    known.every(
      ({ cluster, object, isUnmanaged, isOutdated = false, isRollingOut = false }) =>
        isUnmanaged ||
        ((isOutdated || isRollingOut || hasSpecOf(object, { strategy, parent, cluster })) &&
          strategy.statusReportOf(object).isObserved),
    );
  const { observedGeneration: before } = (parent.status ?? {}) as { observedGeneration?: number };
  const generation = isSeen ? parent.metadata.generation : before;
  return generation === undefined ? {} : { observedGeneration: generation };
}

const syncErrorTextMax = 65_536;

/** Parses the syncer's error annotation. */
export function readSyncError(text: string): { readonly reason: string; readonly message: string } {
  const value = jsonObjectOf(text, syncErrorTextMax);
  // A value that is no JSON is the message itself.
  if (value === undefined) return { reason: "NotSynced", message: text };
  const { reason = "NotSynced", message = "not in sync" } = value as Record<string, unknown>;
  return { reason: String(reason), message: String(message) };
}

interface ReportedCondition {
  readonly cluster: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The worst of the conditions of one type. For some types, True is worse than False. */
export function worstCondition(
  type: string,
  known: readonly CopyStatus[],
): ConditionInput | undefined {
  const reported = known.flatMap(({ cluster, object }) =>
    conditionsOf(object)
      .filter((one) => one.type === type)
      .map(({ status, reason = "", message = "" }) => ({ cluster, status, reason, message })),
  );
  return worstOf(type, reported);
}

function worstOf(type: string, reported: readonly ReportedCondition[]): ConditionInput | undefined {
  const order = badWhenTrue.has(type) ? ["True", "Unknown"] : ["False", "Unknown", "True"];
  for (const status of order) {
    const [first, ...more] = reported.filter((one) => one.status === status);
    if (first === undefined) continue;
    const also =
      more.length === 0 ? "" : ` (also ${more.map(({ cluster }) => cluster).join(", ")})`;
    const message = `${first.cluster}: ${first.message}${also}`;
    return { type, status: status as ConditionInput["status"], reason: first.reason, message };
  }
  return undefined;
}

/** Transition times change with the condition's status. */
export function withTransitionTimes(
  before: readonly WorkloadCondition[],
  inputs: readonly ConditionInput[],
  nowMs: number,
): readonly WorkloadCondition[] {
  const now = timestamp(nowMs);
  const byType = firstByType(before);
  return inputs.map((input) => {
    const known = byType.get(input.type);
    const isSame = known?.status === input.status;
    return { ...input, lastTransitionTime: isSame ? known.lastTransitionTime : now };
  });
}

/** For kinds with update times: these change with every change of a condition. */
export function withUpdateTimes(
  before: readonly WorkloadCondition[],
  conditions: readonly WorkloadCondition[],
  nowMs: number,
): readonly WorkloadCondition[] {
  const now = timestamp(nowMs);
  const byType = firstByType(before);
  return conditions.map((condition) => {
    const known = byType.get(condition.type);
    const { status, reason, message, lastUpdateTime = now } = known ?? {};
    const isSame =
      status === condition.status && reason === condition.reason && message === condition.message;
    return { ...condition, lastUpdateTime: isSame ? lastUpdateTime : now };
  });
}

function firstByType(
  conditions: readonly WorkloadCondition[],
): ReadonlyMap<string, WorkloadCondition> {
  return new Map(conditions.toReversed().map((one) => [one.type, one]));
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}

const badWhenTrue: ReadonlySet<string> = new Set(["ReplicaFailure", "Failed", "FailureTarget"]);
