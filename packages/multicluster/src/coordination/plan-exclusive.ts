/**
 * All of it in one cluster, and never in two that can be seen: for what must not run twice, such as schedules. A move first brings the old one to rest (its
 * share becomes 0, which a kind may understand as a pause), then removes it, and starts the new one when the old one is gone.
 *
 * `available` is what still runs of a part; a part is at rest when its share is 0 and nothing does.
 *
 * Invariants:
 * 1. Nothing is started while a part is in another cluster that is not lost.
 * 2. A part that may stay stays: no other cluster is so much better that it is worth a gap.
 * 3. What a lost cluster has is left alone, and replaced elsewhere; at most one: when its agent has surely stopped it and its part says so. When it
 *    is back, what replaced it stays.
 * 4. While there is nowhere to go, nothing is removed.
 * 5. With volumes that are to be taken over, who has them decides: the new part is made at once, and runs when its volumes are there, which they are when
 *    nothing of the old one runs. The old one stays until then, so that a refusal stops nothing.
 */
import { distribute } from "./distribute.ts";
import { eligibleClusters } from "./goal.ts";
import {
  type ClusterCopy,
  type ClusterShare,
  isAwaitingFencing,
  isStoppedByFencing,
  isToBeDrained,
  isUnreachable,
  type VolumeMigration,
} from "./members.ts";
import { type Plan, withoutMoveRecords } from "./plan-moves.ts";

export interface StopBeforeStartInput {
  /** 1, or 0 for what is over and is not to be started again. */
  readonly replicas: number;
  readonly members: readonly ClusterShare[];
  /** Whether a part can be brought to rest before it is removed. */
  readonly canRest?: boolean;
  readonly takeover?: VolumeMigration | undefined;
}

interface ClusterWithCopy extends ClusterShare {
  readonly part: ClusterCopy;
}

export function planStopBeforeStart(input: StopBeforeStartInput): Plan {
  const { replicas, members, canRest = false, takeover } = input;
  if (takeover !== undefined && replicas > 0 && members.some(isHomeOf(takeover)))
    return planMigration(input, takeover);
  const next = new Map<string, number | "remove">();
  const holders = members.filter((member): member is ClusterWithCopy => member.part !== undefined);
  const chosen = stayingOf(holders)?.name ?? (replicas > 0 ? newPlace(members) : undefined);
  const goal = new Map(chosen === undefined || replicas === 0 ? [] : [[chosen, replicas]]);
  const others = holders.filter(({ name }) => name !== chosen);
  for (const member of others) {
    const { name, part } = member;
    if (part.isGoing || part.isPinned) continue;
    if (isStoppedByFencing(member) && chosen !== undefined) next.set(name, canRest ? 0 : "remove");
    else if (isUnreachable(member) || (chosen === undefined && replicas > 0))
      next.set(name, part.replicas);
    else if (!canRest || isAtRest(member)) next.set(name, "remove");
    else next.set(name, 0);
  }
  const isInTheWay = others.some((member) => {
    const { part } = member;
    if (isStoppedByFencing(member)) return !part.isGoing && !(canRest && part.replicas === 0);
    return isAwaitingFencing(member) || !isUnreachable(member);
  });
  const current = holders.find(({ name }) => name === chosen)?.part;
  const isLeft = current?.isGoing === true || current?.isPinned === true;
  if (chosen !== undefined && !isLeft && (current !== undefined || !isInTheWay)) {
    // What is over stays as it was.
    next.set(
      chosen,
      current !== undefined && isInTheWay ? current.replicas : Math.max(1, replicas),
    );
  }
  return {
    next,
    goal,
    unplaced: replicas > 0 && chosen === undefined ? replicas : 0,
    surplus: chosen === undefined ? 0 : others.filter((member) => !isUnreachable(member)).length,
    ...withoutMoveRecords,
  };
}

function isHomeOf({ from }: VolumeMigration): (member: ClusterShare) => boolean {
  return ({ name, part }) => name === from && part !== undefined && !part.isGoing;
}

function planMigration(
  { replicas, members, canRest = false }: StopBeforeStartInput,
  to: VolumeMigration,
): Plan {
  const heir = members.find(({ name }) => name === to.to);
  const isTaken = heir?.part?.isOpened === true && !heir.part.isGoing;
  const others = members.filter(({ name }) => name !== to.to && (isTaken || name !== to.from));
  const { next } = planStopBeforeStart({ replicas: 0, members: others, canRest });
  const steps = new Map(next);
  if (!isTaken) steps.set(to.from, copyOfShare(members, to.from)?.replicas ?? replicas);
  if (heir?.part?.isGoing !== true) steps.set(to.to, replicas);
  return {
    next: steps,
    goal: new Map([[to.to, replicas]]),
    unplaced: 0,
    surplus: others.filter(({ part }) => part !== undefined).length + (isTaken ? 0 : 1),
    ...withoutMoveRecords,
  };
}

function copyOfShare(members: readonly ClusterShare[], name: string): ClusterCopy | undefined {
  return members.find((member) => member.name === name)?.part;
}

/** For what runs to an end: as long as it runs, a cluster that is to be emptied keeps it, and nobody takes over. */
export function finishInPlace<Input extends StopBeforeStartInput>(input: Input): Input {
  const isBusy = ({ standing, part }: ClusterShare) =>
    standing === "leaving" && (part?.available ?? 0) > 0;
  const members = input.members.map(
    (member): ClusterShare => (isBusy(member) ? { ...member, standing: "cordoned" } : member),
  );
  const isLeft = input.members.some(
    ({ name, ...member }) => name === input.takeover?.from && isBusy({ name, ...member }),
  );
  return { ...input, members, ...(isLeft ? { takeover: undefined } : {}) };
}

/** Of several that may stay, the one that can be relied on most. */
function stayingOf(holders: readonly ClusterWithCopy[]): ClusterWithCopy | undefined {
  const rank = ({ standing, isTrusted, part }: ClusterWithCopy) =>
    (part.isPinned ? 64 : 0) +
    (part.wasLost === true ? 0 : 32) +
    (part.replicas > 0 ? 16 : 0) +
    (standing === "accepting" && isTrusted !== false ? 4 : 0) +
    (standing === "cordoned" ? 2 : 0) +
    (standing === "wavering" ? 0 : 1);
  return holders
    .filter((member) => !isToBeDrained(member) && !isUnreachable(member) && !member.part.isGoing)
    .sort((a, b) => rank(b) - rank(a) || (a.name < b.name ? -1 : 1))[0];
}

function newPlace(members: readonly ClusterShare[]): string | undefined {
  const open = [...eligibleClusters(members)];
  // What its author gave no room is used when nothing else is left, as everywhere.
  const isNowhereElse = open.every(({ capacity }) => capacity === 0);
  const shares = open.map(({ name, weight, capacity, room }) => ({
    name,
    ready: capacity !== 0 || isNowhereElse,
    weight,
    capacity,
    room,
    current: 0,
  }));
  return [...distribute(1, shares)].find(([, share]) => share > 0)?.[0];
}

/** One that is gone cannot be brought to rest; nor can one that is lost and to be emptied. */
function isAtRest({ standing, part }: ClusterWithCopy): boolean {
  if (standing === "gone" || standing === "lost") return true;
  return part.replicas === 0 && part.available === 0;
}
