/**
 * What every plan owes to others, for kinds whose steps are not counted in replicas: soft finalizers hold a copy, a pause leaves what is to leave where it is, and the state
 * of each copy is one of `move-machine.ts`. Deployments, bare Pods that run for ever and kinds of one's own have all of it in `plan-moves.ts`.
 *
 * Such kinds have no surge and nothing unavailable to spare: a number or a schedule is never in two places, so there is nothing to make before the break, and one at a time is all
 * that ever stops. Nor do they have a deadline: what went back would have to be stopped a second time.
 */
import { type ClusterShare, isToBeDrained, isUnreachable, type PlanInput } from "./members.ts";
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
  for (const member of input.members) {
    const { name, part } = member;
    const previous: MoveState = part === undefined ? "gone" : "ready";
    const event = eventOf(member, made, isPaused);
    states.set(name, moveTransitions[previous][event]);
    if (event !== "held" || part === undefined) continue;
    held++;
    next.set(name, part.replicas);
    if (part.start !== undefined) starts.set(name, part.start);
  }
  const isNumbered = made.starts !== undefined;
  const surplus = Math.max(made.surplus, held);
  return { ...made, next, states, surplus, ...(isNumbered ? { starts } : {}) };
}

/** Clusters that are to be emptied are as good as cordoned, and nobody takes over. */
function withoutMoves<Input extends PlanInput>(input: Input): Input {
  const members = input.members.map(
    (member): ClusterShare =>
      member.standing === "leaving" ? { ...member, standing: "cordoned" } : member,
  );
  return { ...input, members, takeover: undefined };
}

function eventOf(
  member: ClusterShare,
  { next, goal, unplaced }: Plan,
  isPaused: boolean,
): MoveEvent {
  const { name, part } = member;
  const wanted = next.get(name);
  if (part === undefined) {
    if (typeof wanted === "number" && wanted > 0) return "started";
    return (goal.get(name) ?? 0) > 0 ? "deferred" : "unneeded";
  }
  if (part.isGoing) return "replaced";
  const isLess = wanted === "remove" || (wanted !== undefined && wanted < part.replicas);
  if (isLess) return part.isHeld === true ? "held" : "replaced";
  if (isUnreachable(member)) return "lost";
  if (part.isPinned) return "available";
  if (typeof wanted === "number" && wanted > part.replicas) return "started";
  const isLeaving = isToBeDrained(member) && part.replicas > 0 && !isPaused;
  if (isLeaving) return unplaced > 0 ? "nowhere" : "unwanted";
  return part.available < part.replicas ? "started" : "available";
}
