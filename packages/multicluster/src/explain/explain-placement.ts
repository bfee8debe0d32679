/**
 * Explains why a workload is in its clusters, and not in others, with the functions that decide it.
 */
import { stringMember } from "@kcp-ts/sdk";
import type { PlacementDecisionRecord } from "../api/index.ts";
import {
  type CopyRollout,
  capacityAnnotation,
  type EvaluatedCluster,
  selectorAnnotation,
  type Workload,
  weightsAnnotation,
} from "../coordination/index.ts";
import { messagesOf, type RuleRecord } from "../scheduling/index.ts";
import { type PlannedUser, predictVolumeRefusals, type RefusedClaim } from "../volumes/index.ts";
import { volumeRule } from "./rule-book.ts";
import { ruleRecordsOf, shortageOf } from "./rule-records.ts";
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
  /**
   * The annotations of the workload and the Placements that apply, the most specific first; empty
   * for all clusters, evenly.
   */
  readonly policy: readonly string[];
  readonly clusters: readonly ClusterExplanation[];
  /** The rules that decided against clusters. */
  readonly rules: readonly RuleRecord[];
  /** The unscheduled replicas. */
  readonly unscheduled: number;
  /** Why replicas are unscheduled, counted by reason. */
  readonly shortage?: string;
  /** PersistentVolumeClaims that cannot move, so that the workload stays. */
  readonly disruptionBlockedBy: readonly RefusedClaim[];
  /** The placement history, the newest record first. */
  readonly history: readonly PlacementDecisionRecord[];
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
  const decision = decideOne(workspaceSnapshot, workload, evaluationTime);
  const { plan, clusters: places, schedulingResult, rollout } = decision;
  const { namespace = "", name } = whole.metadata;
  const kept = disruptionBlockersOf(workspaceSnapshot, workload);
  const records = new Map(
    places.map((one) => [one.name, ruleRecordsOf(one, plan.goal.get(one.name) ?? 0)]),
  );
  // A claim keeps what has to leave; what may stay needs no such rule.
  const blocked = kept
    .filter(({ cluster }) => records.get(cluster)?.some(({ verdict }) => verdict === "Evict"))
    .map(({ cluster, reason, message }): RuleRecord => {
      const { name: rule, verdict } = volumeRule;
      return { rule, cluster, verdict, message: `${reason}: ${message}` };
    });
  const clusters = places.map((evaluated) =>
    explainCluster(
      evaluated,
      plan.goal.get(evaluated.name) ?? 0,
      [
        ...(records.get(evaluated.name) ?? []),
        ...blocked.filter(({ cluster }) => cluster === evaluated.name),
      ],
      { all: places, roll: rollout?.copies.get(evaluated.name) },
    ),
  );
  return {
    kind: strategy.workloads.kind,
    namespace,
    name,
    replicas: strategy.desiredReplicas(whole),
    policy: [...placementAnnotationsOf(whole), ...schedulingResult.policy.sources],
    clusters,
    rules: [...[...records.values()].flat(), ...blocked],
    unscheduled: plan.unscheduled,
    ...(plan.unscheduled === 0 ? {} : { shortage: shortageOf(decision) }),
    disruptionBlockedBy: kept,
    history: workload.placement?.status?.history ?? [],
  };
}

/** The workload's own annotations that select or weigh clusters. */
function placementAnnotationsOf({ metadata }: Workload): readonly string[] {
  return [selectorAnnotation, weightsAnnotation, capacityAnnotation].flatMap((annotation) => {
    const value = stringMember(metadata.annotations, annotation)?.trim() ?? "";
    return value === "" ? [] : [`annotation ${annotation}`];
  });
}

/** For each cluster with replicas: the claims that would reject a move of them elsewhere. */
function disruptionBlockersOf(
  { cluster, targets, storage }: WorkspaceSnapshot,
  { strategy, workload, copies }: SnapshotWorkload,
): readonly RefusedClaim[] {
  if (storage === undefined) return [];
  const { kind } = strategy.workloads;
  return targets.flatMap(({ metadata: { name: home } }) => {
    const other = targets.map(({ metadata }) => metadata.name).find((name) => name !== home);
    if (other === undefined) return [];
    const moved = { kind, workload, copies, from: { [home]: 1 }, to: { [other]: 1 } };
    return predictVolumeRefusals({ cluster, targets, storage }, moved as PlannedUser);
  });
}

function explainCluster(
  { name, share: member, schedulingResult }: EvaluatedCluster,
  share: number,
  records: readonly RuleRecord[],
  {
    all,
    roll,
  }: { readonly all: readonly EvaluatedCluster[]; readonly roll: CopyRollout | undefined },
): ClusterExplanation {
  const { copy, maxReplicas, weight = 1 } = member;
  const isFull = records.some(({ verdict }) => verdict === "Limit");
  const weights = all.filter((one) => one.share.state === "Ready");
  const isOrdinary = weights.every((one) => (one.share.weight ?? 1) === weight);
  const reasons = [
    ...records.map(({ message }) => message),
    ...(records.length > 0 && share > 0 && !isFull ? ["keeps its current replicas"] : []),
    ...(isFull && share > 0 ? [`full with ${share} replicas`] : []),
    ...(isOrdinary ? [] : messagesOf(schedulingResult, "Prefer")),
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
