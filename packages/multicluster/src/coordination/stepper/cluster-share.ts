/**
 * The input of a plan: the clusters that have, or could have, a copy of a workload, and how far
 * their reports count.
 */
import type { ClusterState } from "../cluster-state.ts";
import type { MoveRecord } from "./move-record.ts";

export interface ClusterShare {
  readonly name: string;
  readonly state: ClusterState;
  /** Whether an Unreachable cluster is also to be drained. */
  readonly isDraining?: boolean;
  /** Whether the cluster's reports are up to date; true if omitted. */
  readonly isTrusted?: boolean;
  /**
   * Only the workload's author excludes the cluster: replicas whose move fails may return to it.
   */
  readonly mayMoveBack?: boolean;
  /**
   * The cluster has been Unreachable for so long that its agent has stopped StopBeforeStart
   * workloads.
   */
  readonly isFenced?: boolean | undefined;
  /** A copy that this request started in the cluster was rolled back, and is deleted. */
  readonly hasFailed?: boolean;
  readonly weight?: number | undefined;
  readonly capacity?: number | undefined;
  /** The most replicas that the cluster can have; unlimited if omitted. */
  readonly maxReplicas?: number | undefined;
  /** The topology domains of the cluster, the widest first. */
  readonly domains?: readonly string[] | undefined;
  /** Replicas that had no feasible cluster in the last decision, and were retained here. */
  readonly retained?: number | undefined;
  readonly copy?: ClusterCopy | undefined;
}

/** The copy of a workload in one cluster. */
export interface ClusterCopy {
  readonly replicas: number;
  /** The first ordinal of the copy's ordinal range. */
  readonly start?: number;
  readonly available: number;
  /**
   * Whether the status reports the newest spec: an older report may count replicas that have been
   * removed since.
   */
  readonly isObserved: boolean;
  /** The unavailable replicas failed the progress deadline of the cluster itself. */
  readonly isStuck: boolean;
  /**
   * The copy is being deleted: until it is deleted, it can be neither changed nor created again.
   */
  readonly isDeleting: boolean;
  /**
   * The copy's cluster was Unreachable at the last write: other clusters may have replaced its
   * replicas.
   */
  readonly wasUnreachable?: boolean;
  /** The copy is unmanaged: another controller sets its replicas. */
  readonly isUnmanaged: boolean;
  /** Soft finalizers block the disruption of all replicas. */
  readonly isDisruptionBlocked?: boolean;
  /** The replicas that the cluster reports, terminating ones included. */
  readonly running?: number;
  readonly move?: MoveRecord | undefined;
  /** The volume gate is open: the copy's volumes are in its cluster, and it may run. */
  readonly isVolumeGateOpen?: boolean;
  /**
   * Replicas that may become unavailable by themselves, because the cluster replaces Pods in a
   * rolling update.
   */
  readonly rolloutUnavailable?: number;
}

/** The source and the destination of a volume migration, which the workload follows. */
export interface VolumeMigration {
  readonly from: string;
  readonly to: string;
}

/** The rolling update limits over all clusters together, in replicas. */
export interface RolloutBudget {
  /** The most replicas above the requested number. */
  readonly surge: number;
  /** The most replicas that may be unavailable of the requested number. */
  readonly unavailable: number;
  /** Moves are paused, except those that are required. */
  readonly isPaused: boolean;
  /** The strategy StopBeforeStart: the old replica stops before the new replica starts. */
  readonly isStopBeforeStart: boolean;
  /** The progress deadline of a move; unlimited if undefined. */
  readonly deadlineMs: number | undefined;
}

export const unlimitedBudget: RolloutBudget = {
  surge: Number.POSITIVE_INFINITY,
  unavailable: 0,
  isPaused: false,
  isStopBeforeStart: false,
  deadlineMs: undefined,
};

export interface PlanInput {
  readonly replicas: number;
  readonly clusters: readonly ClusterShare[];
  /** How many fewer replicas are requested than when the copies were last written. */
  readonly scaledDownBy: number;
  /** The limit on replicas over all clusters; the requested number if omitted. */
  readonly maxTotal?: number | undefined;
  /** The largest permitted skew between domains, for each topology level. */
  readonly maxSkews?: readonly number[] | undefined;
  /** The rolling update limits; StartBeforeStop without surge if omitted. */
  readonly budget?: RolloutBudget | undefined;
  /** The time that deadlines are compared with. */
  readonly nowMs?: number | undefined;
  /** The hash of the request: records of other requests do not count. */
  readonly requestHash?: string | undefined;
  /** The cluster that has the volumes stops the workload before the destination starts it. */
  readonly migration?: VolumeMigration | undefined;
}

/** The requested state and the limits for the steps towards it. */
export interface PlanRequest {
  readonly input: PlanInput;
  readonly budget: RolloutBudget;
}

const reportingStates: ReadonlySet<ClusterState> = new Set(["Ready", "Cordoned", "Draining"]);

/** A lower bound of the available replicas in the cluster. */
export function minAvailable(share: ClusterShare): number {
  const { copy } = share;
  if (copy === undefined || copy.isDeleting || !isReportCurrent(share)) return 0;
  return Math.min(copy.available, Math.max(0, copy.replicas - (copy.rolloutUnavailable ?? 0)));
}

