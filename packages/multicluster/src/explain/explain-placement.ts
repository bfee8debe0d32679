/**
 * Explains why a workload is in its clusters, and not in others, with the functions that decide it.
 */
import {
  type CopyRollout,
  type EvaluatedCluster,
  type PlacementRecord,
  readPlacementHistory,
  unschedulableReason,
} from "../coordination/index.ts";
import { type PlannedUser, predictVolumeRefusals, type RefusedClaim } from "../volumes/index.ts";
import {
  decideOne,
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
} from "./workspace-snapshot.ts";

export interface Explanation {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** The applicable Placements, the most specific first; empty for all clusters, evenly. */
  readonly policy: readonly string[];
  readonly clusters: readonly ClusterExplanation[];
  /** The unscheduled replicas. */
  readonly unscheduled: number;
  /** The limit over all clusters. */
  readonly limitReason?: string;
  /** PersistentVolumeClaims that cannot move, so that the workload stays. */
  readonly disruptionBlockedBy: readonly RefusedClaim[];
  /** The placement history, the newest record first. */
  readonly history: readonly PlacementRecord[];
}

export interface ClusterExplanation {
  readonly name: string;
  /** The desired, existing and available replicas. */
  readonly desired: number;
  readonly replicas: number;
  readonly available: number;
  readonly weight: number;
  /** The most replicas that fit, existing ones included. */
  readonly capacity?: number;
  readonly reasons: readonly string[];
}

export function explainPlacement(
  workspaceSnapshot: WorkspaceSnapshot,
  workload: SnapshotWorkload,
  evaluationTime: EvaluationTime,
): Explanation {
  const { workload: whole, strategy } = workload;
  const {
    plan,
    clusters: places,
    schedulingResult,
    totalLimit,
    rollout,
  } = decideOne(workspaceSnapshot, workload, evaluationTime);
  const { policy } = schedulingResult;
  const replicas = strategy.desiredReplicas(whole);
  const { namespace = "", name, annotations } = whole.metadata;
  const clusters = places.map((evaluated) =>
    explainCluster(
      evaluated,
      plan.goal.get(evaluated.name) ?? 0,
      places,
      rollout?.copies.get(evaluated.name),
    ),
  );
  return {
    kind: strategy.workloads.kind,
    namespace,
    name,
    replicas,
    policy: policy.sources,
    clusters,
    unscheduled: plan.unscheduled,
    ...(totalLimit !== undefined && totalLimit.replicas < replicas
      ? { limitReason: totalLimit.reason }
      : {}),
    disruptionBlockedBy: disruptionBlockersOf(workspaceSnapshot, workload, plan.goal),
    history: readPlacementHistory(annotations),
  };
}

/** The claims that would reject a move of the workload to another cluster. */
function disruptionBlockersOf(
  { cluster, targets, storage }: WorkspaceSnapshot,
  { strategy, workload, copies }: SnapshotWorkload,
  goal: ReadonlyMap<string, number>,
): readonly RefusedClaim[] {
  if (storage === undefined) return [];
  const from = Object.fromEntries([...goal].filter(([, share]) => share > 0));
  const other = targets.map(({ metadata }) => metadata.name).find((name) => !(name in from));
  if (other === undefined) return [];
  const { kind } = strategy.workloads;
  const user = { kind, workload, copies, from, to: { [other]: 1 } } as PlannedUser;
  return predictVolumeRefusals({ cluster, targets, storage }, user);
}

function explainCluster(
  evaluatedCluster: EvaluatedCluster,
  share: number,
  all: readonly EvaluatedCluster[],
  roll: CopyRollout | undefined,
): ClusterExplanation {
  const { name, share: member, schedulingResult } = evaluatedCluster;
  const { copy, maxReplicas, weight = 1 } = member;
  const isFull = maxReplicas !== undefined && share >= maxReplicas;
  const hindered = member.state !== "Ready" || isFull ? hindranceOf(evaluatedCluster) : undefined;
  const weights = all.filter((one) => one.share.state === "Ready");
  const isOrdinary = weights.every((one) => (one.share.weight ?? 1) === weight);
  const reasons = [
    ...(hindered === undefined ? [] : [hindered]),
    ...(hindered !== undefined && share > 0 && !isFull ? ["keeps its current replicas"] : []),
    ...(isFull && share > 0 ? [`full with ${share} replicas`] : []),
    ...(isOrdinary ? [] : (schedulingResult?.scores ?? []).map(({ reason }) => reason)),
    ...(schedulingResult?.domains ?? [])
      .filter((domain) => domain !== "")
      .map((domain) => `in ${domain}`),
    ...rollReasons(roll),
  ];
  return {
    name,
    desired: share,
    replicas: copy?.replicas ?? 0,
    available: copy?.available ?? 0,
    weight,
    ...(maxReplicas === undefined ? {} : { capacity: maxReplicas }),
    reasons: reasons.length === 0 ? [share > 0 ? "Scheduled" : "No replicas assigned"] : reasons,
  };
}

/** The progress of the rollout in the cluster. */
function rollReasons(roll: CopyRollout | undefined): readonly string[] {
  if (roll?.isRolling === true)
    return [`rolling out: ${Math.min(roll.updated, roll.pods)}/${roll.pods} Pods updated`];
  return roll?.isOutdated === true ? ["waiting for its turn in the rollout"] : [];
}

/** A cluster that the workload has to leave is draining, or the workload is excluded from it. */
function hindranceOf(cluster: EvaluatedCluster): string | undefined {
  const reason = unschedulableReason(cluster);
  const isExcluded = (cluster.schedulingResult?.evictionReasons.length ?? 0) > 0;
  return reason !== undefined && isExcluded ? `excluded: ${reason}` : reason;
}
