/**
 * One copy in every cluster that takes part. There is nothing to move: what a cluster runs is for itself.
 *
 * Invariants:
 * 1. A cluster that is to be emptied keeps its copy while no other cluster has one that is available: the last copy is not removed. One that is not available itself is not missed,
 *    unless there is nowhere to go.
 *    A cluster that has no room for one counts as unplaced: there will be one when there is.
 * 2. The copy in a lost cluster is left alone.
 * 3. With volumes that are to be taken over, the copy that has them stays until the other one may run: a refusal stops nothing.
 */
import { eligibleClusters } from "./goal.ts";
import {
  type ClusterShare,
  isToBeDrained,
  isUnreachable,
  maxAvailable,
  minAvailable,
  type VolumeMigration,
} from "./members.ts";
import { type Plan, withoutMoveRecords } from "./plan-moves.ts";

export interface DuplicatedInput {
  readonly members: readonly ClusterShare[];
  readonly takeover?: VolumeMigration | undefined;
}

export function planDuplicated({ members, takeover }: DuplicatedInput): Plan {
  const open = eligibleClusters(members);
  const goal = new Map<string, number>();
  for (const member of members) {
    const isKept = member.part?.isGoing === false && !isToBeDrained(member);
    const hasRoom = member.room === undefined || member.room >= 1;
    if ((open.has(member) && hasRoom) || isKept) goal.set(member.name, 1);
  }
  const heir = members.find(({ name }) => name === takeover?.to);
  const isTaken = heir?.part?.isOpened === true && !heir.part.isGoing;
  const isReplaced = members.some((one) => goal.has(one.name) && minAvailable(one) > 0);
  const next = new Map<string, number | "remove">();
  let surplus = 0;
  for (const member of members) {
    const { name, part } = member;
    if (part?.isGoing === true || part?.isPinned === true) continue;
    // Who has the volumes stops it before it runs elsewhere.
    const isLast = isReplaced || name === takeover?.from ? false : mayBeLast(member);
    const isAwaited = (name === takeover?.from && !isTaken) || isLast;
    const isKept = isUnreachable(member) || goal.size === 0 || isAwaited;
    if (isLast && !goal.has(name)) surplus++;
    if (goal.has(name) || (part !== undefined && isKept)) {
      next.set(name, 1);
    } else if (part !== undefined) {
      next.set(name, "remove");
    }
  }
  const crowded = members.filter((one) => open.has(one) && !goal.has(one.name)).length;
  const unplaced = Math.max(crowded, goal.size === 0 ? 1 : 0);
  return { next, goal, unplaced, ...withoutMoveRecords, surplus };
}

/** What a cluster that is to be emptied may have available. One that is lost, or not registered, is relied on by nobody. */
function mayBeLast(member: ClusterShare): boolean {
  return member.standing === "leaving" && maxAvailable(member) > 0;
}
