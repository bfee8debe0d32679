/** What a part is to remember of a rollout after the next step. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { RollingUpdateLimits } from "./form.ts";
import type { CopyRolloutView } from "./part-view.ts";
import type { RolloutRequest } from "./roll-out.ts";
import { type RolloutRecord, storableTemplate } from "./roll-record.ts";

export interface RolloutStep {
  readonly target: JsonObject;
  readonly turn: { readonly pace: RollingUpdateLimits | undefined } | undefined;
  readonly isUndone: boolean;
  /** It did not become available in time. */
  readonly isLate: boolean;
  readonly isDone: boolean;
}

export function nextRolloutRecord(
  wish: RolloutRequest,
  part: CopyRolloutView,
  step: RolloutStep,
  isRolling: boolean,
): RolloutRecord | undefined {
  if (step.isUndone) return rolledBackRecord(wish, part, step, isRolling);
  const { budget, nowMs, form } = wish;
  const { record, known, hash, object, made, isAway } = part;
  const isTimed = budget.deadlineMs !== undefined || budget.isPaused;
  if (step.turn !== undefined) {
    if (!isRolling) return undefined;
    const begun = { of: hash, isRolling, sinceMs: inSeconds(nowMs) };
    if (!isTimed) return begun;
    // What had not come through is nothing to go back to.
    const from = part.isRolling && !part.isComplete ? known?.from : form.template(object.spec);
    const kept = from === undefined ? undefined : storableTemplate(from);
    return kept === undefined ? begun : { ...begun, made: 0, from: kept };
  }
  if (record === undefined) return isRolling ? known : undefined;
  if (!isRolling && (step.isDone || !isTimed)) return undefined;
  const { isUndone: _, ...about } = record;
  const isProgress = isTimed && record.from !== undefined && made > (record.made ?? 0);
  // What could not be seen has not had its time.
  const isFresh = isRolling && !isAway && (isProgress || (isTimed && part.wasLost));
  return { ...about, isRolling, ...(isFresh ? { made, sinceMs: inSeconds(nowMs) } : {}) };
}

/** Who was late remembers it until something else is wanted; the others, only what they go back to, until they do. */
function rolledBackRecord(
  { form, nowMs }: RolloutRequest,
  { record, known, hash, object }: CopyRolloutView,
  { target, turn, isLate: isUndone }: RolloutStep,
  isRolling: boolean,
): RolloutRecord | undefined {
  const sinceMs = record?.sinceMs ?? inSeconds(nowMs);
  const isBack = turn !== undefined || !form.isBehind(target, object.spec);
  const from = isBack || record?.from === undefined ? {} : { from: record.from };
  if (isUndone) return { of: hash, isRolling, sinceMs, ...from, isUndone };
  if (turn !== undefined)
    return isRolling ? { of: hash, isRolling, sinceMs: inSeconds(nowMs) } : undefined;
  if ("from" in from) return { of: hash, isRolling, sinceMs, ...from };
  return isRolling ? (record === undefined ? known : { of: hash, isRolling, sinceMs }) : undefined;
}

/** As it is written: nobody is late for what was cut off. */
function inSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}
