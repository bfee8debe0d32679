/** What to do about a Job whose completions are divided. Parts are only ever added: see `job.ts`. Pure. */
import { type EventInput, type ObjectInput, stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  softFinalizersOf,
  syncerFinalizer,
  volumeClusterAnnotation,
  volumeGateAnnotation,
} from "../../api/index.ts";
import {
  type DecideInput,
  type Decision,
  type EvaluatedCluster,
  evaluateClusters,
  isStopBeforeStart,
  withEviction,
} from "../decide.ts";
import { distribute } from "../distribute.ts";
import type { CopyStatus } from "../fold-parts.ts";
import { eligibleClusters } from "../goal.ts";
import { isToBeDrained } from "../members.ts";
import { placeInSingleCluster, type SingleClusterPlacement } from "../one-cluster.ts";
import { clusterCopyName, newClusterCopy, updatedClusterCopy } from "../part.ts";
import { withoutMoveRecords } from "../plan-moves.ts";
import { earliest } from "../standing.ts";
import { syncedAnnotation } from "../synced.ts";
import { scheduledResultOf } from "../verdict.ts";
import { specCount, statusCount, type Workload } from "../workload.ts";
import {
  completedAnnotation,
  completedByCopy,
  countsCompletions,
  desiredCompletions,
  finishedConditionOf,
} from "./job-facts.ts";

interface JobCopy {
  readonly object: Workload;
  readonly cluster: string;
  readonly place: EvaluatedCluster | undefined;
}

export function decideJob(input: DecideInput): Decision {
  const { parent, parts, nowMs, takenNames } = input;
  const { places: open, assessment, total, problem } = evaluateClusters(input);
  const { places, takeover } = placeInSingleCluster(
    open,
    parent.metadata.annotations,
    withEviction,
  );
  const all = parts.map((object): JobCopy => {
    const cluster = assignedCluster(object.metadata.labels) ?? "";
    return { object, cluster, place: places.find(({ name }) => name === cluster) };
  });
  const completed = completedByCopy(parent);
  const isAtMostOne = isStopBeforeStart(parent, input.surroundings?.policy);
  const over = all
    .filter((part) => isOver(part, parent) || (isAtMostOne && isStoppedForGood(part)))
    .filter((part) => !isHeld(part))
    .map(({ object }) => object);
  const newlyCompleted = new Map(completed);
  for (const { metadata, ...part } of over) {
    newlyCompleted.set(metadata.name, statusCount({ metadata, ...part }, "succeeded"));
  }
  const idle = all.filter((part) => cannotProgress(part, parent)).map(({ object }) => object);
  const leaving = new Set([...over, ...idle]);
  const missing =
    finishedConditionOf(parent) === undefined
      ? missingCompletions(parent, all, completed, isAtMostOne)
      : 0;
  const creations = problem === undefined ? started(input, { places, takeover }, all, missing) : [];
  const updates = all.flatMap((part) =>
    leaving.has(part.object) ? [] : adjusted(input, part, takeover),
  );
  const unplaced = creations.length === 0 ? missing : 0;
  const goal = new Map<string, number>();
  for (const { cluster, object } of all) {
    goal.set(cluster, (goal.get(cluster) ?? 0) + desiredCompletions(object));
  }
  const plan = { next: new Map(), goal, unplaced, surplus: 0, ...withoutMoveRecords };
  const verdict = scheduledResultOf({
    replicas: desiredCompletions(parent),
    places,
    plan,
    total,
    takenNames: unplaced > 0 ? takenNames : new Set(),
    problem,
  });
  const record = Object.fromEntries([...newlyCompleted].sort());
  const isRecorded = sameRecord(completed, newlyCompleted);
  const status = input.strategy.fold({
    strategy: input.strategy,
    parent,
    parts: all.map(folded),
    verdict,
    isWriting: creations.length + updates.length > 0,
    nowMs,
  });
  return {
    creations,
    updates,
    cuts: [],
    // What it has completed is written down first.
    removals: isRecorded ? [...leaving] : idle,
    lost: [],
    status,
    happenings: jobEvents(creations, desiredCompletions(parent)),
    places,
    plan,
    assessment,
    wakeAtMs: earliest(...places.map(({ judgement: { untilMs } }) => untilMs)),
    ...(isRecorded || Object.keys(record).length === 0
      ? {}
      : { annotations: { [completedAnnotation]: JSON.stringify(record) } }),
  };
}

