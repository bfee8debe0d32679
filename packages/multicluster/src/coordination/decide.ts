/**
 * What to do about one Deployment, from all there is to know about it: its parts, the clusters, and the time. Pure; the splitter does it.
 *
 * Decided anew from the whole state each time, so it does not matter what was missed, or in which order things happened.
 */
import { type Happening, type ObjectInput, stringMember, timestamp } from "@kcp-ts/sdk";
import { assignedCluster } from "../api/index.ts";
import {
  type Assessment,
  assess,
  type Neighbour,
  type Policy,
  type Prospect,
  type Usage,
  workloadOf,
} from "../scheduling/index.ts";
import {
  conditionsOf,
  countOf,
  type Deployment,
  type DeploymentStatus,
  isObserved,
  replicasOf,
} from "./deployment.ts";
import { type FoldedPart, foldStatus } from "./fold-status.ts";
import {
  adjustedPart,
  askedReplicasAnnotation,
  handsOffAnnotation,
  lostSinceAnnotation,
  newPart,
  partName,
} from "./part.ts";
import { type Placement, PlacementError, placementOf } from "./placement.ts";
import { withPlacementRecord } from "./placement-history.ts";
import { type Member, type Part, type Plan, planMoves } from "./plan-moves.ts";
import { earliest, type Judgement, judge, type Patience, type Target } from "./standing.ts";
import { syncedAnnotation } from "./synced.ts";
import { obstacle, verdictOf } from "./verdict.ts";

export interface DecideInput {
  readonly parent: Deployment;
  /** Those that belong to the parent. */
  readonly parts: readonly Deployment[];
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
  readonly usage?: Usage | undefined;
  readonly neighbours?: readonly Neighbour[] | undefined;
}

export interface Decision {
  readonly creations: readonly ObjectInput<Deployment>[];
  /** More replicas, or anything but replicas. */
  readonly updates: readonly Deployment[];
  /** Fewer replicas. Only behind the other writes. */
  readonly cuts: readonly Deployment[];
  readonly removals: readonly Deployment[];
  /** Clusters that were lost just now. */
  readonly lost: readonly string[];
  /** The parent's. The very one that it has when nothing changes. */
  readonly status: DeploymentStatus;
  readonly happenings: readonly Happening[];
  /** When to look again though nothing has changed. */
  readonly wakeAtMs: number | undefined;
  /** Where it leads, and why. */
  readonly places: readonly Place[];
  readonly plan: Plan;
  readonly assessment: Assessment;
  /** What its history of placement is to be; undefined: as it is. */
  readonly placementHistory: string | undefined;
}

/** A cluster that has a part, could have one, or both. */
export interface Place {
  readonly name: string;
  readonly judgement: Judgement;
  /** What the scheduler says; nothing about a cluster that is not registered. */
  readonly prospect: Prospect | undefined;
  readonly deployment: Deployment | undefined;
  readonly member: Member;
}

export function decide(input: DecideInput): Decision {
  const { parent, nowMs, takenNames } = input;
  const placement = readPlacement(parent);
  const wish = placement instanceof PlacementError ? undefined : placement;
  const assessment = assessmentOf(input, wish);
  const places = placesOf(input, wish, assessment);
  const replicas = replicasOf(parent);
  const asked = Math.max(...places.map(({ deployment }) => askedOf(deployment)), replicas);
  const members = places.map(({ member }) => member);
  const { total, maxSkews } = assessment;
  const scaledDownBy = asked - replicas;
  const plan = planMoves({ replicas, members, scaledDownBy, placeable: total?.replicas, maxSkews });
  const isHeld = placement instanceof PlacementError && input.parts.length > 0;
  const writes = writesOf(input, places, isHeld ? heldPlan(places) : plan);
  const verdict = verdictOf({
    replicas,
    places,
    plan,
    total,
    takenNames,
    problem: placement instanceof PlacementError ? placement.message : undefined,
  });
  const { creations, updates, cuts, removals } = writes;
  const status = foldStatus({
    parent,
    parts: places.flatMap(foldedPart),
    verdict,
    isWriting: creations.length + updates.length + cuts.length + removals.length > 0,
    nowMs,
  });
  return {
    ...writes,
    status,
    happenings: happeningsOf(parent, places, writes),
    wakeAtMs: earliest(...places.map(({ judgement: { untilMs } }) => untilMs)),
    places,
    plan,
    assessment,
    placementHistory: isHeld ? undefined : historyOf(input, places, plan),
  };
}

