/**
 * One step of a drain: the objects to select for eviction, the progress, and the status. Pure.
 *
 * The selection is persisted on the per-cluster objects (`workload.kcp.io/evict`), so that a
 * restart continues it. A blocked object uses no budget: it would keep all other objects from
 * leaving.
 */
import { type ConditionInput, type EventInput, timestamp } from "@kcp-ts/sdk";
import type { DrainBlocker, DrainSpec, DrainStatus } from "../api/index.ts";
import { earliest, groupedCounts } from "../coordination/index.ts";
import { nextStepFor } from "./next-step.ts";

/** An object that is assigned to the drained cluster. */
export interface DrainedObject {
  readonly kind: string;
  readonly namespace: string | undefined;
  /** For a per-cluster object the name of its workload. */
  readonly name: string;
  readonly replicas: number;
  /** Whether the drain has selected the object for eviction. */
  readonly isEvicting: boolean;
  /** Whether the object leaves with others, such as a ConfigMap with the Pods that use it. */
  readonly isDependency: boolean;
  /** What the object waits for; undefined if nothing is known. */
  readonly pending: PendingReason | undefined;
}

export interface PendingReason {
  readonly reason: string;
  readonly message: string;
  /** Whether the object does not leave without an action of a user. */
  readonly isBlocked: boolean;
  /** The command of that action, where the reason alone does not imply it. */
  readonly next?: string | undefined;
  /** When the object counts as blocked, unless it makes progress. */
  readonly stallsAtMs?: number | undefined;
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
  /** When the next object counts as blocked. */
  readonly stallsAtMs: number | undefined;
}

/** The most blocked objects that the status names; the others are counted. */
const blockedShownMax = 20;
const messageCharactersMax = 1024;

export function drainStep(input: DrainInput): DrainStep {
  const { previousStatus, objects, nowMs, heldObject } = input;
  const workloads = objects.filter(({ isDependency }) => !isDependency);
  const remaining = workloads.length;
  const total = Math.max(previousStatus?.total ?? 0, remaining);
  const moved = total - remaining;
  const startedAt = previousStatus?.startedAt ?? timestamp(nowMs);
  const blocked = workloads.filter(isBlocked);
  const isDrained = objects.length === 0 && heldObject === undefined;
  const leaving = remaining - blocked.length;
  const estimatedEnd = estimateOf({ previousStatus, moved, leaving, remaining, startedAt, nowMs });
  const status: DrainStatus = {
    startedAt,
    total,
    moved,
    remaining,
    remainingReplicas: workloads.reduce((sum, { replicas }) => sum + replicas, 0),
    ...(blocked.length === 0 ? {} : { blocked: blocked.slice(0, blockedShownMax).map(blockerOf) }),
    ...(estimatedEnd === undefined ? {} : { estimatedEnd }),
  };
  const condition = conditionOf(input, status, workloads, isDrained);
  return {
    toEvict: selectForEviction(input, workloads),
    status,
    condition,
    events: drainEvents(input, status, condition, isDrained),
    isDrained,
    stallsAtMs: earliest(...workloads.map(({ pending }) => pending?.stallsAtMs)),
  };
}

function isBlocked({ pending }: DrainedObject): boolean {
  return pending?.isBlocked === true;
}

function blockerOf(object: DrainedObject): DrainBlocker {
  const { kind, namespace, name, pending } = object;
  const { reason = "", message = "" } = pending ?? {};
  const next = pending?.next ?? nextStepFor(reason, object);
  const text = next === undefined ? message : `${message}; next: ${next}`;
  return {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    reason,
    message: text.slice(0, messageCharactersMax),
  };
}

/**
 * Selects in the order of names, within the budget; one object may always be in flight, however
 * large.
 */
function selectForEviction(
  { spec: { budget } }: DrainInput,
  objects: readonly DrainedObject[],
): readonly DrainedObject[] {
  if (budget === undefined) return [];
  const { workloads = Number.POSITIVE_INFINITY, replicas = Number.POSITIVE_INFINITY } = budget;
  const inFlight = objects.filter((one) => one.isEvicting && !isBlocked(one));
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
  /** The remaining workloads that are not blocked. */
  readonly leaving: number;
  readonly remaining: number;
  readonly startedAt: string;
  readonly nowMs: number;
}

