/**
 * One rollout over all clusters: the next spec of each copy, as far as it replaces Pods. Pure, and
 * decided anew from the observed state each time, as moves are; `rollout-record.ts` has the
 * persisted state.
 *
 * An edit during a rollout changes its target: copies that are not updated yet go to the newest
 * template directly, updated copies continue from theirs.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type RolloutBudget, sumOf } from "../stepper/cluster-share.ts";
import { type CopyRolloutView, isSameTemplate } from "./copy-rollout-view.ts";
import { scaledIntOrPercent } from "./int-or-percent.ts";
import type { KindRollout, RolloutMode } from "./kind-rollout.ts";
import { nextRolloutRecord, type RolloutStep } from "./next-rollout-record.ts";
import type { RolloutRecord } from "./rollout-record.ts";
import { type RollingCopy, type RolloutTurns, rolloutTurns } from "./rollout-turns.ts";

export interface RolloutRequest {
  readonly kindRollout: KindRollout;
  /** The spec of a copy with the author's limits. */
  readonly spec: JsonObject;
  /** Pods in all clusters together; the desired Pods of the copies if omitted. */
  readonly total: number | undefined;
  /** Unscheduled Pods of the total. */
  readonly unscheduled: number;
  /** Pods that are removed together with their copies. */
  readonly removed: number;
  readonly copies: readonly CopyRolloutView[];
  /** New copies with the newest template, by cluster name. */
  readonly appliedTemplates: ReadonlyMap<string, JsonObject>;
  /** Limits in addition to those of the spec. */
  readonly limits: {
    readonly maxUnavailable?: number | string;
    readonly maxSurge?: number | string;
  };
  readonly budget: Pick<RolloutBudget, "isPaused" | "isStopBeforeStart" | "deadlineMs">;
  readonly nowMs: number;
}

export interface RolloutPlan {
  /** By cluster name; copies that stay unchanged are omitted. */
  readonly copies: ReadonlyMap<string, CopyRollout>;
  /** The specs with which new copies are created. */
  readonly appliedTemplates: ReadonlyMap<string, JsonObject>;
  readonly state: "Complete" | "RollingOut" | "Paused" | "RolledBack";
  /** The clusters that missed the progress deadline. */
  readonly late: readonly string[];
  readonly requeueAtMs: number | undefined;
}

export interface CopyRollout {
  readonly spec: JsonObject;
  readonly record: RolloutRecord | undefined;
  /** The copy does not have the newest template. */
  readonly isOutdated: boolean;
  /** The copy gets another template now. */
  readonly isTurn: boolean;
  readonly isRolling: boolean;
  readonly updated: number;
  readonly pods: number;
}

export function planRollout(request: RolloutRequest): RolloutPlan {
  const { kindRollout, copies, budget } = request;
  const late = new Set(copies.filter((one) => isLate(request, one)));
  const isRolledBack = late.size > 0;
  const targets = new Map(
    copies.map((one) => [one.name, targetOf(kindRollout, one, isRolledBack)]),
  );
  const turns: RolloutTurns = budget.isPaused ? new Map() : turnsOf(request, targets);
  const isDone = copies.every(
    (one) => one.isNotReady || (!isOutdatedCopy(kindRollout, one) && isAtRest(one)),
  );
  const rolls = new Map<string, CopyRollout>();
  for (const copy of copies) {
    const target = targets.get(copy.name) ?? copy.wanted;
    const turn = turns.has(copy.name) ? { pace: turns.get(copy.name) } : undefined;
    const end = { isRolledBack, isLate: late.has(copy), isDone };
    rolls.set(copy.name, copyRolloutOf(request, copy, { target, turn, ...end }));
  }
  const isDisruptionBlocked =
    budget.isPaused && copies.some((one) => !one.isNotReady && isOutdatedCopy(kindRollout, one));
  const open = isDisruptionBlocked ? "Paused" : isDone ? "Complete" : "RollingOut";
  return {
    copies: rolls,
    appliedTemplates: madeOf(request, targets, isRolledBack),
    state: isRolledBack ? "RolledBack" : open,
    late: [...late].map(({ name }) => name).sort(),
    requeueAtMs: wakeAt(request, rolls),
  };
}

/** Whether the copy lacks the newest template. */
function isOutdatedCopy(kindRollout: KindRollout, { wanted, object }: CopyRolloutView): boolean {
  return kindRollout.isOutdated(wanted, object.spec);
}

function isAtRest({ isRolling, isComplete }: CopyRolloutView): boolean {
  return !isRolling || isComplete;
}

/**
 * Whether the copy was rolled back before, or missed its deadline; and a template to roll back to
 * is known.
 */
function isLate({ budget, nowMs, kindRollout }: RolloutRequest, copy: CopyRolloutView): boolean {
  const { record, isNotReady, isComplete, wasUnreachable, progress, object, wanted } = copy;
  if (record === undefined) return false;
  const { deadlineMs, isPaused } = budget;
  if (record.isRolledBack === true) return isPaused || deadlineMs !== undefined;
  if (deadlineMs === undefined || isNotReady || wasUnreachable || record.from === undefined)
    return false;
  if (!record.isRolling || isComplete || kindRollout.isOutdated(wanted, object.spec)) return false;
  return progress <= (record.progress ?? 0) && nowMs >= record.sinceMs + deadlineMs;
}

/**
 * A failed rollout is rolled back: updated copies return to their former template, the others keep
 * theirs.
 */