function historyOf(
  { parent, nowMs }: DecideInput,
  places: readonly Place[],
  { goal }: Plan,
): string | undefined {
  const shares = [...goal].filter(([, share]) => share > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  const split = Object.fromEntries(shares);
  const isFull = ({ member }: Place) => (goal.get(member.name) ?? 0) >= (member.room ?? Infinity);
  const because = places
    .filter((place) => place.member.standing !== "accepting" || isFull(place))
    .map(obstacle)
    .filter((text) => text !== undefined);
  const record = { replicas: replicasOf(parent), split, because };
  return withPlacementRecord(parent.metadata.annotations, record, nowMs);
}

function foldedPart({ name, deployment, judgement, member }: Place): readonly FoldedPart[] {
  if (deployment === undefined) return [];
  const { standing } = judgement;
  const trouble = stringMember(deployment.metadata.annotations, syncedAnnotation(name));
  const isLeftAlone = member.part?.isPinned === true || member.part?.isGoing === true;
  const isKnown = standing !== "lost" && standing !== "gone";
  return [{ cluster: name, deployment, isKnown, isLeftAlone, trouble }];
}

function readPlacement({ metadata }: Deployment): Placement | PlacementError {
  try {
    return placementOf(metadata.annotations);
  } catch (error) {
    if (error instanceof PlacementError) return error;
    throw error;
  }
}

function assessmentOf(input: DecideInput, wish: Placement | undefined): Assessment {
  const { parent, targets, surroundings = {} } = input;
  const byCluster = partsByCluster(input);
  return assess({
    ...surroundings,
    workload: workloadOf(parent, { resource: "deployments.apps" }),
    candidates: targets,
    wish,
    present: (cluster) => {
      const part = byCluster.get(cluster);
      if (part === undefined) return { replicas: 0, available: 0 };
      return { replicas: replicasOf(part), available: countOf(part, "availableReplicas") };
    },
  });
}

function partsByCluster({ parts }: DecideInput): ReadonlyMap<string, Deployment> {
  const byCluster = new Map<string, Deployment>();
  for (const part of parts) byCluster.set(assignedCluster(part.metadata.labels) ?? "", part);
  return byCluster;
}

function placesOf(
  input: DecideInput,
  placement: Placement | undefined,
  { prospects }: Assessment,
): readonly Place[] {
  const { parent, targets, takenNames, patience, nowMs } = input;
  const byCluster = partsByCluster(input);
  const byName = new Map(targets.map((target) => [target.name, target]));
  const names = new Set([...byName.keys(), ...byCluster.keys()]);
  const places: Place[] = [];
  for (const name of [...names].sort()) {
    const target = byName.get(name);
    const deployment = byCluster.get(name);
    const isTaken =
      deployment === undefined && takenNames.has(partName(parent.metadata.name, name));
    if (isTaken) continue;
    const judged = judge(target, nowMs, patience);
    const prospect = prospects.get(name);
    const judgement = permitted(judged, prospect);
    const member: Member = {
      name,
      ...judgement,
      weight: prospect?.weight,
      capacity: placement?.capacity.get(name),
      room: prospect?.room?.replicas,
      domains: prospect?.domains,
      part: deployment === undefined ? undefined : partOf(deployment),
    };
    places.push({ name, judgement, prospect, deployment, member });
  }
  return places;
}

/** What the scheduler says is on top of how the cluster is. */
function permitted(judgement: Judgement, prospect: Prospect | undefined): Judgement {
  if (prospect === undefined) return judgement;
  if (prospect.expelled.length > 0) return excluded(judgement);
  const isOpen = judgement.standing === "accepting" || judgement.standing === "settling";
  return isOpen && prospect.refused.length > 0 ? { ...judgement, standing: "cordoned" } : judgement;
}

function excluded(judgement: Judgement): Judgement {
  const { standing } = judgement;
  const isSeen = standing !== "lost" && standing !== "wavering";
  return { ...judgement, standing: isSeen ? "leaving" : standing, isLeaving: true };
}

function partOf(deployment: Deployment): Part {
  const { metadata } = deployment;
  return {
    replicas: replicasOf(deployment),
    available: countOf(deployment, "availableReplicas"),
    isObserved: isObserved(deployment),
    isStuck:
      isObserved(deployment) &&
      conditionsOf(deployment).some(
        ({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded",
      ),
    isGoing: metadata.deletionTimestamp !== undefined,
    isPinned: stringMember(metadata.annotations, handsOffAnnotation) === "true",
  };
}

function askedOf(part: Deployment | undefined): number {
  const text = stringMember(part?.metadata.annotations, askedReplicasAnnotation) ?? "";
  return /^\d{1,10}$/.test(text) ? Number(text) : 0;
}

/** Everybody keeps what they have. */
function heldPlan(places: readonly Place[]): Pick<Plan, "next"> {
  const next = new Map<string, number | "remove">();
  for (const { name, member } of places) {
    if (member.part !== undefined) next.set(name, member.part.replicas);
  }
  return { next };
}

type Writes = Pick<Decision, "creations" | "updates" | "cuts" | "removals" | "lost">;

function writesOf(
  { parent, nowMs }: DecideInput,
  places: readonly Place[],
  { next }: Pick<Plan, "next">,
): Writes {
  const creations: ObjectInput<Deployment>[] = [];
  const updates: Deployment[] = [];
  const cuts: Deployment[] = [];
  const removals: Deployment[] = [];
  const lost: string[] = [];
  const askedReplicas = replicasOf(parent);
  for (const { name, judgement, deployment, member } of places) {
    const wanted = next.get(name);
    if (wanted === undefined) continue;
    if (wanted === "remove") {
      if (deployment !== undefined) removals.push(deployment);
      continue;
    }
    const wish = { parent, cluster: name, replicas: wanted, askedReplicas };
    if (deployment === undefined) {
      creations.push(newPart(wish));
      continue;
    }
    const since = stringMember(deployment.metadata.annotations, lostSinceAnnotation);
    const isLost = judgement.standing === "lost";
    if (isLost && since === undefined) lost.push(name);
    const lostSince = isLost ? (since ?? timestamp(nowMs)) : undefined;
    const adjusted = adjustedPart(deployment, { ...wish, lostSince });
    if (adjusted === deployment) continue;
    if (wanted < (member.part?.replicas ?? 0)) cuts.push(adjusted);
    else updates.push(adjusted);
  }
  return { creations, updates, cuts, removals, lost };
}

function happeningsOf(
  parent: Deployment,
  places: readonly Place[],
  { creations, updates, cuts, removals, lost }: Writes,
): readonly Happening[] {
  const happenings: Happening[] = [];
  const before = new Map(places.map(({ name, member }) => [name, member.part?.replicas ?? 0]));
  for (const name of lost) {
    const message = `${name} is lost: its ${before.get(name)} replicas are replaced elsewhere`;
    happenings.push({ type: "Warning", reason: "ClusterLost", message });
  }
  const moves: string[] = [];
  for (const part of [...creations, ...updates, ...cuts]) {
    const cluster = assignedCluster(part.metadata.labels) ?? "";
    const from = before.get(cluster) ?? 0;
    const to = (part.spec as { replicas?: number }).replicas ?? 0;
    if (from !== to) moves.push(`${cluster} ${from} to ${to}`);
  }
  for (const part of removals) {
    const cluster = assignedCluster(part.metadata.labels) ?? "";
    moves.push(`${cluster} ${before.get(cluster) ?? 0} to none`);
  }
  if (moves.length > 0) {
    const message = `${replicasOf(parent)} replicas are split anew: ${moves.join(", ")}`;
    happenings.push({ type: "Normal", reason: "Split", message });
  }
  return happenings;
}