/** An upper bound of the available replicas that are lost when the copy is removed. */
export function maxAvailable(share: ClusterShare): number {
  const { copy } = share;
  if (copy === undefined) return 0;
  return isReportCurrent(share) ? Math.min(copy.available, copy.replicas) : copy.replicas;
}

/**
 * How many replicas can be removed while the `available` replicas stay. During a rolling update, a
 * smaller copy permits its cluster to stop more Pods.
 */
export function removableWithoutLoss({ copy }: ClusterShare, available: number): number {
  if (copy === undefined || available === 0) return copy?.replicas ?? 0;
  return Math.max(0, copy.replicas - (copy.rolloutUnavailable ?? 0) - available);
}

/** Whether the cluster's report of this copy is up to date. */
export function isReportCurrent({ state, isTrusted, copy }: ClusterShare): boolean {
  return copy?.isObserved === true && reportingStates.has(state) && isTrusted !== false;
}

/**
 * The replicas of a cluster that count against the surge: the desired replicas, and available
 * replicas beyond them.
 */
export function countedAgainstSurge(
  { replicas }: { readonly replicas: ReadonlyMap<string, number> },
  share: ClusterShare,
): number {
  const { copy, name, state } = share;
  if (copy === undefined || copy.isDeleting || state === "Unreachable" || state === "Unregistered")
    return 0;
  return Math.min(copy.replicas, Math.max(replicas.get(name) ?? 0, maxAvailable(share)));
}

/** The most replicas of the copy that may run, now or after the cluster has observed its spec. */
export function maxRunning(share: ClusterShare): number {
  const { copy, state } = share;
  if (copy === undefined) return 0;
  // A cluster that has reported no running replica may still start a copy that is being removed,
  // until it observes the deletion.
  const isOut = copy.isDeleting && (state === "Unregistered" || isStoppedByFencing(share));
  return Math.max(isOut ? 0 : copy.replicas, maxRunningAfterScaleToZero(share));
}

/** The most replicas that may run after the copy is scaled to zero. */
export function maxRunningAfterScaleToZero({ copy, state, isFenced }: ClusterShare): number {
  if (copy === undefined || state === "Unregistered") return 0;
  if (state === "Unreachable" && isFenced === true) return 0;
  // A kind that does not report running replicas has them until the removed copy is deleted.
  if (copy.isDeleting && copy.running === undefined) return Number.POSITIVE_INFINITY;
  // The running replicas of an unobserved spec are unknown.
  return copy.isObserved && state !== "Unreachable"
    ? (copy.running ?? 0)
    : Number.POSITIVE_INFINITY;
}

export function isFrozen({ budget }: Pick<PlanRequest, "budget">, share: ClusterShare): boolean {
  const { state, isFenced } = share;
  if (!budget.isStopBeforeStart) return isUnreachable(share);
  return state === "Unreachable" && isFenced !== true;
}

/** The copy in an Unreachable cluster can be neither observed nor stopped. */
export function isUnreachable({ state, isDraining }: ClusterShare): boolean {
  return state === "Unreachable" && isDraining !== true;
}

/**
 * StopBeforeStart: the agent of the Unreachable cluster has certainly stopped the copy. Other
 * clusters may start it after the copy's spec says 0 replicas, so that the cluster does not start
 * it again when it is back.
 */
export function isStoppedByFencing({ state, isFenced }: ClusterShare): boolean {
  return state === "Unreachable" && isFenced === true;
}

/**
 * StopBeforeStart: the copy in the Unreachable cluster may still run, because its agent's lease has
 * not expired.
 */
export function isAwaitingFencing({ state, isFenced }: ClusterShare): boolean {
  return state === "Unreachable" && isFenced === false;
}

export function isToBeDrained({ state }: ClusterShare): boolean {
  return state === "Draining" || state === "Unreachable" || state === "Unregistered";
}

/** The move record of the copy, if it belongs to the current request. */
export function moveRecordFor(
  { input }: Pick<PlanRequest, "input">,
  { copy }: ClusterShare,
): MoveRecord | undefined {
  return copy?.move !== undefined && copy.move.request === (input.requestHash ?? "")
    ? copy.move
    : undefined;
}

/** Whether the cluster's move was rolled back before, or is to be rolled back now. */
export function isFailed(planRequest: PlanRequest, share: ClusterShare): boolean {
  if (share.hasFailed === true || moveRecordFor(planRequest, share)?.isRolledBack === true)
    return true;
  return isPastDeadline(planRequest, share);
}

/** Whether the copy was started for the current move and is unavailable after the deadline. */
export function isPastDeadline({ input, budget }: PlanRequest, share: ClusterShare): boolean {
  const { copy } = share;
  const record = moveRecordFor({ input }, share);
  if (copy === undefined || record === undefined || budget.deadlineMs === undefined) return false;
  if (record.isRolledBack || copy.replicas <= record.from) return false;
  if (copy.available >= copy.replicas && copy.isObserved) return false;
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
