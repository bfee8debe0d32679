/**
 * What to do about one whole, from all there is to know about it: its parts, the clusters, and the time. Pure; the coordinator does it.
 *
 * Decided anew from the whole state each time, so it does not matter what was missed, or in which order things happened.
 */
import { createHash } from "node:crypto";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  type Happening,
  type ObjectInput,
  type StringMap,
  stringMember,
  timestamp,
} from "@kcp-ts/sdk";
import {
  assignedCluster,
  canBeFenced,
  evictAnnotation,
  lostSinceAnnotation,
  openedAnnotation,
  softFinalizersOf,
} from "../api/index.ts";
import {
  type Allowance,
  type Assessment,
  assess,
  type Bound,
  type Neighbour,
  type Policy,
  type Prospect,
  readUnderWay,
  type Workload as Schedulable,
  type Usage,
  workloadOf,
} from "../scheduling/index.ts";
import { fencedAtMs } from "./fencing.ts";
import type { FoldedPart } from "./fold-parts.ts";
import { happeningsOf, rollHappenings } from "./happenings.ts";
import { isMore } from "./kept-places.ts";
import { moveRecordOf } from "./move-record.ts";
import { newHistory } from "./new-history.ts";
import { inOneCluster, type OneCluster } from "./one-cluster.ts";
import {
  adjustedPart,
  askedReplicasAnnotation,
  handsOffAnnotation,
  newPart,
  partName,
} from "./part.ts";
import { type Placement, PlacementError, placementOf } from "./placement.ts";
import { readPlacementHistory, shareIn } from "./placement-history.ts";
import type { Member, Part, Plan, PlanInput } from "./plan-moves.ts";
import { podTemplateOf } from "./pod-template.ts";
import { withinQuotas } from "./quotas.ts";
import { mayLose } from "./rolling/part-view.ts";
import type { RollOut } from "./rolling/roll-out.ts";
import { wholeRollOut } from "./rolling/whole-roll-out.ts";
import { atMostOneAnnotation, budgetOf } from "./rollout.ts";
import {
  earliest,
  forKind,
  type Judgement,
  judge,
  type Patience,
  type Target,
} from "./standing.ts";
import type { Strategy } from "./strategy.ts";
import { syncedAnnotation } from "./synced.ts";
import { sayUnderWay, underWayAfter } from "./under-way.ts";
import { verdictOf } from "./verdict.ts";
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
  readonly targets: readonly Target[];
  readonly patience: Patience;
  readonly nowMs: number;
  readonly surroundings?: Surroundings | undefined;
}

/** What else decides where it may go; all clusters, evenly, if it is left out. */
export interface Surroundings {
  readonly policy?: Policy | undefined;
  readonly allowances?: readonly Allowance[] | undefined;
  readonly usage?: Usage | undefined;
  readonly neighbours?: readonly Neighbour[] | undefined;
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
  readonly happenings: readonly Happening[];
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
  readonly places: readonly Place[];
  readonly plan: Plan;
  /** How far what its Pods are made from is brought to the clusters; undefined where that is at once. */
  readonly rollOut?: RollOut | undefined;
  readonly assessment: Assessment;
  /** How many there may be in all clusters together; undefined: as many as are asked for. */
  readonly total?: Bound | undefined;
  /** What its history of placement is to be; undefined: as it is. */
  readonly placementHistory?: string | undefined;
}

/** A cluster that has a part, could have one, or both. */
export interface Place {
  readonly name: string;
  readonly judgement: Judgement;
  /** What the scheduler says; nothing about a cluster that is not registered. */
  readonly prospect: Prospect | undefined;
  readonly object: Workload | undefined;
  readonly member: Member;
}

