/**
 * The deadlines of moves: which clusters have a move in flight, since when, and which of them
 * failed. Only deadlines need records.
 */

import { assignReplicas } from "./assign-replicas.ts";
import {
  type ClusterShare,
  isFailed,
  moveRecordFor,
  type PlanInput,
  type PlanRequest,
  unlimitedBudget,
} from "./cluster-share.ts";
import type { MoveState } from "./move-machine.ts";
import type { MoveRecord } from "./move-record.ts";
import type { Plan } from "./plan.ts";

/** Records of clusters that scale up, for as long as the move is in flight. */
export function recordMoves(
  request: PlanRequest,
  { next, states, surplus, deferred, rolledBack }: Omit<Plan, "records" | "requeueAtMs">,
): Pick<Plan, "records" | "requeueAtMs"> {
  const { input, budget } = request;
  const records = new Map<string, MoveRecord>();
  const { deadlineMs } = budget;
  if (deadlineMs === undefined) return { records, requeueAtMs: undefined };
  const { nowMs: sinceMs = 0, requestHash = "", clusters } = input;
  const isSettled = surplus === 0 && deferred === 0;
  const isDone = isSettled && clusters.every((one) => states.get(one.name) !== "starting");
  let requeueAtMs: number | undefined;
  for (const share of clusters) {
    const { name, copy } = share;
    const wanted = next.get(name);
    if (typeof wanted !== "number") continue;
    const has = copy?.replicas ?? 0;
    const known = moveRecordFor(request, share);
    const begun = { from: known?.from ?? has, sinceMs, request: requestHash };
    if (rolledBack?.has(name) === true) {
      records.set(name, { ...begun, sinceMs: known?.sinceMs ?? sinceMs, isRolledBack: true });
    } else if (wanted > has || (known === undefined && wanted < has)) {
      // A cluster that failed once is not tested again: it scales up because no other cluster is
      // left.
      records.set(name, { ...begun, isRolledBack: isFailed(request, share) });
    } else if (known !== undefined && !isDone) {
      records.set(name, { ...known, isRolledBack: isFailed(request, share) });
    }
    const record = records.get(name);
    if (record === undefined || record.isRolledBack || wanted <= record.from) continue;
    const endMs = record.sinceMs + deadlineMs;
    if (endMs > sinceMs) requeueAtMs = Math.min(requeueAtMs ?? endMs, endMs);
  }
  return { records, requeueAtMs };
}

/** The clusters in which the current request was rolled back, by the records of the copies. */
export function failedClusters(input: PlanInput): ReadonlySet<string> {
  if (input.budget?.deadlineMs === undefined) return new Set();
  return new Set(input.clusters.flatMap((one) => moveRecordFor({ input }, one)?.failedIn ?? []));
}

export function withFailures<Input extends PlanInput>(
  input: Input,
  failed: ReadonlySet<string>,
): Input {
  if (failed.size === 0) return input;
  const clusters = input.clusters.map((one) =>
    failed.has(one.name) ? { ...one, hasFailed: true } : one,
  );
  return { ...input, clusters };
}

/** The plan with the failures on the remaining copies, until the workload is past them. */
export function recordedFailures(
  input: PlanInput,
  plan: Plan,
  known: ReadonlySet<string>,
  failed: ReadonlySet<string>,
): Plan {
  const isNew = failed.size > known.size;
  if (failed.size === 0 || (!isNew && isOver(input, plan))) return plan;
  const { nowMs = 0, requestHash: request = "" } = input;
  const failedIn = [...failed].sort();
  const records = new Map<string, MoveRecord>();
  const states = new Map<string, MoveState>(plan.states);
  for (const share of input.clusters) {
    const { name, copy } = share;
    if (copy === undefined && failed.has(name) && (plan.goal.get(name) ?? 0) === 0)
      states.set(name, "rolledBack");
    if (typeof plan.next.get(name) !== "number") continue;
    const sinceMs = moveRecordFor({ input }, share)?.sinceMs ?? nowMs;
    // A copy that did not scale up has no deadline.
    const idle = { from: copy?.replicas ?? 0, sinceMs, isRolledBack: false, request };
    records.set(name, { ...(plan.records.get(name) ?? idle), failedIn });
  }
  return { ...plan, records, states };
}

/** Whether the workload is where it would be without failures. */
function isOver(input: PlanInput, { goal, surplus, deferred, states }: Plan): boolean {
  if (surplus > 0 || deferred > 0 || [...states.values()].includes("starting")) return false;
  const clusters = input.clusters.map(withoutFailures);
  const { budget = unlimitedBudget } = input;
  const { replicas: other } = assignReplicas({ input: { ...input, clusters }, budget });
  return [...goal].every(([name, share]) => other.get(name) === share);
}

function withoutFailures(share: ClusterShare): ClusterShare {
  const { copy } = share;
  return copy?.isDeleting === true ? { ...share, copy: { ...copy, move: undefined } } : share;
}
