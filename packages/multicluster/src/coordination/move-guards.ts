/**
 * The guards that every plan observes, for kinds whose steps are not counted in replicas: soft
 * finalizers block the disruption of a copy, a pause retains copies that should leave, and the
 * state of each copy is one of `move-machine.ts`. `plan-moves.ts` applies these guards itself to
 * Deployments, bare Pods that run forever, and custom kinds.
 *
 * Such kinds have neither surge nor maxUnavailable: an ordinal or a schedule is never in two
 * clusters, so nothing can start before the old copy stops, and at most one stops at a time. Nor do
 * they have a deadline: a rollback would stop the workload a second time.
 */
import {
  type ClusterShare,
  isToBeDrained,
  isUnreachable,
  type PlanInput,
} from "./cluster-share.ts";
import { type MoveEvent, type MoveState, moveTransitions } from "./move-machine.ts";
import type { Plan } from "./plan-moves.ts";

export function withMoveGuards<Input extends PlanInput, Made extends Plan>(
  input: Input,
  planIt: (input: Input) => Made,
): Made {
  const isPaused = input.budget?.isPaused === true;
  const made = planIt(isPaused ? withoutMoves(input) : input);
  const next = new Map(made.next);
  const starts = new Map(made.starts);
  const states = new Map<string, MoveState>();
  let held = 0;
  for (const share of input.clusters) {
    const { name, copy } = share;
    const previous: MoveState = copy === undefined ? "absent" : "ready";
    const event = eventOf(share, made, isPaused);
    states.set(name, moveTransitions[previous][event]);
    if (event !== "disruptionBlocked" || copy === undefined) continue;
    held++;
    next.set(name, copy.replicas);
    if (copy.start !== undefined) starts.set(name, copy.start);
  }
  const isOrdinal = made.starts !== undefined;
  const surplus = Math.max(made.surplus, held);
  return { ...made, next, states, surplus, ...(isOrdinal ? { starts } : {}) };
}

/** Treats Draining clusters as Cordoned, and starts no migration. */
function withoutMoves<Input extends PlanInput>(input: Input): Input {
  const clusters = input.clusters.map(
    (share): ClusterShare => (share.state === "Draining" ? { ...share, state: "Cordoned" } : share),
  );
  return { ...input, clusters, migration: undefined };
}

function eventOf(
  share: ClusterShare,
  { next, goal, unscheduled }: Plan,
  isPaused: boolean,
): MoveEvent {
  const { name, copy } = share;
  const wanted = next.get(name);
  if (copy === undefined) {
    if (typeof wanted === "number" && wanted > 0) return "started";
    return (goal.get(name) ?? 0) > 0 ? "deferred" : "unneeded";
  }
  if (copy.isDeleting) return "replaced";
  const isLess = wanted === "remove" || (wanted !== undefined && wanted < copy.replicas);
  if (isLess) return copy.isDisruptionBlocked === true ? "disruptionBlocked" : "replaced";
  if (isUnreachable(share)) return "unreachable";
  if (copy.isUnmanaged) return "available";
  if (typeof wanted === "number" && wanted > copy.replicas) return "started";
  const isLeaving = isToBeDrained(share) && copy.replicas > 0 && !isPaused;
  if (isLeaving) return unscheduled > 0 ? "nowhere" : "unwanted";
  return copy.available < copy.replicas ? "started" : "available";
}
