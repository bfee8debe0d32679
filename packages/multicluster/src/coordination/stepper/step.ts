/**
 * The stepper: the next step of a workload from where it is to where it should be. One function for
 * all kinds, by a row of capabilities.
 *
 *     pause ──▶ assign and propose, by unit ──▶ guards ──▶ deadlines
 *
 * A unit proposes what each cluster has next. The guards hold for all units: a copy scales up or
 * down only in a state that permits it (`move-machine.ts`), soft finalizers block a disruption, the
 * copy in an Unreachable cluster is frozen, and a copy that is unmanaged or being deleted is left
 * alone.
 *
 * Pure and without state: called again with the result of a step, it returns the next step, until
 * none is left. So a move may be interrupted at any step; a change in between (a cluster fails,
 * another registers, a user scales) only changes the desired assignment.
 *
 * Units that cannot overlap have neither surge nor deadline: an ordinal or a schedule is never in
 * two clusters, so nothing can start before the old copy stops, at most one stops at a time, and a
 * rollback would stop the workload a second time.
 */
import type { StepCapabilities } from "./capabilities.ts";
import {
  type ClusterShare,
  isFrozen,
  isPastDeadline,
  isToBeDrained,
  minAvailable,
  moveRecordFor,
  type PlanInput,
  type PlanRequest,
  unlimitedBudget,
} from "./cluster-share.ts";
import { copyEverywhereStep } from "./copy-everywhere.ts";
import { failedClusters, recordedFailures, recordMoves, withFailures } from "./move-deadlines.ts";
import {
  type MoveEvent,
  type MoveState,
  mayGrow,
  mayShrink,
  moveTransitions,
  type PersistedMoveState,
} from "./move-machine.ts";
import { moveOrdinals, type OrdinalOptions } from "./move-ordinals.ts";
import { lowerFrozen, moveReplicas } from "./move-replicas.ts";
import { finishWithoutMove, moveSingle } from "./move-single.ts";
import type { Plan, ProposedStep } from "./plan.ts";

export interface StepInput extends PlanInput {
  /** The ordinals of the workload and their volumes; ordinals from 0 without volumes if omitted. */
  readonly ordinals?: OrdinalOptions | undefined;
}

export function step(given: StepInput, capabilities: StepCapabilities): Plan {
  const { unit, mayOverlap, mayRest, hasDeadline } = capabilities;
  const isCounted = unit === "Replica" || (unit === "Single" && mayOverlap);
  const { budget = unlimitedBudget } = given;
  const isRemovedAtZero = isCounted && !mayRest;
  const known = isRemovedAtZero ? failedClusters(given) : new Set<string>();
  const input = isCounted || !budget.isPaused ? withFailures(given, known) : withoutMoves(given);
  const proposed = isCounted ? moveReplicas(input) : proposeOne(input, capabilities);
  const guarded = guard({ input, budget }, proposed);
  if (!isCounted) return { ...guarded, records: new Map(), requeueAtMs: undefined };
  const next = new Map(guarded.next);
  lowerFrozen({ input, budget }, next);
  const request = { input, budget };
  const records = hasDeadline ? recordMoves(request, { ...guarded, next }) : noRecords;
  const plan = { ...guarded, next, ...records };
  return isRemovedAtZero ? withoutResting(given, plan, known) : plan;
}

const noRecords = { records: new Map(), requeueAtMs: undefined };

function proposeOne(input: StepInput, capabilities: StepCapabilities): ProposedStep {
  if (capabilities.unit === "Ordinal") return moveOrdinals(input);
  if (capabilities.unit === "Everywhere") return copyEverywhereStep(input);
  const { mayRest, finishesInPlace } = capabilities;
  return moveSingle(finishesInPlace ? finishWithoutMove(input) : input, mayRest);
}

/** Treats Draining clusters as Cordoned, and starts no migration. */
function withoutMoves(input: StepInput): StepInput {
  const clusters = input.clusters.map(
    (share): ClusterShare => (share.state === "Draining" ? { ...share, state: "Cordoned" } : share),
  );
  return { ...input, clusters, migration: undefined };
}

