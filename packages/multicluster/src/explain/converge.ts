/**
 * The state at rest that decisions lead to. The same decisions as the coordinators' are carried out
 * on a workspace snapshot, in rounds, until no decision writes anything: every object that they
 * start becomes available, and every claim moves that may move. Pure.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  softFinalizersAnnotation,
  softFinalizersOf,
  trafficFinalizerPrefix,
  volumeClusterAnnotation,
} from "../api/index.ts";
import {
  type Decision,
  isSameDecision,
  type Strategy,
  type Workload,
} from "../coordination/index.ts";
import { type PlannedUser, predictVolumeRefusals, type RefusedClaim } from "../volumes/index.ts";
import { ConvergingClaims } from "./converging-claims.ts";
import {
  type EvaluationTime,
  type SnapshotWorkload,
  WorkspaceDecisions,
  type WorkspaceSnapshot,
  withRecord,
} from "./workspace-snapshot.ts";

export interface ConvergedWorkload {
  readonly workload: SnapshotWorkload;
  /** The replicas at rest, by cluster, without those of Unreachable clusters. */
  readonly shares: ReadonlyMap<string, number>;
  /** The last decision. */
  readonly decision: Decision;
  /** Claims that keep the workload, or some of its ordinals, in their cluster. */
  readonly rejectedBy: readonly RefusedClaim[];
  /** The clusters that the workload has to leave, and does not. */
  readonly leftBehind: readonly string[];
}

/** Each ordinal of a StatefulSet takes three rounds. */
const roundsMax = 3000;

export function* converge(
  snapshot: WorkspaceSnapshot,
  evaluationTime: EvaluationTime,
): Resumable<readonly ConvergedWorkload[]> {
  const convergence = new Convergence(snapshot, evaluationTime);
  const all = [...convergence.workloads];
  let round = all;
  for (let rounds = 0; rounds < roundsMax; rounds++) {
    const changed: ConvergingWorkload[] = [];
    for (const workload of round) {
      if (convergence.step(workload)) changed.push(workload);
      yield;
    }
    if (changed.length === 0 && round === all) break;
    // The coordinators ask all workloads whenever one of them changes: it may leave capacity to the
    // others, or lead them by its affinity. Ordinals move one at a time, through many rounds: all
    // workloads are asked once again when the last ordinal has moved.
    const onlyOrdinals =
      changed.length > 0 &&
      changed.every(({ first }) => first.strategy.capabilities.unit === "Ordinal");
    round = onlyOrdinals ? changed : all;
  }
  return all.map((workload) => convergence.resultOf(workload));
}

interface ConvergingWorkload {
  readonly id: string;
  readonly first: SnapshotWorkload;
  now: SnapshotWorkload;
  decision: Decision | undefined;
  rejectedBy: readonly RefusedClaim[];
}

/** At rest all endpoints are published: a Service holds a copy only until they are. */
export function withoutTrafficHolds(copy: Workload): Workload {
  const { annotations, labels } = copy.metadata;
  const cluster = assignedCluster(labels) ?? "";
  const holders = softFinalizersOf(annotations, cluster);
  const others = holders.filter((one) => !one.startsWith(trafficFinalizerPrefix));
  if (others.length === holders.length) return copy;
  const own = { ...annotations, [softFinalizersAnnotation(cluster)]: others.join(",") };
  return { ...copy, metadata: { ...copy.metadata, annotations: own } };
}

class Convergence {
  readonly workloads: readonly ConvergingWorkload[];
  readonly #snapshot: WorkspaceSnapshot;
  readonly #decisions: WorkspaceDecisions;
  readonly #claims: ConvergingClaims;
  readonly #strategies = new Map<Strategy, Strategy>();