export function decide(input: DecideInput): Decision {
  const { strategy, parent, nowMs, takenNames } = input;
  const { places: open, assessment, total, problem, placement } = placesFor(input);
  const { annotations } = parent.metadata;
  const { places, takeover } = inOneCluster(open, annotations, expelled);
  const replicas = strategy.asked(parent);
  const asked = Math.max(...places.map(({ object }) => askedOf(object)), replicas);
  const members = places.map(({ member }) => member);
  const { maxSkews } = assessment;
  const scaledDownBy = asked - replicas;
  const bounds = { placeable: total?.replicas, maxSkews };
  // A share of what is asked for may be all that may be there.
  const placeable = Math.min(replicas, total?.replicas ?? replicas);
  const moving = { ...movingOf(placement, placeable), nowMs, of: wishOf(parent) };
  const wish = { replicas, members, scaledDownBy, takeover };
  const plan = strategy.plan({ ...wish, ...bounds, ...moving }, parent);
  const isHeld = problem !== undefined && input.parts.length > 0;
  const steps = { ...(isHeld ? heldPlan(places) : plan), takeover };
  const { budget } = moving;
  const { unplaced } = plan;
  const pacing = { rollout: placement?.rollout, budget, unplaced, isHeld, nowMs };
  const rollOut = wholeRollOut({ strategy, parent, places, steps, ...pacing });
  const writes = writesOf(input, places, { ...steps, rollOut });
  const verdict = verdictOf({
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
    parts: places.flatMap((place) => foldedPart(place, rollOut)),
    rollOut,
    verdict,
    isWriting,
    nowMs,
  });
  const said = readUnderWay(annotations);
  const underWay = underWayAfter({ said, places, plan, placeable, ...bulkOf(input, assessment) });
  return {
    ...writes,
    ...(isHeld ? {} : sayUnderWay(underWay, said, isWriting)),
    status,
    happenings: [...happeningsOf(input, places, writes), ...rollHappenings(places, rollOut)],
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
      isHeld || (budget?.isPaused === true && isTwice(input, plan, placeable))
        ? undefined
        : newHistory(input, { places, plan, underWay }),
  };
}

/** What it takes of the clusters it is in, and whether anybody bounds that. */
function bulkOf({ strategy, parent }: DecideInput, { quotas }: Assessment) {
  const { sharing } = strategy;
  const { requests } = schedulable(strategy, parent);
  const isBounded = quotas.length > 0 && requests.size > 0 && sharing !== "duplicate";
  return { requests, isBounded, isNumbered: sharing === "ordinal" };
}

/** Copies are in as many clusters as they are. */
function isTwice({ strategy }: DecideInput, plan: Plan, placeable: number): boolean {
  return strategy.sharing !== "duplicate" && isMore(plan, placeable);
}

/** The clusters as they stand for this whole; and why what its author says about them cannot be read. */
export function placesFor(input: DecideInput): {
  readonly places: readonly Place[];
  readonly assessment: Assessment;
  readonly total: Bound | undefined;
  readonly problem: string | undefined;
  readonly placement: Placement | undefined;
} {
  const placement = readPlacement(input.parent, input.surroundings?.policy);
  const isRead = !(placement instanceof PlacementError);
  const wish = isRead ? placement : undefined;
  const assessment = assessmentOf(input, wish);
  const found = placesOf(input, wish, assessment);
  const { places, total } = withinQuotas(found, assessment, input, wish);
  const problem = input.problem ?? (isRead ? undefined : placement.message);
  return { places, assessment, total, problem, placement: wish };
}

