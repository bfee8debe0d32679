/**
 * The decision about a Job whose completions are divided. Copies are only ever added: see `job.ts`.
 * Pure.
 */
import { type ObjectInput, stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  softFinalizersOf,
  volumeClusterAnnotation,
  volumeGateAnnotation,
} from "../../api/index.ts";
import { clusterCopyName, newClusterCopy, updatedClusterCopy } from "../cluster-copy.ts";
import { concludeDecision, copyStatusIn } from "../conclude-decision.ts";
import {
  type DecideInput,
  type Decision,
  type EvaluatedCluster,
  evaluateClusters,
  isStopBeforeStart,
  schedulableOf,
  withEviction,
} from "../decide.ts";
import type { ClusterStep } from "../next-placement-record.ts";
import type { ScaledCluster } from "../placement-events.ts";
import { assignSingleCluster, type SingleClusterPlacement } from "../single-cluster.ts";
import { eligibleClusters } from "../stepper/assign-replicas.ts";
import { isToBeDrained } from "../stepper/cluster-share.ts";
import { distribute } from "../stepper/distribute.ts";
import { planOfGoal } from "../stepper/plan.ts";
import { specCount, statusCount, type Workload } from "../workload.ts";
import { countsCompletions, desiredCompletions, finishedConditionOf } from "./job-state.ts";

interface JobCopy {
  readonly object: Workload;
  readonly cluster: string;
  readonly evaluated: EvaluatedCluster | undefined;
}

export function decideJob(input: DecideInput): Decision {
  const { parent, copies } = input;
  const { places: open, assessment, total, problem } = evaluateClusters(input);
  const { clusters, migration } = assignSingleCluster(open, input, withEviction);
  const all = copies.map((object): JobCopy => {
    const cluster = assignedCluster(object.metadata.labels) ?? "";
    return { object, cluster, evaluated: clusters.find(({ name }) => name === cluster) };
  });
  const completed = new Map(Object.entries(input.record?.completions ?? {}));
  const isAtMostOne = isStopBeforeStart(parent, input.scheduling?.policy);
  const over = all
    .filter((copy) => isOver(copy, parent) || (isAtMostOne && isStoppedForGood(copy)))
    .filter((copy) => !isDisruptionBlocked(copy))
    .map(({ object }) => object);
  const newlyCompleted = new Map(completed);
  for (const copy of over) newlyCompleted.set(copy.metadata.name, statusCount(copy, "succeeded"));
  const idle = all.filter((copy) => cannotProgress(copy, parent)).map(({ object }) => object);
  const leaving = new Set([...over, ...idle]);
  const missing =
    finishedConditionOf(parent) === undefined
      ? missingCompletions(parent, all, completed, isAtMostOne)
      : 0;
  const creations = problem === undefined ? started(input, clusters, all, missing) : [];
  const updates = all.flatMap((copy) => (leaving.has(copy.object) ? [] : adjusted(input, copy)));
  const unscheduled = creations.length === 0 ? missing : 0;
  const goal = new Map(Object.entries(assignedBy(all, [])));
  const plan = planOfGoal(goal, unscheduled);
  const steps = stepsOf(all, creations, migration);
  return concludeDecision(input, {
    clusters,
    assessment,
    total,
    problem,
    replicas: desiredCompletions(parent),
    plan,
    writes: { creations, updates, removals: [...leaving], steps },
    copies: all.map(({ object, cluster, evaluated }) =>
      copyStatusIn(cluster, object, evaluated?.evaluation.state),
    ),
    scaled: scaledJobs(creations, all),
    recorded: {
      assignment: { assigned: assignedBy(all, creations) },
      // The completions of a copy are recorded before the copy is removed.
      ...(newlyCompleted.size === 0 ? {} : { completions: Object.fromEntries(newlyCompleted) }),
      requests: schedulableOf(input.strategy, parent).requests,
    },
  });
}

