/**
 * Moves of what is there or not, and has no number that could be 0: a bare Pod, a kind of somebody's own that is in one cluster. What is to have none is removed, also where
 * its cluster takes part: one that was lost, and is back, has what was replaced meanwhile.
 *
 * What was given up is removed, too, and with it what its part remembers. So the parts that are left remember it: otherwise it would be tried again at once, and for ever.
 */
import { type ClusterShare, moveRecordFor, type PlanInput } from "./members.ts";
import type { MoveState } from "./move-machine.ts";
import type { MoveRecord } from "./move-record.ts";
import { type Plan, planMoves } from "./plan-moves.ts";

export function planIndivisible(input: PlanInput): Plan {
  const known = failuresOf(input);
  const plan = planMoves(withKnownFailures(input, known));
  const next = new Map(plan.next);
  const failed = new Set(known);
  for (const { name, part } of input.members) {
    if (part === undefined || part.replicas === 0 || next.get(name) !== 0) continue;
    next.set(name, "remove");
    if (plan.records.get(name)?.isRolledBack === true) failed.add(name);
  }
  const isNew = failed.size > known.size;
  if (failed.size === 0 || (!isNew && isOver(input, plan))) return { ...plan, next };
  return { ...plan, next, ...withRecordedFailures(input, { ...plan, next }, failed) };
}

/** Where it was given up, by what parts remember of what is asked for now. */
function failuresOf(input: PlanInput): ReadonlySet<string> {
  if (input.budget?.deadlineMs === undefined) return new Set();
  return new Set(input.members.flatMap((one) => moveRecordFor({ input }, one)?.failedIn ?? []));
}

function withKnownFailures(input: PlanInput, failed: ReadonlySet<string>): PlanInput {
  if (failed.size === 0) return input;
  const members = input.members.map((one) =>
    failed.has(one.name) ? { ...one, hasFailed: true } : one,
  );
  return { ...input, members };
}

/** It is where it would be had nothing failed. */
function isOver(input: PlanInput, { goal, surplus, deferred, states }: Plan): boolean {
  if (surplus > 0 || deferred > 0 || [...states.values()].includes("starting")) return false;
  const members = input.members.map(withoutFailures);
  const { goal: other } = planMoves({ ...input, members });
  return [...goal].every(([name, share]) => other.get(name) === share);
}

function withoutFailures(member: ClusterShare): ClusterShare {
  const { part } = member;
  return part?.isGoing === true ? { ...member, part: { ...part, move: undefined } } : member;
}

function withRecordedFailures(
  input: PlanInput,
  plan: Plan,
  failed: ReadonlySet<string>,
): Pick<Plan, "records" | "states"> {
  const { nowMs = 0, of = "" } = input;
  const failedIn = [...failed].sort();
  const records = new Map<string, MoveRecord>();
  const states = new Map<string, MoveState>(plan.states);
  for (const member of input.members) {
    const { name, part } = member;
    if (part === undefined && failed.has(name) && (plan.goal.get(name) ?? 0) === 0)
      states.set(name, "rolledBack");
    if (typeof plan.next.get(name) !== "number") continue;
    const sinceMs = moveRecordFor({ input }, member)?.sinceMs ?? nowMs;
    // What has not been given more has no deadline.
    const idle = { from: part?.replicas ?? 0, sinceMs, isRolledBack: false, of };
    records.set(name, { ...(plan.records.get(name) ?? idle), failedIn });
  }
  return { records, states };
}
