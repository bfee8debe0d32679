/**
 * One step of a drain: the objects to select for eviction, the progress, and the status. Pure.
 *
 * The selection is persisted on the per-cluster objects (`workload.kcp.io/evict`), so that a
 * restart continues it. A blocked object uses no budget: it would keep all other objects from
 * leaving.
 */
import { type ConditionInput, type EventInput, timestamp } from "@kcp-ts/sdk";
import type { DrainBlocker, DrainSpec, DrainStatus } from "../api/index.ts";

/** An object that is assigned to the drained cluster. */
export interface DrainedObject {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly replicas: number;
  /** Whether the drain has selected the object for eviction. */
  readonly isEvicting: boolean;
  /** The reason why the object cannot leave by itself. */
  readonly block: { readonly reason: string; readonly message: string } | undefined;
}

export interface DrainInput {
  readonly target: string;
  readonly spec: DrainSpec;
  readonly previousStatus: DrainStatus | undefined;
  readonly objects: readonly DrainedObject[];
  /** Nothing is assigned any more, but this object is still in the cluster. */
  readonly heldObject: string | undefined;
  /** Whether the last status reported the drain as complete. */
  readonly wasDrained: boolean;
  readonly nowMs: number;
}

export interface DrainStep {
  /** The objects to select for eviction in this step. */
  readonly toEvict: readonly DrainedObject[];
  readonly status: DrainStatus;
  readonly condition: ConditionInput;
  readonly events: readonly EventInput[];
  readonly isDrained: boolean;
}

/** The most blocked objects that the status names; the others are counted. */
const blockedShownMax = 20;
const messageCharactersMax = 512;

export function drainStep(input: DrainInput): DrainStep {
  const { previousStatus, objects, nowMs, heldObject } = input;
  const remaining = objects.length;
  const total = Math.max(previousStatus?.total ?? 0, remaining);
  const moved = total - remaining;
  const startedAt = previousStatus?.startedAt ?? timestamp(nowMs);
  const blocked = blocksOf(objects);
  const isDrained = remaining === 0 && heldObject === undefined;
  const estimatedEnd = estimateOf({ previousStatus, moved, remaining, startedAt, nowMs });
  const status: DrainStatus = {
    startedAt,
    total,
    moved,
    remaining,
    remainingReplicas: objects.reduce((sum, { replicas }) => sum + replicas, 0),
    ...(blocked.length === 0 ? {} : { blocked: blocked.slice(0, blockedShownMax) }),
    ...(estimatedEnd === undefined ? {} : { estimatedEnd }),
  };
  const condition = conditionOf(input, status, blocked.length, isDrained);
  return {
    toEvict: selectForEviction(input),
    status,
    condition,
    events: drainEvents(input, status, condition, isDrained),
    isDrained,
  };
}

function blocksOf(occupants: readonly DrainedObject[]): readonly DrainBlocker[] {
  return occupants.flatMap(({ kind, namespace, name, block }) => {
    if (block === undefined) return [];
    const message = block.message.slice(0, messageCharactersMax);
    return [
      {
        kind,
        ...(namespace === undefined ? {} : { namespace }),
        name,
        reason: block.reason,
        message,
      },
    ];
  });
}

/**
 * Selects in the order of names, within the budget; one object may always be in flight, however
 * large.
 */
function selectForEviction({ spec: { budget }, objects }: DrainInput): readonly DrainedObject[] {
  if (budget === undefined) return [];
  const { workloads = Number.POSITIVE_INFINITY, replicas = Number.POSITIVE_INFINITY } = budget;
  const inFlight = objects.filter(({ isEvicting, block }) => isEvicting && block === undefined);
  let [count, weight] = [inFlight.length, inFlight.reduce((sum, one) => sum + one.replicas, 0)];
  const chosen: DrainedObject[] = [];
  const order = (one: DrainedObject) => `${one.namespace ?? ""}/${one.kind}/${one.name}`;
  const waiting = objects.filter(({ isEvicting }) => !isEvicting);
  for (const one of [...waiting].sort((a, b) => (order(a) < order(b) ? -1 : 1))) {
    const fits = count < workloads && (count === 0 || weight + one.replicas <= replicas);
    if (!fits) break;
    chosen.push(one);
    count++;
    weight += one.replicas;
  }
  return chosen;
}

interface DrainProgress {
  readonly previousStatus: DrainStatus | undefined;
  readonly moved: number;
  readonly remaining: number;
  readonly startedAt: string;
  readonly nowMs: number;
}

/** The estimated end, from the rate so far; unchanged until another object has left. */
function estimateOf({
  previousStatus,
  moved,
  remaining,
  startedAt,
  nowMs,
}: DrainProgress): string | undefined {
  if (moved === 0 || remaining === 0) return undefined;
  if (previousStatus?.moved === moved && previousStatus.remaining === remaining)
    return previousStatus.estimatedEnd;
  const elapsedMs = Math.max(0, nowMs - Date.parse(startedAt));
  return timestamp(nowMs + (elapsedMs * remaining) / moved);
}

function conditionOf(
  { spec, heldObject, nowMs, target }: DrainInput,
  { startedAt, total, moved, remaining }: DrainStatus,
  blocked: number,
  isDrained: boolean,
): ConditionInput {
  const type = "Drained";
  if (isDrained) {
    const next =
      spec.deleteAfterDrain === true
        ? "its SyncTarget is deleted"
        : `kubectl delete synctarget ${target} takes it out, kubectl kcp uncordon ${target} uses it again`;
    return { type, status: "True", reason: "Drained", message: `the cluster is empty: ${next}` };
  }
  const progress =
    remaining === 0
      ? `${heldObject} is still in the cluster`
      : `${moved} of ${total} workloads have left, ${remaining} remain`;
  const { deadlineSeconds } = spec;
  const isLate =
    deadlineSeconds !== undefined && nowMs >= Date.parse(startedAt) + deadlineSeconds * 1000;
  const held =
    blocked === 0 ? "" : `; ${blocked} cannot leave by themselves, see status.drain.blocked`;
  if (isLate)
    return {
      type,
      status: "False",
      reason: "DeadlineExceeded",
      message: `${progress} after ${deadlineSeconds} s${held}`,
    };
  const isStuck = blocked > 0 && blocked === remaining;
  return {
    type,
    status: "False",
    reason: isStuck ? "Blocked" : "Draining",
    message: progress + held,
  };
}

function drainEvents(
  { previousStatus, target, wasDrained }: DrainInput,
  { total, blocked = [] }: DrainStatus,
  { reason = "", message = "" }: ConditionInput,
  isDrained: boolean,
): readonly EventInput[] {
  const events: EventInput[] = [];
  if (previousStatus === undefined)
    events.push({
      type: "Normal",
      reason: "DrainStarted",
      message: `${total} workloads leave ${target}`,
    });
  const before = new Set((previousStatus?.blocked ?? []).map(nameOf));
  for (const one of blocked) {
    if (before.has(nameOf(one))) continue;
    events.push({
      type: "Warning",
      reason: "DrainBlocked",
      message: `${nameOf(one)}: ${one.message}`,
    });
  }
  if (isDrained && !wasDrained) events.push({ type: "Normal", reason, message });
  return events;
}

function nameOf({ kind, namespace, name, reason }: DrainBlocker): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name} (${reason})`;
}
