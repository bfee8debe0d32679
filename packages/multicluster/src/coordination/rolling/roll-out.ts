/**
 * One rollout over all clusters: what the spec of each part is to be next, as far as it makes Pods be replaced. Pure, and decided anew from what is found each time, as moves are;
 * what is kept on parts is in `roll-record.ts`.
 *
 * An edit while one is under way changes where it leads: parts that have not had their turn go to the newest at once, those that have go on from what they are.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type RolloutBudget, sumOf } from "../members.ts";
import type { KindRollout, RolloutMode } from "./form.ts";
import { scaledIntOrPercent } from "./int-or-percent.ts";
import { nextRolloutRecord, type RolloutStep } from "./next-record.ts";
import { type CopyRolloutView, isSameTemplate } from "./part-view.ts";
import { type RollingCopy, type RolloutTurns, rolloutTurns } from "./plan-roll-out.ts";
import type { RolloutRecord } from "./roll-record.ts";

export interface RolloutRequest {
  readonly form: KindRollout;
  /** The spec of a part that has all of it: what its author says of the pace. */
  readonly spec: JsonObject;
  /** Pods in all clusters together; those that the parts are to have if left out. */
  readonly total: number | undefined;
  /** So many of these have no place. */
  readonly unplaced: number;
  /** So many are taken away altogether, with their parts. */
  readonly removed: number;
  readonly parts: readonly CopyRolloutView[];
  /** Parts that are to be made, by name of the cluster, as the newest template has them. */
  readonly made: ReadonlyMap<string, JsonObject>;
  /** What is said of the pace beside the spec. */
  readonly limits: {
    readonly maxUnavailable?: number | string;
    readonly maxSurge?: number | string;
  };
  readonly budget: Pick<RolloutBudget, "isPaused" | "isExclusive" | "deadlineMs">;
  readonly nowMs: number;
}

export interface RolloutPlan {
  /** By name of the cluster; those that are left alone are not in it. */
  readonly parts: ReadonlyMap<string, CopyRollout>;
  /** What new parts are made with. */
  readonly made: ReadonlyMap<string, JsonObject>;
  readonly state: "done" | "rolling" | "paused" | "undone";
  /** What did not become available in time. */
  readonly late: readonly string[];
  readonly wakeAtMs: number | undefined;
}

export interface CopyRollout {
  readonly spec: JsonObject;
  readonly record: RolloutRecord | undefined;
  /** It has not the newest template. */
  readonly isBehind: boolean;
  /** It gets another template now. */
  readonly isTurn: boolean;
  readonly isRolling: boolean;
  readonly updated: number;
  readonly pods: number;
}

export function planRollout(wish: RolloutRequest): RolloutPlan {
  const { form, parts, budget } = wish;
  const late = new Set(parts.filter((one) => isLate(wish, one)));
  const isUndone = late.size > 0;
  const targets = new Map(parts.map((one) => [one.name, targetOf(form, one, isUndone)]));
  const turns: RolloutTurns = budget.isPaused ? new Map() : turnsOf(wish, targets);
  const isDone = parts.every((one) => one.isAway || (!isOutdatedCopy(form, one) && isAtRest(one)));
  const rolls = new Map<string, CopyRollout>();
  for (const part of parts) {
    const target = targets.get(part.name) ?? part.wanted;
    const turn = turns.has(part.name) ? { pace: turns.get(part.name) } : undefined;
    const end = { isUndone, isLate: late.has(part), isDone };
    rolls.set(part.name, copyRolloutOf(wish, part, { target, turn, ...end }));
  }
  const isHeld = budget.isPaused && parts.some((one) => !one.isAway && isOutdatedCopy(form, one));
  const open = isHeld ? "paused" : isDone ? "done" : "rolling";
  return {
    parts: rolls,
    made: madeOf(wish, targets, isUndone),
    state: isUndone ? "undone" : open,
    late: [...late].map(({ name }) => name).sort(),
    wakeAtMs: wakeAt(wish, rolls),
  };
}

/** It has not the newest template. */
function isOutdatedCopy(form: KindRollout, { wanted, object }: CopyRolloutView): boolean {
  return form.isBehind(wanted, object.spec);
}

function isAtRest({ isRolling, isComplete }: CopyRolloutView): boolean {
  return !isRolling || isComplete;
}

/** It was undone before, or did not become available in time; and something is known to go back to. */
function isLate({ budget, nowMs, form }: RolloutRequest, part: CopyRolloutView): boolean {
  const { record, isAway, isComplete, wasLost, made, object, wanted } = part;
  if (record === undefined) return false;
  const { deadlineMs, isPaused } = budget;
  if (record.isUndone === true) return isPaused || deadlineMs !== undefined;
  if (deadlineMs === undefined || isAway || wasLost || record.from === undefined) return false;
  if (!record.isRolling || isComplete || form.isBehind(wanted, object.spec)) return false;
  return made <= (record.made ?? 0) && nowMs >= record.sinceMs + deadlineMs;
}

/** A rollout that has failed is undone: what had its turn goes back, what had not stays. */
function targetOf(form: KindRollout, part: CopyRolloutView, isUndone: boolean): JsonObject {
  const { wanted, record, object } = part;
  if (!isUndone) return wanted;
  if (record?.from !== undefined) return form.withTemplate(wanted, record.from);
  return form.isBehind(wanted, object.spec) ? form.held(wanted, object.spec) : wanted;
}

