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
import { assignedTargets } from "../api/index.ts";
import {
  inFlightReplicas,
  type ResourceAmounts,
  reservationOf,
  type Scheduler,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
  workloadKindKey,
} from "../scheduling/index.ts";
import { writtenClusters } from "./conclude-decision.ts";
import { type Decision, schedulableOf } from "./decide.ts";
import { observePinned } from "./pinned-workload.ts";
import { recordedInFlight } from "./placement-record.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

interface WaitingWorkload {
  readonly key: ObjectKey;
  readonly places: ReadonlySet<string>;
}

export class Reservations {
  readonly #scheduler: Scheduler;
  readonly #strategy: Strategy;
  readonly #resource: string;
  /** Workloads with unscheduled replicas, and the physical clusters that could have them. */
  readonly #waiting = new Map<string, WaitingWorkload>();

  constructor(scheduler: Scheduler, strategy: Strategy) {
    this.#scheduler = scheduler;
    this.#strategy = strategy;
    this.#resource = workloadKindKey(strategy.workloads);
  }

  /** A change of policies or reservations requeues the workloads that it concerns. */
  follow(workloads: ObjectStore<KubernetesObject>, enqueue: (key: ObjectKey) => void): void {
    this.#scheduler.subscribe((news) => {
      for (const key of this.#keysOf(news, workloads)) enqueue(key);
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
      plan.unscheduled > 0,
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
    this.#await(key, isWaiting, assignedTargets(workload.metadata.labels));
  }

  #await(key: ObjectKey, isWaiting: boolean, targets: Iterable<string>): void {
    const id = formatKey(key);
    if (!isWaiting) {
      this.#waiting.delete(id);
      return;
    }
    const { clusterKeyOf } = this.#scheduler.reservations;
    const places = new Set([...targets].map((target) => clusterKeyOf(key.cluster, target)));
    this.#waiting.set(id, { key, places });
  }

  #waitingFor(freed: string): readonly ObjectKey[] {
    return [...this.#waiting.values()].flatMap(({ key, places }) =>
      places.has(freed) ? [key] : [],
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
  }

  #subjectOf(
    { cluster, namespace, name }: ObjectKey,
    workload: KubernetesObject | undefined,
  ): SchedulingSubject {
    const { labels = {} } = workload?.metadata ?? {};
    return { cluster, namespace, resource: this.#resource, name, labels };
  }

  #keysOf(
    schedulingNotification: SchedulingNotification,
    workloads: ObjectStore<KubernetesObject>,
  ): Iterable<ObjectKey> {
    if (schedulingNotification.kind === "room")
      return this.#waitingFor(schedulingNotification.place);
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