/**
 * The estimated end, from the rate so far; unchanged until another object has left, or the estimate
 * has passed. Undefined if it is not in the future by at least the second that timestamps have.
 */
function estimateOf(progress: DrainProgress): string | undefined {
  const { previousStatus, moved, leaving, remaining, startedAt, nowMs } = progress;
  if (moved === 0 || leaving === 0) return undefined;
  const { estimatedEnd = "" } = previousStatus ?? {};
  const isSame = previousStatus?.moved === moved && previousStatus.remaining === remaining;
  if (isSame && Date.parse(estimatedEnd) > nowMs) return estimatedEnd;
  const elapsedMs = Math.max(0, nowMs - Date.parse(startedAt));
  const leftMs = (elapsedMs * leaving) / moved;
  return leftMs < 1000 ? undefined : timestamp(nowMs + leftMs);
}

function conditionOf(
  { spec, heldObject, nowMs, target, objects }: DrainInput,
  { startedAt, total, moved, remaining }: DrainStatus,
  workloads: readonly DrainedObject[],
  isDrained: boolean,
): ConditionInput {
  const type = "Drained";
  if (isDrained) {
    const next =
      spec.deleteAfterDrain === true
        ? "its SyncTarget is deleted"
        : `kubectl delete synctarget ${target} removes it, kubectl kcp uncordon ${target} uses it again`;
    return { type, status: "True", reason: "Drained", message: `the cluster is empty: ${next}` };
  }
  const blocked = workloads.filter(isBlocked).length;
  const left = `${moved} of ${total} workloads have left`;
  const message = [
    remaining > 0 ? `${left}, ${remaining} ${remaining === 1 ? "remains" : "remain"}` : left,
    remaining > 0 ? countedReasons(workloads) : `; ${leftovers(objects, heldObject)}`,
    blocked === 0
      ? ""
      : `; ${blocked} cannot leave by ${blocked === 1 ? "itself" : "themselves"}, see status.drain.blocked`,
  ].join("");
  const { deadlineSeconds } = spec;
  const isLate =
    deadlineSeconds !== undefined && nowMs >= Date.parse(startedAt) + deadlineSeconds * 1000;
  if (isLate)
    return {
      type,
      status: "False",
      reason: "DeadlineExceeded",
      message: `late after ${deadlineSeconds} s: ${message}`,
    };
  const isStuck = blocked > 0 && blocked === remaining;
  return { type, status: "False", reason: isStuck ? "Blocked" : "Draining", message };
}

/** The remaining workloads by reason, the most frequent first, and one that still may leave. */
function countedReasons(workloads: readonly DrainedObject[]): string {
  const groups = groupedCounts(workloads.flatMap(({ pending }) => pending?.reason ?? []));
  if (groups === "") return "";
  const waiting = workloads.find(({ pending }) => pending?.isBlocked === false);
  const message = waiting?.pending?.message ?? "";
  return waiting === undefined || message === ""
    ? `: ${groups}`
    : `: ${groups}; ${titleOf(waiting)}: ${message}`;
}

/** What is in the cluster after the last workload has left; dependencies are counted by kind. */
function leftovers(objects: readonly DrainedObject[], heldObject: string | undefined): string {
  if (objects.length === 0) return `waiting until ${heldObject} is removed from the cluster`;
  const kinds = groupedCounts(objects.map(({ kind }) => kind));
  const count = objects.length === 1 ? "1 dependency is" : `${objects.length} dependencies are`;
  return `${count} being removed: ${kinds}`;
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
  const nameOf = (one: DrainBlocker) => `${titleOf(one)} (${one.reason})`;
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

function titleOf({
  kind,
  namespace,
  name,
}: Pick<DrainedObject, "kind" | "name"> & { readonly namespace?: string | undefined }): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
