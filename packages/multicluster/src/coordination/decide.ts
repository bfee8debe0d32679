/**
 * What to do about one whole, from all there is to know about it: its parts, the clusters, and the time. Pure; the coordinator does it.
 *
 * Decided anew from the whole state each time, so it does not matter what was missed, or in which order things happened.
 */
import { createHash } from "node:crypto";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  type EventInput,
  type ObjectInput,
  type StringMap,
  stringMember,
  timestamp,
} from "@kcp-ts/sdk";
import {
  assignedCluster,
  evictAnnotation,
  isFenceable,
  softFinalizersOf,
  unreachableSinceAnnotation,
  volumeGateAnnotation,
} from "../api/index.ts";
import {
  type ClusterSchedulingResult,
  type ExistingWorkload,
  filterAndScore,
  type LocationLimits,
  type Policy,
  type ReplicaLimit,
  readInFlight,
  type SchedulableWorkload as Schedulable,
  type SchedulingResult,
  schedulableWorkloadOf,
  type Usage,
} from "../scheduling/index.ts";
import { fencedAtMs } from "./fencing.ts";
import type { CopyStatus } from "./fold-parts.ts";
import { placementEvents, rolloutEvents } from "./happenings.ts";
import { isSurplus } from "./kept-places.ts";
import { readMoveRecord } from "./move-record.ts";
import { nextPlacementHistory } from "./new-history.ts";
import { placeInSingleCluster, type SingleClusterPlacement } from "./one-cluster.ts";
import {
  clusterCopyName,
  desiredReplicasAnnotation,
  managedAnnotation,
  newClusterCopy,
  updatedClusterCopy,
} from "./part.ts";
import { type Placement, PlacementError, placementOf } from "./placement.ts";
import { readPlacementHistory, shareIn } from "./placement-history.ts";
import type { ClusterCopy, ClusterShare, Plan, PlanInput } from "./plan-moves.ts";
import { podTemplateOf } from "./pod-template.ts";
import { withinSharedLimits } from "./quotas.ts";
import { rolloutUnavailableOf } from "./rolling/part-view.ts";
import type { RolloutPlan } from "./rolling/roll-out.ts";
import { workloadRollout } from "./rolling/whole-roll-out.ts";
import { budgetOf, failoverStrategyAnnotation } from "./rollout.ts";
import {
  type ClusterEvaluation,
  type ClusterInfo,
  clusterInfoForKind,
  earliest,
  evaluateCluster,
  type GracePeriods,
} from "./standing.ts";
import type { Strategy } from "./strategy.ts";
import { syncedAnnotation } from "./synced.ts";
import { inFlightAfter, inFlightAnnotations } from "./under-way.ts";
import { scheduledResultOf } from "./verdict.ts";
import type { Workload } from "./workload.ts";

export interface DecideInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  /** Those that belong to the parent. */
  readonly parts: readonly Workload[];
  /** Why what is asked for cannot be done: said, and nothing else. */
  readonly problem?: string;
  /** What the strategy's relations brought. */
  readonly related?: readonly Workload[];
  /** Names of parts that other objects have. */
  readonly takenNames: ReadonlySet<string>;
  readonly targets: readonly ClusterInfo[];
  readonly patience: GracePeriods;
  readonly nowMs: number;
  readonly surroundings?: SchedulingContext | undefined;
}

/** What else decides where it may go; all clusters, evenly, if it is left out. */
export interface SchedulingContext {
  readonly policy?: Policy | undefined;
  readonly allowances?: readonly LocationLimits[] | undefined;
  readonly usage?: Usage | undefined;
  readonly neighbours?: readonly ExistingWorkload[] | undefined;
}