function targetOf(
  kindRollout: KindRollout,
  copy: CopyRolloutView,
  isRolledBack: boolean,
): JsonObject {
  const { wanted, record, object } = copy;
  if (!isRolledBack) return wanted;
  if (record?.from !== undefined) return kindRollout.withTemplate(wanted, record.from);
  return kindRollout.isOutdated(wanted, object.spec)
    ? kindRollout.withCurrentTemplate(wanted, object.spec)
    : wanted;
}

function turnsOf(request: RolloutRequest, targets: ReadonlyMap<string, JsonObject>): RolloutTurns {
  const { kindRollout, copies } = request;
  const rolling = copies.map((copy): RollingCopy => {
    const { name, object, isUnreachable, isNotReady, isReported, limits } = copy;
    const target = targets.get(name) ?? copy.wanted;
    const pods = kindRollout.pods(object, target);
    return {
      name,
      previousPods: kindRollout.pods(object, object.spec),
      pods,
      available: isReported ? Math.min(pods, kindRollout.available(object)) : 0,
      isReported,
      isOutdated: kindRollout.isOutdated(target, object.spec),
      limits,
      isUnreachable,
      isNotReady,
      rank: kindRollout.rank?.(object),
    };
  });
  const known = rolling.filter(({ isUnreachable }) => !isUnreachable);
  const total = request.total ?? sumOf(known, ({ pods }) => pods);
  const most = request.total ?? Number.POSITIVE_INFINITY;
  const facts = { copies: rolling, scheduled: placedOf(request, rolling, most) };
  return rolloutTurns({ ...facts, mode: rolloutModeOf(request, total) });
}

/**
 * The available Pods if all scheduled Pods in reachable clusters were available; Pods in flight
 * between two clusters count as scheduled.
 */
function placedOf(
  { kindRollout, unscheduled, removed, appliedTemplates }: RolloutRequest,
  rolling: readonly RollingCopy[],
  total: number,
): number {
  const [known, out] = [false, true].map((is) =>
    sumOf(
      rolling.filter(({ isUnreachable }) => isUnreachable === is),
      ({ previousPods, pods }) => Math.max(previousPods, pods),
    ),
  ) as [number, number];
  const begun = sumOf([...appliedTemplates.values()], (spec) => kindRollout.pods({}, spec));
  const all = known + begun + removed;
  return total === Infinity ? all : Math.min(total, Math.max(all, total - unscheduled - out));
}

/** The limits of the spec's author, and further restrictions. StopBeforeStart permits no surge. */
export function rolloutModeOf(
  {
    kindRollout,
    spec,
    limits,
    budget,
  }: Pick<RolloutRequest, "kindRollout" | "spec" | "limits" | "budget">,
  total: number,
): RolloutMode {
  const said = kindRollout.modeOf(spec, total);
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
  if (budget.isStopBeforeStart) return { unavailable: Math.max(1, unavailable), surge: 0 };
  return unavailable + surge === 0 ? kindRollout.minimumLimits : { unavailable, surge };
}

function copyRolloutOf(
  request: RolloutRequest,
  copy: CopyRolloutView,
  step: RolloutStep,
): CopyRollout {
  const { kindRollout } = request;
  const { object, isComplete } = copy;
  const { target, turn } = step;
  const pods = kindRollout.pods(object, target);
  // A cluster without a report may have Pods.
  const hasPods = pods > 0 || !copy.isReported;
  const isRolling =
    turn === undefined ? copy.isRolling && !isComplete : hasPods && isByItself(request);
  return {
    spec: specOf(kindRollout, copy, step, isRolling),
    record: nextRolloutRecord(request, copy, step, isRolling),
    isOutdated: isOutdatedCopy(kindRollout, copy),
    isTurn: turn !== undefined,
    isRolling,
    updated: copy.updated,
    pods,
  };
}

/** Whether clusters replace Pods by themselves. */
function isByItself({ kindRollout, spec, total = 0 }: RolloutRequest): boolean {
  return kindRollout.modeOf(spec, total) !== "OnDelete";
}

function specOf(
  kindRollout: KindRollout,
  { object: { spec: current } }: CopyRolloutView,
  { target, turn }: RolloutStep,
  isRolling: boolean,
): JsonObject {
  if (turn !== undefined)
    return turn.pace === undefined || !isRolling
      ? target
      : kindRollout.withLimits(target, turn.pace);
  const spec = kindRollout.isOutdated(target, current)
    ? kindRollout.withCurrentTemplate(target, current)
    : target;
  return isRolling ? kindRollout.withLimitsOf(spec, current) : spec;
}

/**
 * While no copy gets a newer template, new copies get the template of the others; where clusters
 * have templates of their own, that template is unknown.
 */
function madeOf(
  { kindRollout, copies, appliedTemplates, budget }: RolloutRequest,
  targets: ReadonlyMap<string, JsonObject>,
  isRolledBack: boolean,
): ReadonlyMap<string, JsonObject> {
  if (!budget.isPaused && !isRolledBack) return appliedTemplates;
  const stays = ({ name, wanted, object: { spec } }: CopyRolloutView) => {
    const target = targets.get(name) ?? wanted;
    return budget.isPaused && kindRollout.isOutdated(target, spec)
      ? kindRollout.withCurrentTemplate(target, spec)
      : target;
  };
  const specs = new Map<string, JsonObject>();
  for (const [name, spec] of appliedTemplates) {
    const other = copies.find(
      (one) =>
        kindRollout.isOutdated(one.wanted, stays(one)) &&
        isSameTemplate(kindRollout, one.wanted, spec),
    );
    const template = other && kindRollout.template(stays(other));
    specs.set(name, template === undefined ? spec : kindRollout.withTemplate(spec, template));
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