/** The completions of each cluster, of all its copies. */
function assignedBy(
  copies: readonly JobCopy[],
  creations: readonly ObjectInput<Workload>[],
): Record<string, number> {
  const assigned: Record<string, number> = {};
  const add = (cluster: string, copy: Workload) => {
    assigned[cluster] = (assigned[cluster] ?? 0) + desiredCompletions(copy);
  };
  for (const { cluster, object } of copies) add(cluster, object);
  for (const copy of creations) add(assignedCluster(copy.metadata.labels) ?? "", copy as Workload);
  return assigned;
}

function stepsOf(
  copies: readonly JobCopy[],
  creations: readonly ObjectInput<Workload>[],
  migration: SingleClusterPlacement["migration"],
): ReadonlyMap<string, ClusterStep> {
  const current = assignedBy(copies, []);
  const steps = Object.entries(assignedBy(copies, creations)).map(([cluster, replicas]) => {
    const own = copies.filter((one) => one.cluster === cluster);
    const available = own.reduce((sum, { object }) => sum + statusCount(object, "succeeded"), 0);
    const migrationSource = migration?.to === cluster ? migration.from : undefined;
    const counted = { replicas, current: current[cluster] ?? 0, available };
    return [cluster, { ...counted, migrationSource }] as const;
  });
  return new Map(steps);
}

/** The completions that are neither done nor expected of a copy in a reachable cluster. */
export function missingCompletions(
  parent: Workload,
  copies: readonly JobCopy[],
  completed: ReadonlyMap<string, number>,
  isAtMostOne = false,
): number {
  const isCounted = countsCompletions(parent);
  let covered = 0;
  for (const copy of copies) {
    const { object } = copy;
    const done = isCounted ? statusCount(object, "succeeded") : 0;
    const isTaken = isReachableCopy(copy) || (isAtMostOne && mayRun(copy));
    covered += isTaken ? desiredCompletions(object) : done;
    // A Job without completions is complete when one of its copies is.
    if (!isCounted && finishedConditionOf(object) === "Complete") return 0;
  }
  if (isCounted) {
    const there = new Set(copies.map(({ object }) => object.metadata.name));
    for (const [name, done] of completed) if (!there.has(name)) covered += done;
  }
  return Math.max(0, desiredCompletions(parent) - covered);
}

/**
 * A copy in an Unreachable cluster may continue: its state is unknown, so only its reported
 * completions count.
 */
function isReachableCopy({ evaluated, object }: JobCopy): boolean {
  const state = evaluated?.evaluation.state ?? "Unregistered";
  return (
    state !== "Unreachable" &&
    state !== "Unregistered" &&
    object.metadata.deletionTimestamp === undefined
  );
}

/**
 * StopBeforeStart: a copy may run until it is deleted, and in an Unreachable cluster until the
 * agent has certainly stopped it and it cannot start again.
 */
function mayRun({ evaluated, object }: JobCopy): boolean {
  const state = evaluated?.evaluation.state ?? "Unregistered";
  if (state === "Unregistered") return false;
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  return state !== "Unreachable" || !isGoing || evaluated?.share.isFenced !== true;
}

/**
 * The agent has stopped the copy. Its completions are recorded and the copy is removed, so that it
 * does not continue when its cluster is back.
 */
function isStoppedForGood({ evaluated, object }: JobCopy): boolean {
  if (object.metadata.deletionTimestamp !== undefined || finishedConditionOf(object) !== undefined)
    return false;
  return evaluated?.evaluation.state === "Unreachable" && evaluated.share.isFenced === true;
}

/**
 * The copy has finished in a cluster that is Draining or Unregistered; or it is surplus because the
 * Job is complete.
 */
function isOver({ object, evaluated }: JobCopy, parent: Workload): boolean {
  if (object.metadata.deletionTimestamp !== undefined) return false;
  if (evaluated === undefined || evaluated.evaluation.state === "Unregistered") return true;
  const end = finishedConditionOf(object);
  if (end !== undefined)
    return isToBeDrained(evaluated.share) && evaluated.evaluation.state !== "Unreachable";
  return finishedConditionOf(parent) === "Complete" && evaluated.evaluation.state !== "Unreachable";
}