export interface Decision {
  readonly creations: readonly ObjectInput<Workload>[];
  /** More replicas, or anything but replicas. */
  readonly updates: readonly Workload[];
  /** Fewer replicas. Only behind the other writes. */
  readonly cuts: readonly Workload[];
  readonly removals: readonly Workload[];
  /** Clusters that were lost just now. */
  readonly lost: readonly string[];
  /** The parent's. The very one that it has when nothing changes. */
  readonly status: object;
  readonly happenings: readonly EventInput[];
  /** When to look again though nothing has changed. */
  readonly wakeAtMs: number | undefined;
  /** To be written on the whole before its parts are touched. */
  readonly annotations?: StringMap;
  /** Annotations to be taken off it, likewise. */
  readonly obsolete?: readonly string[];
  /** What the whole scales is to have so many. */
  readonly scale?: { readonly name: string; readonly replicas: number };
  /** The whole is to be deleted: it said for how long it wanted to be kept. */
  readonly isExpired?: boolean;
  /** Where it leads, and why. */
  readonly places: readonly EvaluatedCluster[];
  readonly plan: Plan;
  /** How far what its Pods are made from is brought to the clusters; undefined where that is at once. */
  readonly rollOut?: RolloutPlan | undefined;
  readonly assessment: SchedulingResult;
  /** How many there may be in all clusters together; undefined: as many as are asked for. */
  readonly total?: ReplicaLimit | undefined;
  /** What its history of placement is to be; undefined: as it is. */
  readonly placementHistory?: string | undefined;
}

/** A cluster that has a part, could have one, or both. */
export interface EvaluatedCluster {
  readonly name: string;
  readonly judgement: ClusterEvaluation;
  /** What the scheduler says; nothing about a cluster that is not registered. */
  readonly prospect: ClusterSchedulingResult | undefined;
  readonly object: Workload | undefined;
  readonly member: ClusterShare;
}

export function decide(input: DecideInput): Decision {
  const { strategy, parent, nowMs, takenNames } = input;
  const { places: open, assessment, total, problem, placement } = evaluateClusters(input);
  const { annotations } = parent.metadata;
  const { places, takeover } = placeInSingleCluster(open, annotations, withEviction);
  const replicas = strategy.asked(parent);
  const asked = Math.max(...places.map(({ object }) => desiredReplicasOf(object)), replicas);
  const members = places.map(({ member }) => member);
  const { maxSkews } = assessment;
  const scaledDownBy = asked - replicas;
  const bounds = { placeable: total?.replicas, maxSkews };
  // A share of what is asked for may be all that may be there.
  const placeable = Math.min(replicas, total?.replicas ?? replicas);
  const moving = { ...rolloutBudgetOf(placement, placeable), nowMs, of: requestHashOf(parent) };
  const wish = { replicas, members, scaledDownBy, takeover };
  const plan = strategy.plan({ ...wish, ...bounds, ...moving }, parent);
  const isHeld = problem !== undefined && input.parts.length > 0;
  const steps = { ...(isHeld ? unchangedPlan(places) : plan), takeover };
  const { budget } = moving;
  const { unplaced } = plan;
  const pacing = { rollout: placement?.rollout, budget, unplaced, isHeld, nowMs };
  const rollOut = workloadRollout({ strategy, parent, places, steps, ...pacing });
  const writes = writesOf(input, places, { ...steps, rollOut });
  const verdict = scheduledResultOf({
    replicas,
    places,
    plan,
    total,
    takenNames,
    problem,
    rollOut,
  });
  const { creations, updates, cuts, removals } = writes;
  const isWriting = creations.length + updates.length + cuts.length + removals.length > 0;
  const status = strategy.fold({
    strategy,
    parent,
    parts: places.flatMap((place) => copyStatusOf(place, rollOut)),
    rollOut,
    verdict,
    isWriting,
    nowMs,
  });
  const said = readInFlight(annotations);
  const underWay = inFlightAfter({
    said,
    places,
    plan,
    placeable,
    ...resourceDemandOf(input, assessment),
  });
  return {
    ...writes,
    ...(isHeld ? {} : inFlightAnnotations(underWay, said, isWriting)),
    status,
    happenings: [...placementEvents(input, places, writes), ...rolloutEvents(places, rollOut)],
    wakeAtMs: earliest(
      plan.wakeAtMs,
      rollOut?.wakeAtMs,
      ...places.map(({ judgement: { untilMs } }) => untilMs),
    ),
    places,
    plan,
    rollOut,
    assessment,
    total,
    // What is there twice while nothing may move is not what was decided.
    placementHistory:
      isHeld || (budget?.isPaused === true && exceedsTotal(input, plan, placeable))
        ? undefined
        : nextPlacementHistory(input, { places, plan, underWay }),
  };
}

