/**
 * One look at a drain: whose turn it is to leave, how far it is, and what is said about it. Pure.
 *
 * Whose turn it is, is written on the parts (`workloads.kcp.io/evict`), so that a restart goes on where it stopped. What is blocked takes up no budget: it would
 * keep everybody else from leaving.
 */
import { type ConditionInput, type EventInput, timestamp } from "@kcp-ts/sdk";
import type { DrainBlocker, DrainSpec, DrainStatus } from "../api/index.ts";

/** Something that is assigned to the cluster. */
export interface DrainedObject {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly replicas: number;
  /** Whether it is its turn. */
  readonly isMarked: boolean;
  /** Why it cannot leave by itself. */
  readonly block: { readonly reason: string; readonly message: string } | undefined;
}

export interface DrainInput {
  readonly target: string;
  readonly spec: DrainSpec;
  readonly known: DrainStatus | undefined;
  readonly occupants: readonly DrainedObject[];
  /** Nothing is assigned any more, but this is not yet gone from the cluster. */
  readonly leftover: string | undefined;
  /** As it was said last. */
  readonly wasDrained: boolean;
  readonly nowMs: number;
}

export interface DrainStep {
  /** Those whose turn it is from now on. */
  readonly toMark: readonly DrainedObject[];
  readonly status: DrainStatus;
  readonly condition: ConditionInput;
  readonly happenings: readonly EventInput[];
  readonly isDrained: boolean;
}

/** As many are named; the others are counted. */
const blockedShownMax = 20;
const messageCharactersMax = 512;

export function drainStep(input: DrainInput): DrainStep {
  const { known, occupants, nowMs, leftover } = input;
  const remaining = occupants.length;
  const total = Math.max(known?.total ?? 0, remaining);
  const moved = total - remaining;
  const startedAt = known?.startedAt ?? timestamp(nowMs);
  const blocked = blocksOf(occupants);
  const isDrained = remaining === 0 && leftover === undefined;
  const estimatedEnd = estimateOf({ known, moved, remaining, startedAt, nowMs });
  const status: DrainStatus = {
    startedAt,
    total,
    moved,
    remaining,
    remainingReplicas: occupants.reduce((sum, { replicas }) => sum + replicas, 0),
    ...(blocked.length === 0 ? {} : { blocked: blocked.slice(0, blockedShownMax) }),
    ...(estimatedEnd === undefined ? {} : { estimatedEnd }),
  };
  const condition = conditionOf(input, status, blocked.length, isDrained);
  return {
    toMark: selectForEviction(input),
    status,
    condition,
    happenings: drainEvents(input, status, condition, isDrained),
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

/** In the order of their names, as far as the budget goes; one may always be under way, however large. */
function selectForEviction({ spec: { budget }, occupants }: DrainInput): readonly DrainedObject[] {
  if (budget === undefined) return [];
  const { workloads = Number.POSITIVE_INFINITY, replicas = Number.POSITIVE_INFINITY } = budget;
  const underWay = occupants.filter(({ isMarked, block }) => isMarked && block === undefined);
  let [count, weight] = [underWay.length, underWay.reduce((sum, one) => sum + one.replicas, 0)];
  const chosen: DrainedObject[] = [];
  const order = (one: DrainedObject) => `${one.namespace ?? ""}/${one.kind}/${one.name}`;
  const waiting = occupants.filter(({ isMarked }) => !isMarked);
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
  readonly known: DrainStatus | undefined;
  readonly moved: number;
  readonly remaining: number;
  readonly startedAt: string;
  readonly nowMs: number;
}

/** From the pace so far; the same until something more has left. */
function estimateOf({
  known,
  moved,
  remaining,
  startedAt,
  nowMs,
}: DrainProgress): string | undefined {
  if (moved === 0 || remaining === 0) return undefined;
  if (known?.moved === moved && known.remaining === remaining) return known.estimatedEnd;
  const elapsedMs = Math.max(0, nowMs - Date.parse(startedAt));
  return timestamp(nowMs + (elapsedMs * remaining) / moved);
}

function conditionOf(
  { spec, leftover, nowMs, target }: DrainInput,
  { startedAt, total, moved, remaining }: DrainStatus,
  blocked: number,
  isDrained: boolean,
): ConditionInput {
  const type = "Drained";
  if (isDrained) {
    const next =
      spec.decommission === true
        ? "its SyncTarget is deleted"
        : `kubectl delete synctarget ${target} takes it out, kubectl kcp uncordon ${target} uses it again`;
    return { type, status: "True", reason: "Drained", message: `the cluster is empty: ${next}` };
  }
  const progress =
    remaining === 0
      ? `${leftover} is still in the cluster`
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
  { known, target, wasDrained }: DrainInput,
  { total, blocked = [] }: DrainStatus,
  { reason = "", message = "" }: ConditionInput,
  isDrained: boolean,
): readonly EventInput[] {
  const happenings: EventInput[] = [];
  if (known === undefined)
    happenings.push({
      type: "Normal",
      reason: "DrainStarted",
      message: `${total} workloads leave ${target}`,
    });
  const before = new Set((known?.blocked ?? []).map(nameOf));
  for (const one of blocked) {
    if (before.has(nameOf(one))) continue;
    happenings.push({
      type: "Warning",
      reason: "DrainBlocked",
      message: `${nameOf(one)}: ${one.message}`,
    });
  }
  if (isDrained && !wasDrained) happenings.push({ type: "Normal", reason, message });
  return happenings;
}

function nameOf({ kind, namespace, name, reason }: DrainBlocker): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name} (${reason})`;
}