/** What neither is completed nor will be by a part that can be seen. */
export function missingCompletions(
  parent: Workload,
  parts: readonly JobCopy[],
  completed: ReadonlyMap<string, number>,
  isAtMostOne = false,
): number {
  const isCounted = countsCompletions(parent);
  let covered = 0;
  for (const part of parts) {
    const { object } = part;
    const done = isCounted ? statusCount(object, "succeeded") : 0;
    const isTaken = isReachableCopy(part) || (isAtMostOne && mayRun(part));
    covered += isTaken ? desiredCompletions(object) : done;
    // Workers that nobody counts have come to an end: there is nothing left to do.
    if (!isCounted && finishedConditionOf(object) === "Complete") return 0;
  }
  if (isCounted) {
    const there = new Set(parts.map(({ object }) => object.metadata.name));
    for (const [name, done] of completed) if (!there.has(name)) covered += done;
  }
  return Math.max(0, desiredCompletions(parent) - covered);
}

/** One that a lost cluster has may go on: nobody knows, so it counts with what it had completed. */
function isReachableCopy({ place, object }: JobCopy): boolean {
  const standing = place?.judgement.standing ?? "gone";
  return (
    standing !== "lost" && standing !== "gone" && object.metadata.deletionTimestamp === undefined
  );
}

/** At most one: it is there until it is gone, and in a lost cluster until its agent has surely stopped it and it cannot be started again. */
function mayRun({ place, object }: JobCopy): boolean {
  const standing = place?.judgement.standing ?? "gone";
  if (standing === "gone") return false;
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  return standing !== "lost" || !isGoing || place?.member.isFenced !== true;
}

/** Its agent has stopped it. What it had completed is written down, and it is removed, so that it does not go on when its cluster is back. */
function isStoppedForGood({ place, object }: JobCopy): boolean {
  if (object.metadata.deletionTimestamp !== undefined || finishedConditionOf(object) !== undefined)
    return false;
  return place?.judgement.standing === "lost" && place.member.isFenced === true;
}

/** Ended in a cluster that is to be emptied, or not known any more; or superfluous because all is done. */
function isOver({ object, place }: JobCopy, parent: Workload): boolean {
  if (object.metadata.deletionTimestamp !== undefined) return false;
  if (place === undefined || place.judgement.standing === "gone") return true;
  const end = finishedConditionOf(object);
  if (end !== undefined) return isToBeDrained(place.member) && place.judgement.standing !== "lost";
  return finishedConditionOf(parent) === "Complete" && place.judgement.standing !== "lost";
}

/** Somebody else still needs it. */
function isHeld({ object, cluster, place }: JobCopy): boolean {
  const isThere = place !== undefined && place.judgement.standing !== "gone";
  return isThere && softFinalizersOf(object.metadata.annotations, cluster).length > 0;
}

/** It was given to a cluster that its volumes are not in, and nothing of it is there: it is begun where they are. */
function cannotProgress({ object, cluster, place }: JobCopy, parent: Workload): boolean {
  const { annotations, finalizers, deletionTimestamp } = object.metadata;
  const isTied = stringMember(parent.metadata.annotations, volumeClusterAnnotation) !== undefined;
  if (!isTied || deletionTimestamp !== undefined || finishedConditionOf(object) !== undefined)
    return false;
  const isThere =
    stringMember(annotations, volumeGateAnnotation(cluster)) !== undefined ||
    finalizers?.includes(syncerFinalizer(cluster)) === true;
  return !isThere && place?.judgement.standing === "leaving";
}

