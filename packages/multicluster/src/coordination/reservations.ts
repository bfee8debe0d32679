/**
 * The connection of a coordinator to the scheduler: it identifies workloads, reserves the resources
 * of decisions, tracks workloads that wait for capacity, and requeues the workloads that a change
 * concerns.
 */
import {
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
  type ObjectStore,
} from "@kcp-ts/sdk";
import { assignedTargets, workloadsResource } from "../api/index.ts";
import {
  addTo,
  inFlightReplicas,
  maxAvailableReplicas,
  multipliedBy,
  noResources,
  type ResourceAmounts,
  reservationOf,
  type Scheduler,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
  workloadKindKey,
} from "../scheduling/index.ts";
import type { ClusterInfo } from "./cluster-state.ts";
import { writtenClusters } from "./conclude-decision.ts";
import { type Decision, schedulableOf } from "./decide.ts";
import { observePinned } from "./pinned-workload.ts";
import { recordedInFlight } from "./placement-record.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

/** A workload with unscheduled replicas. */
interface WaitingWorkload {
  readonly key: ObjectKey;
  readonly subject: SchedulingSubject;
  /** The SyncTargets that could have them, by the key of the physical cluster. */
  readonly targets: ReadonlyMap<string, string>;
  readonly requests: ResourceAmounts;
  readonly replicas: number;
}

/** The workloads that wait for a cluster, in the order in which they began to wait. */
interface WakeRound {
  readonly remaining: string[];
  /** Woken, and not decided since. */
  readonly undecided: Set<string>;
}

export class Reservations {
  readonly #scheduler: Scheduler;
  readonly #strategy: Strategy;
  readonly #clusters: Pick<ObjectStore<ClusterInfo>, "list">;
  readonly #resource: string;
  readonly #waiting = new Map<string, WaitingWorkload>();
  readonly #rounds = new Map<string, WakeRound>();
  #enqueue: (key: ObjectKey) => void = () => {};

  constructor(
    scheduler: Scheduler,
    strategy: Strategy,
    clusters: Pick<ObjectStore<ClusterInfo>, "list">,
  ) {
    this.#scheduler = scheduler;
    this.#strategy = strategy;
    this.#clusters = clusters;
    this.#resource = workloadKindKey(strategy.workloads);
  }

