/** What a plan is made from: the clusters that have, or could have, a part of a whole, and what their reports are worth. */
import type { MoveRecord } from "./move-record.ts";
import type { ClusterState } from "./standing.ts";

export interface ClusterShare {
  readonly name: string;
  readonly standing: ClusterState;
  /** A lost cluster that is also to be emptied. */
  readonly isLeaving?: boolean;
  /** Whether its reports count; they do if left out. */
  readonly isTrusted?: boolean;
  /** It is to be emptied by the author's wish alone: what does not succeed elsewhere may come back. */
  readonly mayReturn?: boolean;
  /** Lost for so long that its agent has stopped what may run once at most. */
  readonly isFenced?: boolean | undefined;
  /** What was started there for this wish was given up, and is no more. */
  readonly hasFailed?: boolean;
  readonly weight?: number | undefined;
  readonly capacity?: number | undefined;
  /** Replicas that it can have at all; unbounded if left out. */
  readonly room?: number | undefined;
  /** Which part of the world it is in, the widest first. */
  readonly domains?: readonly string[] | undefined;
  /** So many of what it has had nowhere to go when it was last decided. */
  readonly kept?: number | undefined;
  readonly part?: ClusterCopy | undefined;
}

/** What a cluster has of the whole. */
export interface ClusterCopy {
  readonly replicas: number;
  /** Of a range of numbers: the first. */
  readonly start?: number;
  readonly available: number;
  /** Whether the report is about the newest spec: an older one may count what has been removed since. */
  readonly isObserved: boolean;
  /** The cluster itself has given up on what is not available. */
  readonly isStuck: boolean;
  /** Being deleted: it can be neither changed nor made anew before it is gone. */
  readonly isGoing: boolean;
  /** It was in a lost cluster when it was last written: others may have taken its place. */
  readonly wasLost?: boolean;
  /** Somebody else decides about its replicas. */
  readonly isPinned: boolean;
  /** Somebody still needs all of it: soft finalizers. */
  readonly isHeld?: boolean;
  /** Replicas that the cluster says exist, those that are ending included. */
  readonly running?: number;
  readonly move?: MoveRecord | undefined;
  /** Its volumes are in place: it may run. */
  readonly isOpened?: boolean;
  /** So many of it may become unavailable by themselves: its cluster replaces its Pods. */
  readonly mayLose?: number;
}

/** From which cluster to which the volumes of a whole are to go, and the whole with them. */
export interface VolumeMigration {
  readonly from: string;
  readonly to: string;
}

/** Over all clusters together, in replicas. */
export interface RolloutBudget {
  /** More than asked for. */
  readonly surge: number;
  /** Fewer available than asked for. */
  readonly unavailable: number;
  /** Nothing moves that need not. */
  readonly isPaused: boolean;
  /** At most one: break before make. */
  readonly isExclusive: boolean;
  /** How long a new place may take; for ever if undefined. */
  readonly deadlineMs: number | undefined;
}

export const unlimitedBudget: RolloutBudget = {
  surge: Number.POSITIVE_INFINITY,
  unavailable: 0,
  isPaused: false,
  isExclusive: false,
  deadlineMs: undefined,
};

export interface PlanInput {
  readonly replicas: number;
  readonly members: readonly ClusterShare[];
  /** How many fewer are asked for than when the parts were last written. */
  readonly scaledDownBy: number;
  /** How many there may be in all clusters together; as many as are asked for if left out. */
  readonly placeable?: number | undefined;
  /** How uneven domains may be, level by level. */
  readonly maxSkews?: readonly number[] | undefined;
  /** Nothing but make before break if left out. */
  readonly budget?: RolloutBudget | undefined;
  /** For deadlines. */
  readonly nowMs?: number | undefined;
  /** Stands for what is asked for: records of other wishes do not count. */
  readonly of?: string | undefined;
  /** Who has its volumes stops it there before it is started elsewhere. */
  readonly takeover?: VolumeMigration | undefined;
}

/** What is asked for, and what it may cost. */
export interface PlanRequest {
  readonly input: PlanInput;
  readonly budget: RolloutBudget;
}

const reportingStates: ReadonlySet<ClusterState> = new Set(["accepting", "cordoned", "leaving"]);

/** What can be relied on. */
export function minAvailable(member: ClusterShare): number {
  const { part } = member;
  if (part === undefined || part.isGoing || !isReportCurrent(member)) return 0;
  return Math.min(part.available, Math.max(0, part.replicas - (part.mayLose ?? 0)));
}

/** What may be lost by taking all of it away. */
export function maxAvailable(member: ClusterShare): number {
  const { part } = member;
  if (part === undefined) return 0;
  return isReportCurrent(member) ? Math.min(part.available, part.replicas) : part.replicas;
}

