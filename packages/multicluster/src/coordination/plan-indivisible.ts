/**
 * Moves of an all-or-nothing workload, which has no replica count that could be 0: a bare Pod, or a
 * custom kind that is in one cluster. A copy that is to have 0 replicas is removed, also in an
 * eligible cluster: a cluster that was Unreachable still has a copy that was replaced meanwhile.
 *
 * A copy that was rolled back is removed, too, and its move record with it. So the remaining copies
 * record the failure: otherwise the plan would retry the same cluster immediately, and forever.
 */
import { type ClusterShare, moveRecordFor, type PlanInput } from "./cluster-share.ts";
import type { MoveState } from "./move-machine.ts";
import type { MoveRecord } from "./move-record.ts";
import { type Plan, planMoves } from "./plan-moves.ts";

export function planIndivisible(input: PlanInput): Plan {
  const known = failuresOf(input);
  const plan = planMoves(withKnownFailures(input, known));
  const next = new Map(plan.next);
  const failed = new Set(known);
  for (const { name, copy } of input.clusters) {
    if (copy === undefined || copy.replicas === 0 || next.get(name) !== 0) continue;
    next.set(name, "remove");
    if (plan.records.get(name)?.isRolledBack === true) failed.add(name);
  }
  const isNew = failed.size > known.size;
  if (failed.size === 0 || (!isNew && isOver(input, plan))) return { ...plan, next };
  return { ...plan, next, ...withRecordedFailures(input, { ...plan, next }, failed) };
}

/** The clusters in which the current request was rolled back, by the records of the copies. */
function failuresOf(input: PlanInput): ReadonlySet<string> {
  if (input.budget?.deadlineMs === undefined) return new Set();
  return new Set(input.clusters.flatMap((one) => moveRecordFor({ input }, one)?.failedIn ?? []));
}

function withKnownFailures(input: PlanInput, failed: ReadonlySet<string>): PlanInput {
  if (failed.size === 0) return input;
  const clusters = input.clusters.map((one) =>
    failed.has(one.name) ? { ...one, hasFailed: true } : one,
  );
  return { ...input, clusters };
}

/** Whether the workload is where it would be without failures. */
function isOver(input: PlanInput, { goal, surplus, deferred, states }: Plan): boolean {
  if (surplus > 0 || deferred > 0 || [...states.values()].includes("starting")) return false;
  const clusters = input.clusters.map(withoutFailures);
  const { goal: other } = planMoves({ ...input, clusters });
  return [...goal].every(([name, share]) => other.get(name) === share);
}

function withoutFailures(share: ClusterShare): ClusterShare {
  const { copy } = share;
  return copy?.isDeleting === true ? { ...share, copy: { ...copy, move: undefined } } : share;
}

function withRecordedFailures(
  input: PlanInput,
  plan: Plan,
  failed: ReadonlySet<string>,
): Pick<Plan, "records" | "states"> {
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
  return { records, states };
}