  /** A change of policies or reservations requeues the workloads that it concerns. */
  follow(workloads: ObjectStore<KubernetesObject>, enqueue: (key: ObjectKey) => void): void {
    this.#enqueue = enqueue;
    this.#scheduler.subscribe((news) => {
      if (news.kind === "room") this.#wake(news.place);
      else for (const key of this.#keysOf(news, workloads)) enqueue(key);
    });
  }

  /** Resolves when the policies of the logical cluster are known. */
  async ready({ cluster }: ObjectKey): Promise<void> {
    await this.#scheduler.ready(cluster);
  }

  /** The current scheduling snapshot; the caller must use it before its next await. */
  snapshot(key: ObjectKey, workload: Workload): SchedulingSnapshot {
    return this.#scheduler.snapshotFor(this.#subjectOf(key, workload));
  }

  /**
   * Reserves the resources of a decision, so that concurrent reconciles of other workloads see
   * them. Without a write, it reserves the existing copies: this reconcile read them, and the watch
   * may not have delivered them yet.
   */
  reserve(key: ObjectKey, workload: Workload, decision: Decision): void {
    const { plan, clusters, record } = decision;
    const isWriting = writtenClusters(decision).size > 0;
    const there = clusters.map(({ name, share }) => [name, share.copy?.replicas ?? 0] as const);
    const { requests } = schedulableOf(this.#strategy, workload);
    const held = new Map<string, ResourceAmounts>();
    // Replicas that wait for a later step belong to the decision, too.
    const isAwaited = there.some(([name, replicas]) => (plan.goal.get(name) ?? 0) > replicas);
    const shares = new Map(isWriting || isAwaited || plan.deferred > 0 ? plan.goal : there);
    const [[somewhere] = []] = shares;
    if (somewhere !== undefined)
      shares.set(somewhere, (shares.get(somewhere) ?? 0) + this.#underWay(workload, decision));
    const refused = new Set(record.clusters?.flatMap((one) => (one.refusal ? [one.name] : [])));
    for (const [target, share] of shares)
      if (share > 0 && !refused.has(target)) held.set(target, reservationOf(requests, share));
    this.#scheduler.reserve(this.#subjectOf(key, workload), held);
    this.#await(
      key,
      workload,
      plan.unscheduled,
      clusters.map(({ name }) => name),
    );
  }

  /** Observes what workloads reserve that their authors assign to clusters. */
  followPinned(workloads: ObjectSource<KubernetesObject>): void {
    observePinned(this.#scheduler.reservations, workloads, (key, workload) =>
      this.#subjectOf(key, workload),
    );
  }

  /** Reserves what such a workload has in its clusters; a workload that does not fit waits. */
  reservePinned(
    key: ObjectKey,
    workload: Workload,
    held: ReadonlyMap<string, ResourceAmounts>,
    isWaiting: boolean,
  ): void {
    this.#scheduler.reserve(this.#subjectOf(key, workload), held);
    const replicas = isWaiting ? this.#strategy.desiredReplicas(workload) : 0;
    this.#await(key, workload, replicas, assignedTargets(workload.metadata.labels));
  }

  /** Records the replicas of a decision that wait for capacity. */
  #await(key: ObjectKey, workload: Workload, replicas: number, targets: Iterable<string>): void {
    const id = formatKey(key);
    if (replicas === 0) this.#waiting.delete(id);
    else {
      const { clusterKeyOf } = this.#scheduler.reservations;
      this.#waiting.set(id, {
        key,
        subject: this.#subjectOf(key, workload),
        targets: new Map(
          [...targets].map((target) => [clusterKeyOf(key.cluster, target), target] as const),
        ),
        requests: schedulableOf(this.#strategy, workload).requests,
        replicas,
      });
    }
    this.#decided(id);
  }

  /** Requeues the workloads that wait for a cluster in their order, as many as fit. */
  #wake(place: string): void {
    if (this.#waiting.size === 0) return;
    const round = { remaining: [...this.#waiting.keys()].reverse(), undecided: new Set<string>() };
    this.#rounds.set(place, round);
    this.#continue(place, round);
  }

  /** What the woken workloads have left is for those behind them. */
  #decided(id: string): void {
    for (const [place, round] of this.#rounds)
      if (round.undecided.delete(id) && round.undecided.size === 0) this.#continue(place, round);
  }

  #continue(place: string, { remaining, undecided }: WakeRound): void {
    const taken = new Map<string, number>();
    for (let id = remaining.pop(); id !== undefined; id = remaining.pop()) {
      const waiting = this.#waiting.get(id);
      const target = waiting?.targets.get(place);
      if (waiting === undefined || target === undefined) continue;
      const fitting = this.#fitting(waiting, target, taken) || this.#fittingElsewhere(waiting);
      if (fitting > 0) {
        undecided.add(id);
        addTo(taken, multipliedBy(waiting.requests, Math.min(fitting, waiting.replicas)));
        this.#enqueue(waiting.key);
      } else if (undecided.size > 0) {
        // Whether it fits is known when the others are decided.
        remaining.push(id);
        return;
      }
    }
    if (undecided.size === 0) this.#rounds.delete(place);
  }

  /** What one cluster of a Location releases may be used in another. */
  #fittingElsewhere(waiting: WaitingWorkload): number {
    if (this.#scheduler.snapshotFor(waiting.subject).locationLimits.length === 0) return 0;
    const targets = [...waiting.targets.values()];
    return Math.max(0, ...targets.map((target) => this.#fitting(waiting, target, noResources)));
  }

  /** How many more replicas the cluster's limits permit, beside what the woken workloads take. */
  #fitting(
    { key: { cluster }, subject, requests }: WaitingWorkload,
    target: string,
    taken: ResourceAmounts,
  ): number {
    const candidate = this.#clusters.list({ cluster }).find(({ name }) => name === target);
    if (candidate === undefined || requests.size === 0) return Infinity;
    const { reservations } = this.#scheduler;
    const used = reservations.reserved(candidate.computeWorkspace ?? cluster, target);
    const others = reservations.usedByOthers(subject)(target, candidate.computeWorkspace);
    const usedWith = (name: string) => (used.get(name) ?? 0) + (taken.get(name) ?? 0);
    const isThere = others(workloadsResource) < (used.get(workloadsResource) ?? 0);
    const currentReplicas = { replicas: isThere ? 1 : 0, available: 0 };
    const usage = { inCluster: () => usedWith, byWorkspace: () => used };
    return (
      maxAvailableReplicas(candidate, { requests, currentReplicas }, usage)?.replicas ?? Infinity
    );
  }

  /**
   * Ordinals that have left one cluster and have not started in the next one: other workloads must
   * not take their capacity meanwhile.
   */
  #underWay(workload: Workload, { plan, totalLimit, record }: Decision): number {
    if (this.#strategy.capabilities.unit !== "Ordinal") return 0;
    let given = plan.unscheduled;
    for (const share of plan.goal.values()) given += share;
    // The in-flight replicas of the record are visible to every coordinator.
    given += inFlightReplicas(recordedInFlight(record));
    const requested = this.#strategy.desiredReplicas(workload);
    return Math.max(0, Math.min(requested, totalLimit?.replicas ?? requested) - given);
  }

  /** After a workload is deleted, its WorkloadPlacement holds reservations until it is deleted. */
  release(key: ObjectKey): void {
    this.#scheduler.reserve(this.#subjectOf(key, undefined), new Map());
    this.#waiting.delete(formatKey(key));
    this.#decided(formatKey(key));
  }

  #subjectOf(
    { cluster, namespace, name }: ObjectKey,
    workload: KubernetesObject | undefined,
  ): SchedulingSubject {
    const { labels = {} } = workload?.metadata ?? {};
    return { cluster, namespace, resource: this.#resource, name, labels };
  }

  #keysOf(
    schedulingNotification: Exclude<SchedulingNotification, { readonly kind: "room" }>,
    workloads: ObjectStore<KubernetesObject>,
  ): Iterable<ObjectKey> {
    if (schedulingNotification.kind === "record") {
      const { cluster, namespace, name, resource } = schedulingNotification;
      return resource === this.#resource ? [{ cluster, namespace, name }] : [];
    }
    if (schedulingNotification.cluster === "all")
      return workloads.keysByIndex("all-wholes", { value: "" });
    const keys = workloads.keysByIndex("wholes", {
      cluster: schedulingNotification.cluster,
      value: "",
    });
    return schedulingNotification.namespace === undefined
      ? keys
      : keys.filter(({ namespace }) => namespace === schedulingNotification.namespace);
  }
}