/** What it takes of the clusters it is in, and whether anybody bounds that. */
function resourceDemandOf({ strategy, parent }: DecideInput, { quotas }: SchedulingResult) {
  const { sharing } = strategy;
  const { requests } = schedulableOf(strategy, parent);
  const isBounded = quotas.length > 0 && requests.size > 0 && sharing !== "duplicate";
  return { requests, isBounded, isNumbered: sharing === "ordinal" };
}

/** Copies are in as many clusters as they are. */
function exceedsTotal({ strategy }: DecideInput, plan: Plan, placeable: number): boolean {
  return strategy.sharing !== "duplicate" && isSurplus(plan, placeable);
}

/** The clusters as they stand for this whole; and why what its author says about them cannot be read. */
export function evaluateClusters(input: DecideInput): {
  readonly places: readonly EvaluatedCluster[];
  readonly assessment: SchedulingResult;
  readonly total: ReplicaLimit | undefined;
  readonly problem: string | undefined;
  readonly placement: Placement | undefined;
} {
  const placement = readPlacement(input.parent, input.surroundings?.policy);
  const isRead = !(placement instanceof PlacementError);
  const wish = isRead ? placement : undefined;
  const assessment = schedulingResultOf(input, wish);
  const found = evaluatedClustersOf(input, wish, assessment);
  const { places, total } = withinSharedLimits(found, assessment, input, wish);
  const problem = input.problem ?? (isRead ? undefined : placement.message);
  return { places, assessment, total, problem, placement: wish };
}

function copyStatusOf(
  { name, object, judgement, member }: EvaluatedCluster,
  rollOut: RolloutPlan | undefined,
): readonly CopyStatus[] {
  if (object === undefined) return [];
  const { standing } = judgement;
  const trouble = stringMember(object.metadata.annotations, syncedAnnotation(name));
  const isLeftAlone = member.part?.isPinned === true || member.part?.isGoing === true;
  const isKnown = standing !== "lost" && standing !== "gone";
  const roll = rollOut?.parts.get(name);
  const isBehind = roll?.isBehind === true;
  const isPaced = roll?.isRolling === true;
  return [{ cluster: name, object, isKnown, isLeftAlone, trouble, isBehind, isPaced }];
}

function readPlacement(
  { metadata }: Workload,
  policy: Policy | undefined,
): Placement | PlacementError {
  try {
    return placementOf(metadata.annotations, policy);
  } catch (error) {
    if (error instanceof PlacementError) return error;
    throw error;
  }
}

function rolloutBudgetOf(
  placement: Placement | undefined,
  replicas: number,
): Pick<PlanInput, "budget"> {
  if (placement === undefined) return {};
  return { budget: budgetOf(placement.rollout, placement.failover, replicas) };
}

/** Whether it may run once at most. What cannot be read stays as it was said to be. */
export function isStopBeforeStart(whole: Workload, policy: Policy | undefined): boolean {
  const placement = readPlacement(whole, policy);
  if (!(placement instanceof PlacementError)) return placement.failover.atMostOne === true;
  return stringMember(whole.metadata.annotations, failoverStrategyAnnotation) === "true";
}