function started(
  { strategy, parent, takenNames, surroundings }: DecideInput,
  { places, takeover }: SingleClusterPlacement,
  parts: readonly JobCopy[],
  missing: number,
): readonly ObjectInput<Workload>[] {
  if (missing === 0) return [];
  const open = [...eligibleClusters(places.map(({ member }) => member))];
  const shares = distribute(
    missing,
    open.map(({ name, weight, capacity, room, domains }) => ({
      name,
      ready: true,
      weight,
      capacity,
      room: room === undefined ? undefined : Math.max(0, room - newJobCopyIn(name, parts)),
      domains,
      current: 0,
    })),
  );
  const used = new Set([...takenNames, ...parts.map(({ object }) => object.metadata.name)]);
  return [...shares].flatMap(([cluster, units]) => {
    if (units === 0) return [];
    const share = { replicas: units };
    const takesOverFrom = takeover?.to === cluster ? takeover.from : undefined;
    const asked = {
      askedReplicas: units,
      isAtMostOne: isStopBeforeStart(parent, surroundings?.policy),
    };
    const wish = { strategy, parent, cluster, share, ...asked, takesOverFrom };
    const made = newClusterCopy(wish);
    const name = freeName(parent.metadata.name, cluster, used);
    return [{ ...made, metadata: { ...made.metadata, name } }];
  });
}

/** What has a place in a cluster already: room is for it and for what is to come. */
function newJobCopyIn(cluster: string, parts: readonly JobCopy[]): number {
  const begun = parts.filter(
    (one) => one.cluster === cluster && finishedConditionOf(one.object) === undefined,
  );
  return begun.reduce((sum, { object }) => sum + desiredCompletions(object), 0);
}

function freeName(parent: string, cluster: string, used: ReadonlySet<string>): string {
  const first = clusterCopyName(parent, cluster);
  for (let round = 1; ; round++) {
    const name = round === 1 ? first : `${first}-${round}`;
    if (!used.has(name)) return name;
  }
}

/** Edits reach parts; their share stays. Those of a Job that has failed come to rest. */
function adjusted(
  { strategy, parent, surroundings }: DecideInput,
  { object, cluster }: JobCopy,
  takeover: SingleClusterPlacement["takeover"],
): readonly Workload[] {
  if (object.metadata.deletionTimestamp !== undefined || finishedConditionOf(object) !== undefined)
    return [];
  const share = strategy.shareOf(object);
  const takesOverFrom = takeover?.to === cluster ? takeover.from : undefined;
  const isAtMostOne = isStopBeforeStart(parent, surroundings?.policy);
  const asked = { share, askedReplicas: share.replicas, isAtMostOne };
  const wish = { strategy, parent, cluster, ...asked, takesOverFrom };
  const next = updatedClusterCopy(object, wish);
  const isFailed = finishedConditionOf(parent) === "Failed";
  const resting = isFailed ? { ...next, spec: { ...next.spec, parallelism: 0 } } : next;
  const isSame = isFailed ? specCount(object, "parallelism", 1) === 0 : next === object;
  return isSame ? [] : [resting];
}

function folded({ object, cluster, place }: JobCopy): CopyStatus {
  const standing = place?.judgement.standing ?? "gone";
  return {
    cluster,
    object,
    isKnown: standing !== "lost" && standing !== "gone",
    isLeftAlone: false,
    trouble: stringMember(object.metadata.annotations, syncedAnnotation(cluster)),
  };
}

function jobEvents(
  creations: readonly ObjectInput<Workload>[],
  asked: number,
): readonly EventInput[] {
  if (creations.length === 0) return [];
  const shares = creations.map((part) => {
    const cluster = assignedCluster(part.metadata.labels) ?? "";
    return `${cluster} ${desiredCompletions(part as Workload)}`;
  });
  const message = `of ${asked} completions, so many are begun: ${shares.join(", ")}`;
  return [{ type: "Normal", reason: "Split", message }];
}

function sameRecord(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...b].every(([name, done]) => a.get(name) === done);
}
