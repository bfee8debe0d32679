/**
 * One copy in every cluster that takes part. There is nothing to move: what a cluster runs is for itself.
 *
 * Invariants:
 * 1. A cluster that is to be emptied keeps its copy while no other cluster takes one: the last copy is not removed.
 * 2. The copy in a lost cluster is left alone.
 * 3. With volumes that are to be taken over, the copy that has them stays until the other one may run: a refusal stops nothing.
 */
import { receivers } from "./goal.ts";
import { isLeftAlone, isToBeEmptied, type Member, type Takeover } from "./members.ts";
import { type Plan, unrecorded } from "./plan-moves.ts";

export interface CopiesInput {
  readonly members: readonly Member[];
  readonly takeover?: Takeover | undefined;
}

export function planCopies({ members, takeover }: CopiesInput): Plan {
  const open = receivers(members);
  const goal = new Map<string, number>();
  for (const member of members) {
    const isKept = member.part !== undefined && !isToBeEmptied(member);
    const hasRoom = member.room === undefined || member.room >= 1;
    if ((open.has(member) && hasRoom) || isKept) goal.set(member.name, 1);
  }
  const heir = members.find(({ name }) => name === takeover?.to);
  const isTaken = heir?.part?.isOpened === true && !heir.part.isGoing;
  const next = new Map<string, number | "remove">();
  for (const member of members) {
    const { name, part } = member;
    if (part?.isGoing === true || part?.isPinned === true) continue;
    const isAwaited = name === takeover?.from && !isTaken;
    const isKept = isLeftAlone(member) || goal.size === 0 || isAwaited;
    if (goal.has(name) || (part !== undefined && isKept)) {
      next.set(name, 1);
    } else if (part !== undefined) {
      next.set(name, "remove");
    }
  }
  return { next, goal, unplaced: goal.size === 0 ? 1 : 0, surplus: 0, ...unrecorded };
}
