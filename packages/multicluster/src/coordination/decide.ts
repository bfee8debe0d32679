/**
 * What to do about one Deployment, from all there is to know about it: its parts, the clusters, and the time. Pure; the splitter does it.
 *
 * Decided anew from the whole state each time, so it does not matter what was missed, or in which order things happened.
 */
import { createHash } from "node:crypto";
import { type Happening, type ObjectInput, stringMember, timestamp } from "@kcp-ts/sdk";
import { assignedCluster, evictAnnotation, softFinalizersOf } from "../api/index.ts";
import {
  conditionsOf,
  countOf,
  type Deployment,
  type DeploymentStatus,
  isObserved,
  replicasOf,
} from "./deployment.ts";
import { type FoldedPart, foldStatus } from "./fold-status.ts";
import { moveRecordOf } from "./move-record.ts";
import {
  adjustedPart,
  askedReplicasAnnotation,
  handsOffAnnotation,
  lostSinceAnnotation,
  newPart,
  partName,
} from "./part.ts";
import { type Placement, PlacementError, placementOf } from "./placement.ts";
import { type Member, type Part, type Plan, type PlanInput, planMoves } from "./plan-moves.ts";
import { budgetOf } from "./rollout.ts";
import { earliest, type Judgement, judge, type Patience, type Target } from "./standing.ts";
import { syncedAnnotation } from "./synced.ts";
import { verdictOf } from "./verdict.ts";

export interface DecideInput {
  readonly parent: Deployment;
  /** Those that belong to the parent. */
  readonly parts: readonly Deployment[];
  /** Names of parts that other objects have. */
  readonly takenNames: ReadonlySet<string>;
  readonly targets: readonly Target[];
  readonly patience: Patience;
  readonly nowMs: number;
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
}

/** A cluster that has a part, could have one, or both. */
export interface Place {
  readonly name: string;
  readonly judgement: Judgement;
  readonly deployment: Deployment | undefined;
  readonly member: Member;
}

export function decide(input: DecideInput): Decision {
  const { parent, nowMs, takenNames } = input;
  const placement = readPlacement(parent);
  const places = placesOf(input, placement instanceof PlacementError ? undefined : placement);
  const replicas = replicasOf(parent);
  const asked = Math.max(...places.map(({ deployment }) => askedOf(deployment)), replicas);
  const members = places.map(({ member }) => member);
  const plan = planMoves({
    replicas,
    members,
    scaledDownBy: asked - replicas,
    ...movingOf(placement, replicas),
    nowMs,
    of: wishOf(parent),
  });
  const isHeld = placement instanceof PlacementError && input.parts.length > 0;
  const writes = writesOf(input, places, isHeld ? heldPlan(places) : plan);
  const verdict = verdictOf({
    replicas,
    places,
    plan,
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
    wakeAtMs: earliest(plan.wakeAtMs, ...places.map(({ judgement: { untilMs } }) => untilMs)),
  };
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

function movingOf(
  placement: Placement | PlacementError,
  replicas: number,
): Pick<PlanInput, "budget"> {
  if (placement instanceof PlacementError) return {};
  return { budget: budgetOf(placement.rollout, placement.failover, replicas) };
}

/** What is asked for, in short: what was given up is tried again when it changes. */
function wishOf({ metadata: { generation = 0, annotations } }: Deployment): string {
  const wishes = Object.entries(annotations ?? {}).filter(([name]) => isWish(name));
  const text = JSON.stringify([generation, wishes.sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

function isWish(annotation: string): boolean {
  return annotation.startsWith("workloads.kcp.io/");
}

function placesOf(input: DecideInput, placement: Placement | undefined): readonly Place[] {
  const { parent, parts, targets, takenNames, patience, nowMs } = input;
  const byCluster = new Map<string, Deployment>();
  for (const part of parts) byCluster.set(assignedCluster(part.metadata.labels) ?? "", part);
  const byName = new Map(targets.map((target) => [target.name, target]));
  const names = new Set([...byName.keys(), ...byCluster.keys()]);
  const places: Place[] = [];
  for (const name of [...names].sort()) {
    const target = byName.get(name);
    const deployment = byCluster.get(name);
    const isTaken =
      deployment === undefined && takenNames.has(partName(parent.metadata.name, name));
    if (isTaken) continue;
    const judged = judge(inTurn(target, deployment), nowMs, patienceOf(placement, patience));
    const judgement = isExcluded(target, placement) ? excluded(judged) : judged;
    const member: Member = {
      name,
      ...judgement,
      weight: Math.max(1, placement?.weights.get(name) ?? 1),
      capacity: placement?.capacity.get(name),
      mayReturn: judgement !== judged && !judged.isLeaving,
      part: deployment === undefined ? undefined : partOf(deployment, name),
    };
    places.push({ name, judgement, deployment, member });
  }
  return places;
}

/** Who wrote the object says how long a lost cluster is waited for. */
function patienceOf(placement: Placement | undefined, patience: Patience): Patience {
  const seconds = placement?.failover.tolerationSeconds;
  return seconds === undefined ? patience : { ...patience, graceMs: seconds * 1000 };
}

/** Of a cluster that is drained on a budget, parts leave when it is their turn. */
function inTurn(target: Target | undefined, part: Deployment | undefined): Target | undefined {
  if (target?.drain !== "inTurn" || part === undefined) return target;
  const isTurn = stringMember(part.metadata.annotations, evictAnnotation) === "true";
  return isTurn ? { ...target, drain: "all" } : target;
}

function isExcluded(target: Target | undefined, placement: Placement | undefined): boolean {
  if (target === undefined || placement === undefined) return false;
  const { selector, weights } = placement;
  return weights.get(target.name) === 0 || selector?.matches(target.labels) === false;
}

function excluded(judgement: Judgement): Judgement {
  const { standing } = judgement;
  const isSeen = standing !== "lost" && standing !== "wavering";
  return { ...judgement, standing: isSeen ? "leaving" : standing, isLeaving: true };
}

function partOf(deployment: Deployment, cluster: string): Part {
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
    isHeld: softFinalizersOf(metadata.annotations, cluster).length > 0,
    running: countOf(deployment, "replicas") + countOf(deployment, "terminatingReplicas"),
    move: moveRecordOf(metadata.annotations),
  };
}

function askedOf(part: Deployment | undefined): number {
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

type Writes = Pick<Decision, "creations" | "updates" | "cuts" | "removals" | "lost">;

function writesOf(
  { parent, nowMs }: DecideInput,
  places: readonly Place[],
  { next, records }: Pick<Plan, "next" | "records">,
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
    const move = records.get(name);
    const wish = { parent, cluster: name, replicas: wanted, askedReplicas, move };
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
