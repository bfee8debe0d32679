/** Why a workload is where it is, and why not elsewhere: said by the same functions that decide it. */
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
} from "./fleet.ts";

export interface Explanation {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Placements that have a say, the most specific first; none: all clusters, evenly. */
  readonly policy: readonly string[];
  readonly clusters: readonly ClusterExplanation[];
  /** What has no place. */
  readonly unplaced: number;
  /** What bounds all clusters together. */
  readonly bound?: string;
  /** Claims that keep it where it is, whatever is asked for. */
  readonly keptBy: readonly RefusedClaim[];
  /** The newest first. */
  readonly history: readonly PlacementRecord[];
}

export interface ClusterExplanation {
  readonly name: string;
  /** What it is to have, has, and has available. */
  readonly share: number;
  readonly replicas: number;
  readonly available: number;
  readonly weight: number;
  /** How many fit at most, those that are there included. */
  readonly room?: number;
  readonly reasons: readonly string[];
}

export function explainPlacement(
  fleet: WorkspaceSnapshot,
  workload: SnapshotWorkload,
  moment: EvaluationTime,
): Explanation {
  const { whole, strategy } = workload;
  const { plan, places, assessment, total, rollOut } = decideOne(fleet, workload, moment);
  const { policy } = assessment;
  const replicas = strategy.asked(whole);
  const { namespace = "", name, annotations } = whole.metadata;
  const clusters = places.map((place) =>
    explainCluster(place, plan.goal.get(place.name) ?? 0, places, rollOut?.parts.get(place.name)),
  );
  return {
    kind: strategy.wholes.kind,
    namespace,
    name,
    replicas,
    policy: policy.sources,
    clusters,
    unplaced: plan.unplaced,
    ...(total !== undefined && total.replicas < replicas ? { bound: total.because } : {}),
    keptBy: disruptionBlockersOf(fleet, workload, plan.goal),
    history: readPlacementHistory(annotations),
  };
}

/** What would be refused if it had to leave the clusters that it is in for another one. */
function disruptionBlockersOf(
  { cluster, targets, storage }: WorkspaceSnapshot,
  { strategy, whole, parts }: SnapshotWorkload,
  goal: ReadonlyMap<string, number>,
): readonly RefusedClaim[] {
  if (storage === undefined) return [];
  const from = Object.fromEntries([...goal].filter(([, share]) => share > 0));
  const other = targets.map(({ metadata }) => metadata.name).find((name) => !(name in from));
  if (other === undefined) return [];
  const { kind } = strategy.wholes;
  const user = { kind, whole, parts, from, to: { [other]: 1 } } as PlannedUser;
  return predictVolumeRefusals({ cluster, targets, storage }, user);
}

function explainCluster(
  place: EvaluatedCluster,
  share: number,
  all: readonly EvaluatedCluster[],
  roll: CopyRollout | undefined,
): ClusterExplanation {
  const { name, member, prospect } = place;
  const { part, room, weight = 1 } = member;
  const isFull = room !== undefined && share >= room;
  const hindered =
    member.standing !== "accepting" || isFull ? unschedulableReason(place) : undefined;
  const weights = all.filter((one) => one.member.standing === "accepting");
  const isOrdinary = weights.every((one) => (one.member.weight ?? 1) === weight);
  const reasons = [
    ...(hindered === undefined ? [] : [withoutName(hindered, name)]),
    ...(hindered !== undefined && share > 0 && !isFull ? ["it keeps what it has"] : []),
    ...(isFull && share > 0 ? [`it is full with ${share}`] : []),
    ...(isOrdinary ? [] : (prospect?.scores ?? []).map(({ text }) => text)),
    ...(prospect?.domains ?? []).filter((domain) => domain !== "").map((domain) => `in ${domain}`),
    ...rollReasons(roll),
  ];
  return {
    name,
    share,
    replicas: part?.replicas ?? 0,
    available: part?.available ?? 0,
    weight,
    ...(room === undefined ? {} : { room }),
    reasons:
      reasons.length === 0 ? [share > 0 ? "it takes its share" : "its share is none"] : reasons,
  };
}

/** How far it is with the newest template. */
function rollReasons(roll: CopyRollout | undefined): readonly string[] {
  if (roll?.isRolling === true)
    return [`its Pods are replaced: ${Math.min(roll.updated, roll.pods)} of ${roll.pods} are new`];
  return roll?.isBehind === true ? ["it has the template of before, until its turn comes"] : [];
}

function withoutName(text: string, name: string): string {
  return text.startsWith(`${name}: `)
    ? text.slice(name.length + 2)
    : text.replace(`${name} is`, "it is");
}