  constructor(snapshot: WorkspaceSnapshot, evaluationTime: EvaluationTime) {
    this.#snapshot = { ...snapshot, targets: snapshot.targets.map(withoutDrainBudget) };
    this.#decisions = new WorkspaceDecisions(this.#snapshot, evaluationTime);
    this.#claims = new ConvergingClaims(this.#snapshot);
    this.workloads = this.#decisions.inOrder().map((first) => {
      const copies = first.copies
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(withoutTrafficHolds);
      const { namespace, name } = first.workload.metadata;
      const id = `${first.strategy.name} ${namespace}/${name}`;
      return { id, first, now: { ...first, copies }, decision: undefined, rejectedBy: [] };
    });
  }

  /** Returns whether the decision changes anything. */
  step(workload: ConvergingWorkload): boolean {
    const { now } = workload;
    const strategy = this.#availableAtOnce(now.strategy);
    const related = this.#claims.inNamespaceOf(now.workload);
    const decision = this.#decisions.decide({ ...now, strategy }, related);
    workload.decision = decision;
    if (!isStepped(now)) {
      workload.rejectedBy = this.#refusalsOf(now, decision);
      return false;
    }
    const copies = copiesAfter(now.copies, decision);
    workload.now = { ...withRecord(now, decision.record), copies };
    this.#claims.migrate(workload.now);
    this.#decisions.observe(now, workload.now);
    return copies !== now.copies || !isSameDecision(now.placement?.status, decision.record);
  }

  resultOf({ first, now, decision, rejectedBy }: ConvergingWorkload): ConvergedWorkload {
    if (decision === undefined) throw new Error("a converged workload has a decision");
    if (!isStepped(now)) {
      const shares = rejectedBy.length > 0 ? currentShares(first) : decision.plan.goal;
      return { workload: first, shares, decision, rejectedBy, leftBehind: [] };
    }
    const lost = new Set(
      decision.clusters
        .filter(({ share: { state } }) => state === "Unreachable" || state === "Unregistered")
        .map(({ name }) => name),
    );
    const shares = new Map([...currentShares(now)].filter(([cluster]) => !lost.has(cluster)));
    const requested = this.#claims.refusalsOf(now.workload);
    // Ordinals leave one at a time: those that wait behind another have requested nothing yet.
    const behind = leftBehind(decision, shares);
    const waiting = behind
      .filter((cluster) => requested.every((one) => one.cluster !== cluster))
      .flatMap((cluster) => this.#refusalsOfMove(now, { [cluster]: 1 }, decision));
    const rejected = [...requested, ...waiting];
    return { workload: first, shares, decision, rejectedBy: rejected, leftBehind: behind };
  }

  /** The claims that would reject a move from these clusters to any that may have replicas. */
  #refusalsOfMove(
    now: SnapshotWorkload,
    from: Readonly<Record<string, number>>,
    { clusters }: Decision,
  ): readonly RefusedClaim[] {
    const other = clusters.find(({ name, share }) => share.state === "Ready" && !(name in from));
    return other === undefined ? [] : this.#predict(now, from, { [other.name]: 1 });
  }

  /** The claims that reject what the decision requests for a workload with one data cluster. */
  #refusalsOf(now: SnapshotWorkload, { plan }: Decision): readonly RefusedClaim[] {
    const present = (shares: ReadonlyMap<string, number>) =>
      Object.fromEntries([...shares].filter(([, share]) => share > 0));
    return this.#predict(now, present(currentShares(now)), present(plan.goal));
  }

  #predict(
    now: SnapshotWorkload,
    from: Readonly<Record<string, number>>,
    to: Readonly<Record<string, number>>,
  ): readonly RefusedClaim[] {
    const { storage, cluster, targets } = this.#snapshot;
    if (storage === undefined) return [];
    const user = { ...now, kind: now.strategy.workloads.kind, from, to } as PlannedUser;
    return predictVolumeRefusals({ cluster, targets, storage }, user);
  }

  /** The strategy with reports of clusters in which all replicas are available. */
  #availableAtOnce(strategy: Strategy): Strategy {
    const known = this.#strategies.get(strategy);
    if (known !== undefined) return known;
    // Placement at rest does not depend on the pace of a rollout.
    const { rollout: _, ...rest } = strategy;
    const made: Strategy = {
      ...rest,
      statusReportOf: (copy) => {
        const { running } = strategy.statusReportOf(copy);
        const { replicas: available } = strategy.shareOf(copy);
        return {
          available,
          ...(running === undefined ? {} : { running: available }),
          isObserved: true,
          isStuck: false,
        };
      },
    };
    this.#strategies.set(strategy, made);
    return made;
  }
}

function leftBehind(
  { clusters }: Decision,
  shares: ReadonlyMap<string, number>,
): readonly string[] {
  return clusters
    .filter(({ name, share }) => share.state === "Draining" && (shares.get(name) ?? 0) > 0)
    .map(({ name }) => name);
}

/**
 * Whether the steps of the workload are carried out. Jobs and autoscalers report more than
 * replicas, and a workload with a data cluster waits for its volumes: their goal is the result.
 */
function isStepped({ strategy, workload }: SnapshotWorkload): boolean {
  if (strategy.capabilities.unit === "Ordinal") return true;
  const tie = stringMember(workload.metadata.annotations, volumeClusterAnnotation) ?? "";
  return strategy.decide === undefined && tie === "";
}

/** At its end, a drain on a budget has moved as much as a drain without. */
function withoutDrainBudget(
  target: WorkspaceSnapshot["targets"][number],
): WorkspaceSnapshot["targets"][number] {
  if (target.spec?.drain?.budget === undefined) return target;
  return { ...target, spec: { ...target.spec, drain: {} } };
}

function currentShares({ strategy, copies }: SnapshotWorkload): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const copy of copies) {
    const cluster = assignedCluster(copy.metadata.labels) ?? "";
    shares.set(cluster, (shares.get(cluster) ?? 0) + strategy.shareOf(copy).replicas);
  }
  return shares;
}

/** The identical list when the decision writes no copy. */
function copiesAfter(
  copies: readonly Workload[],
  { creations, updates, scaleDowns, removals }: Decision,
): readonly Workload[] {
  if (creations.length + updates.length + scaleDowns.length + removals.length === 0) return copies;
  const gone = new Set(removals.map(({ metadata }) => metadata.name));
  const written = new Map([...updates, ...scaleDowns].map((copy) => [copy.metadata.name, copy]));
  return [
    ...copies
      .filter(({ metadata }) => !gone.has(metadata.name))
      .map((copy) => written.get(copy.metadata.name) ?? copy),
    ...creations.map((copy) => copy as unknown as Workload),
  ];
}
