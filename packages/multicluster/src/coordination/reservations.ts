/**
 * Between a coordinator and the scheduler: who is decided about, what the decision takes, who waits for room, and whom news are about.
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
import { type Decision, schedulableOf } from "./decide.ts";
import { isUnassigned, ownerLabelValue } from "./part.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export class Reservations {
  readonly #scheduler: Scheduler;
  readonly #strategy: Strategy;
  readonly #resource: string;
  /** Wholes with something that has no place. */
  readonly #waiting = new Map<string, ObjectKey>();

  constructor(scheduler: Scheduler, strategy: Strategy) {
    this.#scheduler = scheduler;
    this.#strategy = strategy;
    this.#resource = formatGroupResource(strategy.parts);
  }

  /** Parts say what they have reserved, and wholes what is between them; news lead to the wholes that they are about. */
  follow(
    parts: ObjectSource<KubernetesObject>,
    wholes: ObjectSource<KubernetesObject>,
    enqueue: (key: ObjectKey) => void,
  ): void {
    this.#scheduler.follow(parts, this.#resource);
    const see = (whole: KubernetesObject, { key }: { readonly key: ObjectKey }) => {
      if (isUnassigned(whole)) this.see(key, whole);
    };
    wholes.addHandler({
      added: see,
      updated: see,
      deleted: (_, { key }) =>
        this.#scheduler.seeUnderWay(this.#subjectOf(key, undefined), new Map()),
    });
    this.#scheduler.subscribe((news) => {
      for (const key of this.#keysOf(news, wholes.store)) enqueue(key);
    });
  }

  /** What a whole says of itself. */
  see(key: ObjectKey, whole: KubernetesObject): void {
    const { annotations } = whole.metadata;
    this.#scheduler.seeUnderWay(this.#subjectOf(key, whole), readInFlight(annotations));
  }

  /** When policies are known. */
  async ready({ cluster }: ObjectKey): Promise<void> {
    await this.#scheduler.ready(cluster);
  }

  /** As it is now: to be used before anything else is waited for. */
  facts(key: ObjectKey, whole: Workload): SchedulingSnapshot {
    return this.#scheduler.factsFor(this.#subjectOf(key, whole));
  }

  /**
   * What is decided is taken from now on, whoever else is looked at meanwhile; where nothing is to be done, what is there: it was read, and may not have been
   * seen yet by whoever watches.
   */
  hold(key: ObjectKey, whole: Workload, decision: Decision): void {
    const { creations, updates, cuts, removals, plan, places } = decision;
    const isWriting = creations.length + updates.length + cuts.length + removals.length > 0;
    const there = places.map(({ name, member }) => [name, member.part?.replicas ?? 0] as const);
    const { requests } = schedulableOf(this.#strategy, whole);
    const held = new Map<string, ResourceAmounts>();
    // What waits for its turn is decided, too.
    const isAwaited = there.some(([name, replicas]) => (plan.goal.get(name) ?? 0) > replicas);
    const shares = new Map(isWriting || isAwaited || plan.deferred > 0 ? plan.goal : there);
    const [[somewhere] = []] = shares;
    if (somewhere !== undefined)
      shares.set(somewhere, (shares.get(somewhere) ?? 0) + this.#underWay(whole, decision));
    for (const [target, share] of shares)
      if (share > 0) held.set(target, reservationOf(requests, share));
    this.#scheduler.hold(this.#subjectOf(key, whole), held);
    if (plan.unplaced > 0) this.#waiting.set(formatKey(key), key);
    else this.#waiting.delete(formatKey(key));
  }

  /** Numbers that have left one cluster and are not in the next one yet: nobody else may have their room meanwhile. */
  #underWay(whole: Workload, { plan, total }: Decision): number {
    if (this.#strategy.sharing !== "ordinal") return 0;
    let given = plan.unplaced;
    for (const share of plan.goal.values()) given += share;
    // What the whole says is seen by everybody.
    given += inFlightReplicas(readInFlight(whole.metadata.annotations));
    const asked = this.#strategy.asked(whole);
    return Math.max(0, Math.min(asked, total?.replicas ?? asked) - given);
  }

  /** Of what is gone only its parts count, until they are gone, too. */
  release(key: ObjectKey): void {
    this.#scheduler.hold(this.#subjectOf(key, undefined), new Map());
    this.#waiting.delete(formatKey(key));
  }

  #subjectOf(
    { cluster, namespace, name }: ObjectKey,
    whole: KubernetesObject | undefined,
  ): SchedulingSubject {
    const { labels = {} } = whole?.metadata ?? {};
    return { cluster, namespace, resource: this.#resource, name: ownerLabelValue(name), labels };
  }

  #keysOf(
    news: SchedulingNotification,
    wholes: ObjectStore<KubernetesObject>,
  ): Iterable<ObjectKey> {
    if (news.kind === "room") return this.#waiting.values();
    if (news.cluster === "all") return wholes.keysByIndex("all-wholes", { value: "" });
    const keys = wholes.keysByIndex("wholes", { cluster: news.cluster, value: "" });
    return news.namespace === undefined
      ? keys
      : keys.filter(({ namespace }) => namespace === news.namespace);
  }
}