function foldedPart(
  { name, object, judgement, member }: Place,
  rollOut: RollOut | undefined,
): readonly FoldedPart[] {
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

function movingOf(placement: Placement | undefined, replicas: number): Pick<PlanInput, "budget"> {
  if (placement === undefined) return {};
  return { budget: budgetOf(placement.rollout, placement.failover, replicas) };
}

/** Whether it may run once at most. What cannot be read stays as it was said to be. */
export function isOnce(whole: Workload, policy: Policy | undefined): boolean {
  const placement = readPlacement(whole, policy);
  if (!(placement instanceof PlacementError)) return placement.failover.atMostOne === true;
  return stringMember(whole.metadata.annotations, atMostOneAnnotation) === "true";
}

/** What is asked for, in short: what was given up is tried again when it changes. */
function wishOf({ metadata: { generation = 0, annotations } }: Workload): string {
  const wishes = Object.entries(annotations ?? {}).filter(([name]) => isWish(name));
  const text = JSON.stringify([generation, wishes.sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

function isWish(annotation: string): boolean {
  return annotation.startsWith("workloads.kcp.io/");
}

function assessmentOf(input: DecideInput, wish: Placement | undefined): Assessment {
  const { strategy, parent, targets, surroundings = {} } = input;
  const byCluster = partsByCluster(input);
  return assess({
    ...surroundings,
    workload: schedulable(strategy, parent),
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
export function schedulable(strategy: Strategy, whole: Workload): Schedulable {
  return workloadOf(whole, {
    resource: formatGroupResource(strategy.parts),
    template: podTemplateOf(strategy.wholes, whole),
  });
}

function partsByCluster({ parts }: DecideInput): ReadonlyMap<string, Workload> {
  const byCluster = new Map<string, Workload>();
  for (const part of parts) byCluster.set(assignedCluster(part.metadata.labels) ?? "", part);
  return byCluster;
}

function placesOf(
  input: DecideInput,
  placement: Placement | undefined,
  { prospects }: Assessment,
): readonly Place[] {
  const { strategy, parent, targets, takenNames, patience, nowMs } = input;
  const byCluster = partsByCluster(input);
  const byName = new Map(targets.map((target) => [target.name, target]));
  const names = new Set([...byName.keys(), ...byCluster.keys()]);
  const places: Place[] = [];
  const [last] = readPlacementHistory(parent.metadata.annotations);
  // There may be hundreds of clusters, and thousands of wholes.
  const resource = formatGroupResource(strategy.parts);
  const waited = patienceOf(placement, patience);
  const isAtMostOne = placement?.failover.atMostOne === true;
  const isStopped = isAtMostOne && canBeFenced(strategy.parts);
  const isTaken = (name: string) =>
    takenNames.size > 0 && takenNames.has(partName(parent.metadata.name, name));
  for (const name of [...names].sort()) {
    const target = byName.get(name);
    const object = byCluster.get(name);
    if (object === undefined && isTaken(name)) continue;
    const registered = target && forKind(target, resource);
    const judged = judge(inTurn(registered, input), nowMs, waited);
    const prospect = prospects.get(name);
    const permission = permitted(judged, prospect);
    const fence = isStopped ? fencedAtMs(target, parent, strategy.wholes) : undefined;
    const judgement = fence === undefined ? permission : until(permission, fence, nowMs);
    const member: Member = {
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
      part: object === undefined ? undefined : partOf(object, strategy, name),
    };
    places.push({ name, judgement, prospect, object, member });
  }
  return places;
}

/** Looked at again when the fence is up. */
function until(judgement: Judgement, fenceMs: number, nowMs: number): Judgement {
  if (fenceMs <= nowMs) return judgement;
  return { ...judgement, untilMs: earliest(judgement.untilMs, fenceMs) };
}

/** As if its author had excluded it. */
export function expelled(place: Place): Place {
  const judgement = excluded(place.judgement);
  return { ...place, judgement, member: { ...place.member, ...judgement } };
}

/** What the scheduler says is on top of how the cluster is. */
function permitted(judgement: Judgement, prospect: Prospect | undefined): Judgement {
  if (prospect === undefined) return judgement;
  if (prospect.expelled.length > 0) return excluded(judgement);
  const isOpen = judgement.standing === "accepting" || judgement.standing === "settling";
  return isOpen && prospect.refused.length > 0 ? { ...judgement, standing: "cordoned" } : judgement;
}

/** Who wrote the object says how long a lost cluster is waited for. */
function patienceOf(placement: Placement | undefined, patience: Patience): Patience {
  const seconds = placement?.failover.tolerationSeconds;
  return seconds === undefined ? patience : { ...patience, graceMs: seconds * 1000 };
}

/** Of a cluster that is drained on a budget, parts leave when it is their turn. A Job may have several there: it is one workload, and leaves as such. */
function inTurn(target: Target | undefined, { parts }: DecideInput): Target | undefined {
  if (target?.drain !== "inTurn") return target;
  const isTurn = parts.some(
    ({ metadata: { labels, annotations } }) =>
      stringMember(annotations, evictAnnotation) === "true" &&
      assignedCluster(labels) === target.name,
  );
  return isTurn ? { ...target, drain: "all" } : target;
}

function excluded(judgement: Judgement): Judgement {
  const { standing } = judgement;
  const isSeen = standing !== "lost" && standing !== "wavering";
  return { ...judgement, standing: isSeen ? "leaving" : standing, isLeaving: true };
}

function partOf(object: Workload, strategy: Strategy, cluster: string): Part {
  const { metadata } = object;
  const report = strategy.report(object);
  const { isObserved } = report;
  const isWhole = strategy.sharing === "duplicate";
  return {
    ...strategy.shareOf(object),
    ...report,
    mayLose: mayLose(strategy.rolling, object, { isObserved, isWhole }),
    isGoing: metadata.deletionTimestamp !== undefined,
    wasLost: stringMember(metadata.annotations, lostSinceAnnotation) !== undefined,
    isPinned: stringMember(metadata.annotations, handsOffAnnotation) === "true",
    isHeld: softFinalizersOf(metadata.annotations, cluster).length > 0,
    move: moveRecordOf(metadata.annotations),
    isOpened: stringMember(metadata.annotations, openedAnnotation(cluster)) !== undefined,
  };
}

function askedOf(part: Workload | undefined): number {
  const text = stringMember(part?.metadata.annotations, askedReplicasAnnotation) ?? "";
  return /^\d{1,10}$/.test(text) ? Number(text) : 0;
}

/** Everybody keeps what they have. */
function heldPlan(places: readonly Place[]): Pick<Plan, "next" | "records"> {
  const next = new Map<string, number | "remove">();
  for (const { name, member } of places) {
    if (member.part !== undefined) next.set(name, member.part.replicas);
  }
  return { next, records: new Map() };
}

export type Writes = Pick<Decision, "creations" | "updates" | "cuts" | "removals" | "lost">;

function writesOf(
  { strategy, parent, nowMs, surroundings }: DecideInput,
  places: readonly Place[],
  steps: Pick<Plan, "next" | "starts" | "records"> &
    Pick<OneCluster, "takeover"> & { readonly rollOut: RollOut | undefined },
): Writes {
  const { next, starts, records, takeover, rollOut } = steps;
  const creations: ObjectInput<Workload>[] = [];
  const updates: Workload[] = [];
  const cuts: Workload[] = [];
  const removals: Workload[] = [];
  const lost: string[] = [];
  const askedReplicas = strategy.asked(parent);
  const isAtMostOne = isOnce(parent, surroundings?.policy);
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
      creations.push(newPart({ ...wish, spec: rollOut?.made.get(name) }));
      continue;
    }
    const { spec, record: roll } = rollOut?.parts.get(name) ?? {};
    const since = stringMember(object.metadata.annotations, lostSinceAnnotation);
    const isLost = judgement.standing === "lost";
    if (isLost && since === undefined) lost.push(name);
    const lostSince = isLost ? (since ?? timestamp(nowMs)) : undefined;
    const adjusted = adjustedPart(object, { ...wish, lostSince, spec, roll });
    if (adjusted === object) continue;
    if (wanted < (member.part?.replicas ?? 0)) cuts.push(adjusted);
    else updates.push(adjusted);
  }
  return { creations, updates, cuts, removals, lost };
}