/** What is asked for, in short: what was given up is tried again when it changes. */
function requestHashOf({ metadata: { generation = 0, annotations } }: Workload): string {
  const wishes = Object.entries(annotations ?? {}).filter(([name]) => isPlacementAnnotation(name));
  const text = JSON.stringify([generation, wishes.sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

function isPlacementAnnotation(annotation: string): boolean {
  return annotation.startsWith("workloads.kcp.io/");
}

function schedulingResultOf(input: DecideInput, wish: Placement | undefined): SchedulingResult {
  const { strategy, parent, targets, surroundings = {} } = input;
  const byCluster = copiesByCluster(input);
  return filterAndScore({
    ...surroundings,
    workload: schedulableOf(strategy, parent),
    candidates: targets,
    wish,
    asked: strategy.asked(parent),
    present: (cluster) => {
      const part = byCluster.get(cluster);
      if (part === undefined) return { replicas: 0, available: 0 };
      return {
        replicas: strategy.shareOf(part).replicas,
        available: strategy.report(part).available,
      };
    },
  });
}

/** A whole as the scheduler sees it. */
export function schedulableOf(strategy: Strategy, whole: Workload): Schedulable {
  return schedulableWorkloadOf(whole, {
    resource: formatGroupResource(strategy.parts),
    template: podTemplateOf(strategy.wholes, whole),
  });
}

function copiesByCluster({ parts }: DecideInput): ReadonlyMap<string, Workload> {
  const byCluster = new Map<string, Workload>();
  for (const part of parts) byCluster.set(assignedCluster(part.metadata.labels) ?? "", part);
  return byCluster;
}

function evaluatedClustersOf(
  input: DecideInput,
  placement: Placement | undefined,
  { prospects }: SchedulingResult,
): readonly EvaluatedCluster[] {
  const { strategy, parent, targets, takenNames, patience, nowMs } = input;
  const byCluster = copiesByCluster(input);
  const byName = new Map(targets.map((target) => [target.name, target]));
  const names = new Set([...byName.keys(), ...byCluster.keys()]);
  const places: EvaluatedCluster[] = [];
  const [last] = readPlacementHistory(parent.metadata.annotations);
  // There may be hundreds of clusters, and thousands of wholes.
  const resource = formatGroupResource(strategy.parts);
  const waited = gracePeriodsOf(placement, patience);
  const isAtMostOne = placement?.failover.atMostOne === true;
  const isStopped = isAtMostOne && isFenceable(strategy.parts);
  const isTaken = (name: string) =>
    takenNames.size > 0 && takenNames.has(clusterCopyName(parent.metadata.name, name));
  for (const name of [...names].sort()) {
    const target = byName.get(name);
    const object = byCluster.get(name);
    if (object === undefined && isTaken(name)) continue;
    const registered = target && clusterInfoForKind(target, resource);
    const judged = evaluateCluster(drainTurnOf(registered, input), nowMs, waited);
    const prospect = prospects.get(name);
    const permission = withSchedulingResult(judged, prospect);
    const fence = isStopped ? fencedAtMs(target, parent, strategy.wholes) : undefined;
    const judgement = fence === undefined ? permission : withFenceTime(permission, fence, nowMs);
    const member: ClusterShare = {
      name,
      standing: judgement.standing,
      isLeaving: judgement.isLeaving,
      isTrusted: judgement.isTrusted,
      weight: prospect?.weight,
      capacity: placement?.capacity.get(name),
      room: prospect?.room?.replicas,
      domains: prospect?.domains,
      kept: shareIn(last?.kept, name),
      mayReturn: permission !== judged && !judged.isLeaving,
      isFenced: isAtMostOne ? fence !== undefined && fence <= nowMs : undefined,
      part: object === undefined ? undefined : clusterCopyOf(object, strategy, name),
    };
    places.push({ name, judgement, prospect, object, member });
  }
  return places;
}

/** Looked at again when the fence is up. */
function withFenceTime(
  judgement: ClusterEvaluation,
  fenceMs: number,
  nowMs: number,
): ClusterEvaluation {
  if (fenceMs <= nowMs) return judgement;
  return { ...judgement, untilMs: earliest(judgement.untilMs, fenceMs) };
}

/** As if its author had excluded it. */
export function withEviction(place: EvaluatedCluster): EvaluatedCluster {
  const judgement = excluded(place.judgement);
  return { ...place, judgement, member: { ...place.member, ...judgement } };
}

/** What the scheduler says is on top of how the cluster is. */
function withSchedulingResult(
  judgement: ClusterEvaluation,
  prospect: ClusterSchedulingResult | undefined,
): ClusterEvaluation {
  if (prospect === undefined) return judgement;
  if (prospect.expelled.length > 0) return excluded(judgement);
  const isOpen = judgement.standing === "accepting" || judgement.standing === "settling";
  return isOpen && prospect.refused.length > 0 ? { ...judgement, standing: "cordoned" } : judgement;
}

/** Who wrote the object says how long a lost cluster is waited for. */
function gracePeriodsOf(placement: Placement | undefined, patience: GracePeriods): GracePeriods {
  const seconds = placement?.failover.tolerationSeconds;
  return seconds === undefined ? patience : { ...patience, graceMs: seconds * 1000 };
}

/** Of a cluster that is drained on a budget, parts leave when it is their turn. A Job may have several there: it is one workload, and leaves as such. */
function drainTurnOf(
  target: ClusterInfo | undefined,
  { parts }: DecideInput,
): ClusterInfo | undefined {
  if (target?.drain !== "inTurn") return target;
  const isTurn = parts.some(
    ({ metadata: { labels, annotations } }) =>
      stringMember(annotations, evictAnnotation) === "true" &&
      assignedCluster(labels) === target.name,
  );
  return isTurn ? { ...target, drain: "all" } : target;
}

function excluded(judgement: ClusterEvaluation): ClusterEvaluation {
  const { standing } = judgement;
  const isSeen = standing !== "lost" && standing !== "wavering";
  return { ...judgement, standing: isSeen ? "leaving" : standing, isLeaving: true };
}

function clusterCopyOf(object: Workload, strategy: Strategy, cluster: string): ClusterCopy {
  const { metadata } = object;
  const report = strategy.report(object);
  const { isObserved } = report;
  const isWhole = strategy.sharing === "duplicate";
  return {
    ...strategy.shareOf(object),
    ...report,
    mayLose: rolloutUnavailableOf(strategy.rolling, object, { isObserved, isWhole }),
    isGoing: metadata.deletionTimestamp !== undefined,
    wasLost: stringMember(metadata.annotations, unreachableSinceAnnotation) !== undefined,
    isPinned: stringMember(metadata.annotations, managedAnnotation) === "true",
    isHeld: softFinalizersOf(metadata.annotations, cluster).length > 0,
    move: readMoveRecord(metadata.annotations),
    isOpened: stringMember(metadata.annotations, volumeGateAnnotation(cluster)) !== undefined,
  };
}

function desiredReplicasOf(part: Workload | undefined): number {
  const text = stringMember(part?.metadata.annotations, desiredReplicasAnnotation) ?? "";
  return /^\d{1,10}$/.test(text) ? Number(text) : 0;
}

/** Everybody keeps what they have. */
function unchangedPlan(places: readonly EvaluatedCluster[]): Pick<Plan, "next" | "records"> {
  const next = new Map<string, number | "remove">();
  for (const { name, member } of places) {
    if (member.part !== undefined) next.set(name, member.part.replicas);
  }
  return { next, records: new Map() };
}

export type Writes = Pick<Decision, "creations" | "updates" | "cuts" | "removals" | "lost">;

function writesOf(
  { strategy, parent, nowMs, surroundings }: DecideInput,
  places: readonly EvaluatedCluster[],
  steps: Pick<Plan, "next" | "starts" | "records"> &
    Pick<SingleClusterPlacement, "takeover"> & { readonly rollOut: RolloutPlan | undefined },
): Writes {
  const { next, starts, records, takeover, rollOut } = steps;
  const creations: ObjectInput<Workload>[] = [];
  const updates: Workload[] = [];
  const cuts: Workload[] = [];
  const removals: Workload[] = [];
  const lost: string[] = [];
  const askedReplicas = strategy.asked(parent);
  const isAtMostOne = isStopBeforeStart(parent, surroundings?.policy);
  for (const { name, judgement, object, member } of places) {
    const wanted = next.get(name);
    if (wanted === undefined) continue;
    if (wanted === "remove") {
      if (object !== undefined) removals.push(object);
      continue;
    }
    const start = starts?.get(name);
    const share = { replicas: wanted, ...(start === undefined ? {} : { start }) };
    const move = records?.get(name);
    const takesOverFrom = takeover?.to === name ? takeover.from : undefined;
    const place = { strategy, parent, cluster: name, share, askedReplicas, isAtMostOne };
    const wish = { ...place, move, takesOverFrom };
    if (object === undefined) {
      creations.push(newClusterCopy({ ...wish, spec: rollOut?.made.get(name) }));
      continue;
    }
    const { spec, record: roll } = rollOut?.parts.get(name) ?? {};
    const since = stringMember(object.metadata.annotations, unreachableSinceAnnotation);
    const isLost = judgement.standing === "lost";
    if (isLost && since === undefined) lost.push(name);
    const lostSince = isLost ? (since ?? timestamp(nowMs)) : undefined;
    const adjusted = updatedClusterCopy(object, { ...wish, lostSince, spec, roll });
    if (adjusted === object) continue;
    if (wanted < (member.part?.replicas ?? 0)) cuts.push(adjusted);
    else updates.push(adjusted);
  }
  return { creations, updates, cuts, removals, lost };
}
