/**
 * The connection of a coordinator to the scheduler: it identifies workloads, reserves the resources
 * of decisions, tracks workloads that wait for capacity, and requeues the workloads that a change
 * concerns.
 */
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
  type ObjectStore,
} from "@kcp-ts/sdk";
import {
  inFlightReplicas,
  type ResourceAmounts,
  readInFlight,
  reservationOf,
  type Scheduler,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
} from "../scheduling/index.ts";
import { isUnassigned, ownerLabelValue } from "./cluster-copy.ts";
import { type Decision, schedulableOf } from "./decide.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export class Reservations {
  readonly #scheduler: Scheduler;
  readonly #strategy: Strategy;
  readonly #resource: string;
  /** Workloads with unscheduled replicas. */
  readonly #waiting = new Map<string, ObjectKey>();

  constructor(scheduler: Scheduler, strategy: Strategy) {
    this.#scheduler = scheduler;
    this.#strategy = strategy;
    this.#resource = formatGroupResource(strategy.copies);
  }

  /**
   * Subscribes to the reservations on per-cluster objects and to the in-flight replicas on
   * workloads; a change requeues the workloads that it concerns.
   */
  follow(
    copies: ObjectSource<KubernetesObject>,
    workloads: ObjectSource<KubernetesObject>,
    enqueue: (key: ObjectKey) => void,
  ): void {
    this.#scheduler.follow(copies, this.#resource);
    const see = (workload: KubernetesObject, { key }: { readonly key: ObjectKey }) => {
      if (isUnassigned(workload)) this.observe(key, workload);
    };
    workloads.addHandler({
      added: see,
      updated: see,
      deleted: (_, { key }) =>
        this.#scheduler.observeInFlight(this.#subjectOf(key, undefined), new Map()),
    });
    this.#scheduler.subscribe((news) => {
      for (const key of this.#keysOf(news, workloads.store)) enqueue(key);
    });
  }

  /** Records the in-flight replicas that a workload's annotation lists. */
  observe(key: ObjectKey, workload: KubernetesObject): void {
    const { annotations } = workload.metadata;
    this.#scheduler.observeInFlight(this.#subjectOf(key, workload), readInFlight(annotations));
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
    const { creations, updates, scaleDowns, removals, plan, clusters } = decision;
    const isWriting = creations.length + updates.length + scaleDowns.length + removals.length > 0;
    const there = clusters.map(({ name, share }) => [name, share.copy?.replicas ?? 0] as const);
    const { requests } = schedulableOf(this.#strategy, workload);
    const held = new Map<string, ResourceAmounts>();
    // Replicas that wait for a later step belong to the decision, too.
    const isAwaited = there.some(([name, replicas]) => (plan.goal.get(name) ?? 0) > replicas);
    const shares = new Map(isWriting || isAwaited || plan.deferred > 0 ? plan.goal : there);
    const [[somewhere] = []] = shares;
    if (somewhere !== undefined)
      shares.set(somewhere, (shares.get(somewhere) ?? 0) + this.#underWay(workload, decision));
    for (const [target, share] of shares)
      if (share > 0) held.set(target, reservationOf(requests, share));
    this.#scheduler.reserve(this.#subjectOf(key, workload), held);
    if (plan.unscheduled > 0) this.#waiting.set(formatKey(key), key);
    else this.#waiting.delete(formatKey(key));
  }

  /**
   * Ordinals that have left one cluster and have not started in the next one: other workloads must
   * not take their capacity meanwhile.
   */
  #underWay(workload: Workload, { plan, totalLimit }: Decision): number {
    if (this.#strategy.replicaScheduling !== "Ordinal") return 0;
    let given = plan.unscheduled;
    for (const share of plan.goal.values()) given += share;
    // The in-flight replicas of the annotation are visible to every coordinator.
    given += inFlightReplicas(readInFlight(workload.metadata.annotations));
    const requested = this.#strategy.desiredReplicas(workload);
    return Math.max(0, Math.min(requested, totalLimit?.replicas ?? requested) - given);
  }

  /**
   * After a workload is deleted, only its per-cluster objects hold reservations, until they are
   * deleted, too.
   */
  release(key: ObjectKey): void {
    this.#scheduler.reserve(this.#subjectOf(key, undefined), new Map());
    this.#waiting.delete(formatKey(key));
  }

  #subjectOf(
    { cluster, namespace, name }: ObjectKey,
    workload: KubernetesObject | undefined,
  ): SchedulingSubject {
    const { labels = {} } = workload?.metadata ?? {};
    return { cluster, namespace, resource: this.#resource, name: ownerLabelValue(name), labels };
  }

  #keysOf(
    schedulingNotification: SchedulingNotification,
    workloads: ObjectStore<KubernetesObject>,
  ): Iterable<ObjectKey> {
    if (schedulingNotification.kind === "room") return this.#waiting.values();
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