/** A soft finalizer blocks the removal of the copy. */
function isDisruptionBlocked({ object, cluster, evaluated }: JobCopy): boolean {
  const isThere = evaluated !== undefined && evaluated.evaluation.state !== "Unregistered";
  return isThere && softFinalizersOf(object.metadata.annotations, cluster).length > 0;
}

/**
 * The copy is in a cluster without its volumes, and nothing of it runs there: the copy starts in
 * the cluster of the volumes instead.
 */
function cannotProgress({ object, cluster, evaluated }: JobCopy, parent: Workload): boolean {
  const { annotations, deletionTimestamp } = object.metadata;
  const isTied = stringMember(parent.metadata.annotations, volumeClusterAnnotation) !== undefined;
  if (!isTied || deletionTimestamp !== undefined || finishedConditionOf(object) !== undefined)
    return false;
  // The finalizer of the syncer says nothing: the copy was created with it.
  const isThere = stringMember(annotations, volumeGateAnnotation(cluster)) !== undefined;
  return !isThere && evaluated?.evaluation.state === "Draining";
}

function started(
  { strategy, parent, takenNames, scheduling }: DecideInput,
  clusters: readonly EvaluatedCluster[],
  copies: readonly JobCopy[],
  missing: number,
): readonly ObjectInput<Workload>[] {
  if (missing === 0) return [];
  const open = [...eligibleClusters(clusters.map(({ share }) => share))];
  const shares = distribute(
    missing,
    open.map(({ name, weight, capacity, maxReplicas, domains }) => ({
      name,
      ready: true,
      weight,
      capacity,
      maxReplicas:
        maxReplicas === undefined
          ? undefined
          : Math.max(0, maxReplicas - newJobCopyIn(name, copies)),
      domains,
      current: 0,
    })),
  );
  const used = new Set([...takenNames, ...copies.map(({ object }) => object.metadata.name)]);
  return [...shares].flatMap(([cluster, units]) => {
    if (units === 0) return [];
    const share = { replicas: units };
    const requested = { isStopBeforeStart: isStopBeforeStart(parent, scheduling?.policy) };
    const request = { strategy, parent, cluster, share, ...requested };
    const made = newClusterCopy(request);
    const name = freeName(parent.metadata.name, cluster, used);
    return [{ ...made, metadata: { ...made.metadata, name } }];
  });
}

/** The unfinished completions of the cluster: its capacity covers these and new ones. */
function newJobCopyIn(cluster: string, copies: readonly JobCopy[]): number {
  const begun = copies.filter(
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

/**
 * Edits of the Job reach its copies; their completions stay. The copies of a failed Job are
 * suspended.
 */
function adjusted(
  { strategy, parent, scheduling }: DecideInput,
  { object, cluster }: JobCopy,
): readonly Workload[] {
  if (object.metadata.deletionTimestamp !== undefined || finishedConditionOf(object) !== undefined)
    return [];
  const share = strategy.shareOf(object);
  const isAtMostOne = isStopBeforeStart(parent, scheduling?.policy);
  const requested = { share, isStopBeforeStart: isAtMostOne };
  const request = { strategy, parent, cluster, ...requested };
  const next = updatedClusterCopy(object, request);
  const isFailed = finishedConditionOf(parent) === "Failed";
  const resting = isFailed ? { ...next, spec: { ...next.spec, parallelism: 0 } } : next;
  const isSame = isFailed ? specCount(object, "parallelism", 1) === 0 : next === object;
  return isSame ? [] : [resting];
}

function scaledJobs(
  creations: readonly ObjectInput<Workload>[],
  copies: readonly JobCopy[],
): ReadonlyMap<string, ScaledCluster> {
  return new Map(
    creations.map((copy) => {
      const cluster = assignedCluster(copy.metadata.labels) ?? "";
      const from = newJobCopyIn(cluster, copies);
      const to = from + desiredCompletions(copy as Workload);
      return [copy.metadata.name ?? "", { cluster, from, to }];
    }),
  );
}
