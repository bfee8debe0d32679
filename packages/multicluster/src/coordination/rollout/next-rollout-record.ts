/** The rollout record of a per-cluster object after the next step. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { CopyRolloutView } from "./copy-rollout-view.ts";
import type { RollingUpdateLimits } from "./kind-rollout.ts";
import type { RolloutRequest } from "./plan-rollout.ts";
import { type RolloutRecord, storableTemplate } from "./rollout-record.ts";

export interface RolloutStep {
  readonly target: JsonObject;
  readonly turn: { readonly pace: RollingUpdateLimits | undefined } | undefined;
  readonly isRolledBack: boolean;
  /** The copy missed its progress deadline. */
  readonly isLate: boolean;
  readonly isDone: boolean;
}

export function nextRolloutRecord(
  request: RolloutRequest,
  copy: CopyRolloutView,
  step: RolloutStep,
  isRolling: boolean,
): RolloutRecord | undefined {
  if (step.isRolledBack) return rolledBackRecord(request, copy, step, isRolling);
  const { budget, nowMs, kindRollout } = request;
  const { record, observed, hash, object, progress, isNotReady } = copy;
  const isTimed = budget.deadlineMs !== undefined || budget.isPaused;
  if (step.turn !== undefined) {
    if (!isRolling) return undefined;
    const begun = { request: hash, isRolling, sinceMs: inSeconds(nowMs) };
    if (!isTimed) return begun;
    // A template whose rollout did not complete is no template to roll back to.
    const from =
      copy.isRolling && !copy.isComplete ? observed?.from : kindRollout.template(object.spec);
    const kept = from === undefined ? undefined : storableTemplate(from);
    return kept === undefined ? begun : { ...begun, progress: 0, from: kept };
  }
  if (record === undefined) return isRolling ? observed : undefined;
  if (!isRolling && (step.isDone || !isTimed)) return undefined;
  const { isRolledBack: _, ...about } = record;
  const isProgress = isTimed && record.from !== undefined && progress > (record.progress ?? 0);
  // The deadline of a copy does not run while its cluster is unreachable.
  const isFresh = isRolling && !isNotReady && (isProgress || (isTimed && copy.wasUnreachable));
  return { ...about, isRolling, ...(isFresh ? { progress, sinceMs: inSeconds(nowMs) } : {}) };
}

/**
 * A copy that missed its deadline keeps the record until another template is desired; other copies
 * keep only the template to roll back to, until they have it.
 */
function rolledBackRecord(
  { kindRollout, nowMs }: RolloutRequest,
  { record, observed, hash, object }: CopyRolloutView,
  { target, turn, isLate: isRolledBack }: RolloutStep,
  isRolling: boolean,
): RolloutRecord | undefined {
  const sinceMs = record?.sinceMs ?? inSeconds(nowMs);
  const isBack = turn !== undefined || !kindRollout.isOutdated(target, object.spec);
  const from = isBack || record?.from === undefined ? {} : { from: record.from };
  if (isRolledBack) return { request: hash, isRolling, sinceMs, ...from, isRolledBack };
  if (turn !== undefined)
    return isRolling ? { request: hash, isRolling, sinceMs: inSeconds(nowMs) } : undefined;
  if ("from" in from) return { request: hash, isRolling, sinceMs, ...from };
  return isRolling
    ? record === undefined
      ? observed
      : { request: hash, isRolling, sinceMs }
    : undefined;
}

/**
 * Rounded up to the seconds that the annotation stores: rounding down would let a deadline pass
 * early.
 */
function inSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}