function turnsOf(wish: RolloutRequest, targets: ReadonlyMap<string, JsonObject>): RolloutTurns {
  const { form, parts } = wish;
  const rolling = parts.map((part): RollingCopy => {
    const { name, object, isOut, isAway, isReported, pace } = part;
    const target = targets.get(name) ?? part.wanted;
    const pods = form.pods(object, target);
    return {
      name,
      has: form.pods(object, object.spec),
      pods,
      available: isReported ? Math.min(pods, form.available(object)) : 0,
      isReported,
      isBehind: form.isBehind(target, object.spec),
      pace,
      isOut,
      isAway,
      rank: form.rank?.(object),
    };
  });
  const known = rolling.filter(({ isOut }) => !isOut);
  const total = wish.total ?? sumOf(known, ({ pods }) => pods);
  const most = wish.total ?? Number.POSITIVE_INFINITY;
  const facts = { parts: rolling, placed: placedOf(wish, rolling, most) };
  return rolloutTurns({ ...facts, allowance: rolloutModeOf(wish, total) });
}

/** As many as there would be, were all available that has a place in a cluster that can be seen; what is on its way between two has one. */
function placedOf(
  { form, unplaced, removed, made }: RolloutRequest,
  rolling: readonly RollingCopy[],
  total: number,
): number {
  const [known, out] = [false, true].map((is) =>
    sumOf(
      rolling.filter(({ isOut }) => isOut === is),
      ({ has, pods }) => Math.max(has, pods),
    ),
  ) as [number, number];
  const begun = sumOf([...made.values()], (spec) => form.pods({}, spec));
  const all = known + begun + removed;
  return total === Infinity ? all : Math.min(total, Math.max(all, total - unplaced - out));
}

/** What the author of the spec allows, and whoever has limited it since. At most one: none beside what it replaces. */
export function rolloutModeOf(
  { form, spec, limits, budget }: Pick<RolloutRequest, "form" | "spec" | "limits" | "budget">,
  total: number,
): RolloutMode {
  const said = form.allowance(spec, total);
  if (typeof said === "string") return said;
  const { maxUnavailable, maxSurge } = limits;
  const unavailable = Math.min(
    said.unavailable,
    maxUnavailable === undefined ? Infinity : scaledIntOrPercent(maxUnavailable, total, Math.floor),
  );
  const surge = Math.min(
    said.surge,
    maxSurge === undefined ? Infinity : scaledIntOrPercent(maxSurge, total, Math.ceil),
  );
  if (budget.isExclusive) return { unavailable: Math.max(1, unavailable), surge: 0 };
  return unavailable + surge === 0 ? form.least : { unavailable, surge };
}

function copyRolloutOf(
  wish: RolloutRequest,
  part: CopyRolloutView,
  step: RolloutStep,
): CopyRollout {
  const { form } = wish;
  const { object, isComplete } = part;
  const { target, turn } = step;
  const pods = form.pods(object, target);
  // Of a cluster that has not said how many it has, nobody knows that there are none.
  const hasPods = pods > 0 || !part.isReported;
  const isRolling =
    turn === undefined ? part.isRolling && !isComplete : hasPods && isByItself(wish);
  return {
    spec: specOf(form, part, step, isRolling),
    record: nextRolloutRecord(wish, part, step, isRolling),
    isBehind: isOutdatedCopy(form, part),
    isTurn: turn !== undefined,
    isRolling,
    updated: part.updated,
    pods,
  };
}

/** Whether clusters replace Pods of their own accord. */
function isByItself({ form, spec, total = 0 }: RolloutRequest): boolean {
  return form.allowance(spec, total) !== "byHand";
}

function specOf(
  form: KindRollout,
  { object: { spec: current } }: CopyRolloutView,
  { target, turn }: RolloutStep,
  isRolling: boolean,
): JsonObject {
  if (turn !== undefined)
    return turn.pace === undefined || !isRolling ? target : form.paced(target, turn.pace);
  const spec = form.isBehind(target, current) ? form.held(target, current) : target;
  return isRolling ? form.asPaced(spec, current) : spec;
}

/** While nobody gets anything newer, what is made anew is what the others are; where clusters have templates of their own, that is not known. */
function madeOf(
  { form, parts, made, budget }: RolloutRequest,
  targets: ReadonlyMap<string, JsonObject>,
  isUndone: boolean,
): ReadonlyMap<string, JsonObject> {
  if (!budget.isPaused && !isUndone) return made;
  const stays = ({ name, wanted, object: { spec } }: CopyRolloutView) => {
    const target = targets.get(name) ?? wanted;
    return budget.isPaused && form.isBehind(target, spec) ? form.held(target, spec) : target;
  };
  const specs = new Map<string, JsonObject>();
  for (const [name, spec] of made) {
    const other = parts.find(
      (one) => form.isBehind(one.wanted, stays(one)) && isSameTemplate(form, one.wanted, spec),
    );
    const template = other && form.template(stays(other));
    specs.set(name, template === undefined ? spec : form.withTemplate(spec, template));
  }
  return specs;
}

function wakeAt(
  { budget: { deadlineMs }, nowMs }: RolloutRequest,
  rolls: ReadonlyMap<string, CopyRollout>,
): number | undefined {
  if (deadlineMs === undefined) return undefined;
  const ends = [...rolls.values()].flatMap(({ record }) =>
    record?.isRolling === true && record.from !== undefined ? [record.sinceMs + deadlineMs] : [],
  );
  const ahead = ends.filter((one) => one > nowMs);
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}