/** How many may go without any of those that are `available` being missed. While Pods are replaced, a share that is smaller lets its cluster stop more of them. */
export function removableWithoutLoss({ part }: ClusterShare, available: number): number {
  if (part === undefined || available === 0) return part?.replicas ?? 0;
  return Math.max(0, part.replicas - (part.mayLose ?? 0) - available);
}

/** Whether what the cluster says counts. */
export function isReportCurrent({ standing, isTrusted, part }: ClusterShare): boolean {
  return part?.isObserved === true && reportingStates.has(standing) && isTrusted !== false;
}

/** What of a member counts against the surge: what is wanted there, and what may be available beyond it. */
export function countedAgainstSurge(
  { goal }: { readonly goal: ReadonlyMap<string, number> },
  member: ClusterShare,
): number {
  const { part, name, standing } = member;
  if (part === undefined || part.isGoing || standing === "lost" || standing === "gone") return 0;
  return Math.min(part.replicas, Math.max(goal.get(name) ?? 0, maxAvailable(member)));
}

/** The most that may run of it, now or as soon as its cluster sees its part. */
export function maxRunning(member: ClusterShare): number {
  const { part, standing } = member;
  if (part === undefined) return 0;
  // A cluster that has said that none runs may start what is being removed, until it hears of that.
  const isOut = part.isGoing && (standing === "gone" || isStoppedByFencing(member));
  return Math.max(isOut ? 0 : part.replicas, maxRunningAfterScaleToZero(member));
}

/** The most that may run of it had its part no replicas. */
export function maxRunningAfterScaleToZero({ part, standing, isFenced }: ClusterShare): number {
  if (part === undefined || standing === "gone") return 0;
  if (standing === "lost" && isFenced === true) return 0;
  // Of a kind that does not say what runs, what is being removed is there until it is gone.
  if (part.isGoing && part.running === undefined) return Number.POSITIVE_INFINITY;
  // What it did with an older spec, nobody knows yet.
  return part.isObserved && standing !== "lost" ? (part.running ?? 0) : Number.POSITIVE_INFINITY;
}

export function isFrozen({ budget }: Pick<PlanRequest, "budget">, member: ClusterShare): boolean {
  const { standing, isFenced } = member;
  if (!budget.isExclusive) return isUnreachable(member);
  return standing === "lost" && isFenced !== true;
}

/** What a lost cluster has can neither be seen nor stopped. */
export function isUnreachable({ standing, isLeaving }: ClusterShare): boolean {
  return standing === "lost" && isLeaving !== true;
}

/** At most one: its agent has surely stopped what it has. Others may have it when its part says none, so that it is not started again when the cluster is back. */
export function isStoppedByFencing({ standing, isFenced }: ClusterShare): boolean {
  return standing === "lost" && isFenced === true;
}

/** At most one: what it has may run, though nobody can see it. */
export function isAwaitingFencing({ standing, isFenced }: ClusterShare): boolean {
  return standing === "lost" && isFenced === false;
}

export function isToBeDrained({ standing }: ClusterShare): boolean {
  return standing === "leaving" || standing === "lost" || standing === "gone";
}

/** What the record of the part says, as far as it is about what is asked for now. */
export function moveRecordFor(
  { input }: Pick<PlanRequest, "input">,
  { part }: ClusterShare,
): MoveRecord | undefined {
  return part?.move !== undefined && part.move.of === (input.of ?? "") ? part.move : undefined;
}

/** Given up before, or to be given up now. */
export function isFailed(wish: PlanRequest, member: ClusterShare): boolean {
  if (member.hasFailed === true || moveRecordFor(wish, member)?.isRolledBack === true) return true;
  return isPastDeadline(wish, member);
}

/** Started for this move, and not available though the deadline has passed. */
export function isPastDeadline({ input, budget }: PlanRequest, member: ClusterShare): boolean {
  const { part } = member;
  const record = moveRecordFor({ input }, member);
  if (part === undefined || record === undefined || budget.deadlineMs === undefined) return false;
  if (record.isRolledBack || part.replicas <= record.from) return false;
  if (part.available >= part.replicas && part.isObserved) return false;
  return (input.nowMs ?? 0) >= record.sinceMs + budget.deadlineMs;
}

export function sumOf(items: readonly number[]): number;
export function sumOf<Item>(items: readonly Item[], amountOf: (item: Item) => number): number;
export function sumOf<Item>(
  items: readonly Item[],
  amountOf: (item: Item) => number = Number,
): number {
  return items.reduce((sum, item) => sum + amountOf(item), 0);
}