/** The proposal as far as the state of each copy permits it. */
function guard(
  request: PlanRequest,
  proposed: ProposedStep,
): ProposedStep & Pick<Plan, "next" | "states"> {
  const next = new Map(proposed.next);
  const starts = new Map(proposed.starts);
  const states = new Map<string, MoveState>();
  let held = 0;
  for (const share of request.input.clusters) {
    const { name, copy } = share;
    const state = stateOf(request, proposed, share);
    states.set(name, state);
    const wanted = next.get(name);
    if (copy === undefined || wanted === undefined) continue;
    const isLess = wanted === "remove" || wanted < copy.replicas;
    const isPermitted = isLess ? mayShrink[state] : wanted === copy.replicas || mayGrow[state];
    if (isPermitted) continue;
    if (isLess) held++;
    next.set(name, copy.replicas);
    if (copy.start !== undefined) starts.set(name, copy.start);
  }
  const surplus = Math.max(proposed.surplus, held);
  const isOrdinal = proposed.starts !== undefined;
  return { ...proposed, next, states, surplus, ...(isOrdinal ? { starts } : {}) };
}

function stateOf(request: PlanRequest, proposed: ProposedStep, share: ClusterShare): MoveState {
  return moveTransitions[previousOf(request, proposed, share)][eventOf(request, proposed, share)];
}

function previousOf(
  { input }: PlanRequest,
  { rolledBack }: ProposedStep,
  share: ClusterShare,
): PersistedMoveState {
  if (share.copy === undefined) return "absent";
  const record = rolledBack === undefined ? undefined : moveRecordFor({ input }, share);
  if (record === undefined) return "ready";
  return record.isRolledBack && rolledBack?.has(share.name) === true ? "rolledBack" : "starting";
}

function eventOf(
  request: PlanRequest,
  { next, goal, unscheduled, rolledBack }: ProposedStep,
  share: ClusterShare,
): MoveEvent {
  const { copy, name } = share;
  const wanted = next.get(name);
  if (copy === undefined) {
    if (typeof wanted === "number" && wanted > 0) return "started";
    return (goal.get(name) ?? 0) > 0 ? "deferred" : "unneeded";
  }
  const { replicas } = copy;
  if (copy.isDeleting) return "replaced";
  const isLess = wanted === "remove" || (wanted !== undefined && wanted < replicas);
  if (isFrozen(request, share) && !isLess) return "unreachable";
  if (copy.isUnmanaged) return "available";
  const isLate = rolledBack?.has(name) === true && isPastDeadline(request, share);
  const desired = goal.get(name) ?? (isToBeDrained(share) ? 0 : replicas);
  const isEmptied = replicas === 0 && desired === 0 && isToBeDrained(share);
  if ((isLate || isLess || isEmptied) && copy.isDisruptionBlocked === true)
    return "disruptionBlocked";
  if (isLate) return "expired";
  if (isLess || isEmptied) return "replaced";
  if (typeof wanted === "number" && wanted > replicas) return "started";
  if (replicas > desired) return unscheduled > 0 ? "nowhere" : "unwanted";
  if (replicas < desired) return "deferred";
  return minAvailable(share) < replicas ? "started" : "available";
}

/**
 * A copy without a replica count that could be 0 is removed instead, also in an eligible cluster: a
 * cluster that was Unreachable still has a copy that was replaced meanwhile. A copy that was rolled
 * back is removed, too, and its move record with it. So the remaining copies record the failure:
 * otherwise the next step would retry the same cluster immediately, and forever.
 */
function withoutResting(input: StepInput, plan: Plan, known: ReadonlySet<string>): Plan {
  const next = new Map(plan.next);
  const failed = new Set(known);
  for (const { name, copy } of input.clusters) {
    if (copy === undefined || copy.replicas === 0 || next.get(name) !== 0) continue;
    next.set(name, "remove");
    if (plan.records.get(name)?.isRolledBack === true) failed.add(name);
  }
  return recordedFailures(input, { ...plan, next }, known, failed);
}
