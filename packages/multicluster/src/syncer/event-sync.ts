/**
 * Syncs Events of the cluster about synced workloads up. An Event there is about a Deployment's
 * copy, a ReplicaSet that does not exist upstream, or a Pod; its upstream copy is about an object
 * that upstream users know: the workload, the synced object, or the Pod's upstream copy.
 *
 * An upstream copy is written once for every change and expires like all Events; only queued Events
 * are kept in memory. The rate of writes is limited: a workload that fails in a loop costs a
 * limited number of writes per second, and the newest state of each Event is the one that is
 * written.
 */
import { onAbort, runTogether } from "@kcp-ts/machinery/base";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type DynamicObject,
  defineResource,
  ExponentialFailureRateLimiter,
  type KubernetesObject,
  type ObjectInput,
  type ObjectKey,
  type Resource,
  StorelessInformer,
  stringMember,
  WorkQueue,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { SyncRules } from "../api/index.ts";
import { ownedByLabels, stateLabel, stateUpsync, syncerFieldManager } from "../api/index.ts";
import type { CachedObject } from "./cached-object.ts";
import type { SyncContext } from "./context.ts";
import { copyName, isShorterInCluster } from "./copy-names.ts";
import type { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { EventRateLimiter } from "./event-rate-limiter.ts";
import type { KindView } from "./kind-view.ts";

export interface EventSyncOptions {
  readonly context: SyncContext;
  readonly namespaces: DownstreamNamespaces;
  /** Whether Pods of a logical cluster, and so their Events, are synced up. */
  readonly serves: (cluster: ClusterName) => boolean;
  /** The view of a kind, if the kind is synced. */
  readonly viewOf: (group: string, kind: string) => KindOf | undefined;
  readonly signal: AbortSignal;
}

export interface KindOf {
  readonly resource: Resource;
  readonly policy: SyncRules;
  readonly view: KindView;
}

interface Reference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly fieldPath?: string;
}

export interface Event extends KubernetesObject {
  readonly involvedObject?: Reference;
  readonly reason?: string;
  readonly message?: string;
  readonly type?: string;
  readonly count?: number;
  readonly source?: object;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly eventTime?: string;
  readonly series?: object;
  readonly action?: string;
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

const events = defineResource<Event>(kinds.events);

/** The kinds between synced workloads and Pods, which controllers in the cluster create. */
const between: readonly Resource[] = [
  { group: "apps", version: "v1", resource: "replicasets", kind: "ReplicaSet", namespaced: true },
  { group: "batch", version: "v1", resource: "jobs", kind: "Job", namespaced: true },
].map((one) => defineResource<KubernetesObject>(one));

/** An older Event is about to expire, or has expired upstream. */
const oldMs = 3_600_000;
const waitingMax = 2000;
const retry = { firstMs: 100, mostMs: 30_000 };
const triesMax = 10;
const ownersMax = 1000;
const generationsMax = 4;

export class EventSync {
  readonly #options: EventSyncOptions;
  /** The newest state of each queued Event. */
  readonly #waiting = new Map<string, Event>();
  readonly #queue: WorkQueue<string>;
  readonly #pace: EventRateLimiter;
  /** The controller owner of objects that were created in the cluster, by their uid. */
  readonly #owners = new Map<string, Reference | undefined>();
  readonly #tries = new Map<string, number>();

  constructor(options: EventSyncOptions) {
    this.#options = options;
    const { clock, target } = options.context;
    this.#pace = new EventRateLimiter(clock);
    this.#queue = new WorkQueue<string>({
      name: `events_${target.name}`,
      keyOf: (text) => text,
      // Fair queuing: many Events of one tenant do not delay a single Event of another tenant.
      flowOf: (text) => text.split("/", 1)[0] ?? "",
      rateLimiter: new ExponentialFailureRateLimiter(retry),
      clock,
    });
  }

  async run(): Promise<void> {
    const { context, signal } = this.#options;
    const { downstream, clock, random, onError } = context;
    const follower = new StorelessInformer<Event>({
      client: downstream,
      resource: events,
      scope: { cluster: rootCluster },
      handler: { observed: (event) => this.#told(event) },
      clock,
      random,
      onError,
    });
    await runTogether(signal, [
      (stop) => follower.run(stop),
      (stop) => {
        onAbort(stop, () => this.#queue.shutDown());
        return this.#work();
      },
    ]);
  }

  #told(event: Event): void {
    const { namespace = "", name } = event.metadata;
    if (!namespace.startsWith("kcp-") || this.#waiting.size >= waitingMax) return;
    const atMs = Date.parse(event.lastTimestamp ?? event.eventTime ?? "");
    if (this.#options.context.clock.now() - atMs > oldMs) return;
    const text = `${namespace}/${name}`;
    this.#waiting.set(text, shortened(event));
    this.#queue.add(text);
  }

  async #work(): Promise<void> {
    for (let text = await this.#queue.get(); text !== undefined; text = await this.#queue.get()) {
      try {
        await this.#next(text);
      } catch (error) {
        this.#forget(text);
        if (!isOver(error) && !this.#options.signal.aborted) this.#options.context.onError(error);
      } finally {
        this.#queue.done(text);
      }
    }
  }

  async #next(text: string): Promise<void> {
    const event = this.#waiting.get(text);
    if (event === undefined) return;
    const waitMs = this.#pace.waitMs(text.split("/", 1)[0] ?? "");
    if (waitMs > 0) {
      this.#queue.addAfter(text, waitMs);
      return;
    }
    if (!(await this.#copy(event))) {
      this.#later(text);
      return;
    }
    if (this.#waiting.get(text) === event) this.#forget(text);
    else this.#queue.add(text);
  }

  /** The involved object may not be upstream yet; or it is not synced, and never will be. */
  #later(text: string): void {
    const tries = (this.#tries.get(text) ?? 0) + 1;
    this.#tries.set(text, tries);
    if (tries >= triesMax) this.#forget(text);
    else this.#queue.addRateLimited(text);
  }

  #forget(text: string): void {
    this.#waiting.delete(text);
    this.#tries.delete(text);
    this.#queue.forget(text);
  }

  async #copy(event: Event): Promise<boolean> {
    const { namespaces, context, serves, signal } = this.#options;
    const at = namespaces.locate(event.metadata.namespace ?? "");
    if (at === undefined || !serves(at.cluster)) return false;
    if (this.#isFirstScaling(event, at.cluster, at.namespace)) return true;
    const known = await this.#knownAs(event.involvedObject ?? {}, event.metadata.namespace ?? "", {
      ...at,
      name: "",
    });
    if (known === undefined) return false;
    const object = copyOf(event, known, context.nameIn(at.cluster), at.namespace);
    const resource = context.upstreamIn(at.cluster).resource<DynamicObject>(events as never);
    await resource.apply(object, { fieldManager: syncerFieldManager, force: true, signal });
    return true;
  }

  /** The workload's own Event `ScaledCluster` says it, with the replicas of all clusters. */
  #isFirstScaling(
    { reason, involvedObject: { kind, name = "" } = {} }: Event,
    cluster: ClusterName,
    namespace: string,
  ): boolean {
    if (reason !== "ScalingReplicaSet" || kind !== "Deployment") return false;
    const synced = this.#options.viewOf("apps", kind);
    const upstream = synced && this.#upstreamOf(synced, { cluster, namespace, name });
    return upstream !== undefined && isPart(upstream) && upstream.metadata.generation === 1;
  }

  /** The upstream object that corresponds to the involved object. */
  async #knownAs(
    reference: Reference,
    namespace: string,
    at: ObjectKey,
    depth = 0,
  ): Promise<Reference | undefined> {
    const { apiVersion = "v1", kind = "", name = "" } = reference;
    const group = apiVersion.includes("/") ? (apiVersion.split("/", 1)[0] ?? "") : "";
    const synced = this.#options.viewOf(group, kind);
    const upstream = synced && this.#upstreamOf(synced, { ...at, name });
    if (upstream !== undefined) {
      const { name, uid, controller } = upstream.metadata;
      return isPart(upstream) && controller !== undefined
        ? controller
        : { apiVersion, kind, name, uid };
    }
    const resource =
      synced?.resource ?? between.find((one) => one.group === group && one.kind === kind);
    if (resource === undefined || kind === "Pod" || depth >= generationsMax) return undefined;
    const owner = await this.#ownerOf(reference, resource, namespace);
    return owner && this.#knownAs(owner, namespace, at, depth + 1);
  }

  /** The upstream object by its name in the cluster. */
  #upstreamOf({ view, policy }: KindOf, key: ObjectKey): CachedObject | undefined {
    const target = this.#options.context.nameIn(key.cluster);
    const longer = isShorterInCluster(policy) ? copyName(key.name, target) : key.name;
    return view.upstreamObject({ ...key, name: longer }) ?? view.upstreamObject(key);
  }

  async #ownerOf(
    { uid = "", name = "" }: Reference,
    resource: Resource,
    namespace: string,
  ): Promise<Reference | undefined> {
    if (this.#owners.has(uid)) return this.#owners.get(uid);
    const { context, signal } = this.#options;
    const found = await context.downstream.resource(resource).find({ namespace, name }, { signal });
    if (found === undefined || found.metadata.uid !== uid) return undefined;
    const owner = found.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (this.#owners.size >= ownersMax) this.#owners.clear();
    this.#owners.set(uid, owner);
    return owner;
  }
}

/** Whether the object is the per-cluster object of a workload. */
function isPart({ metadata: { labels } }: CachedObject): boolean {
  return ownedByLabels.some((label) => stringMember(labels, label) !== undefined);
}

/** The parts of an Event that its upstream copy is made of, with texts of a limited length. */
function shortened(event: Event): Event {
  const { metadata, involvedObject, source, series, type, count } = event;
  const { name, namespace } = metadata;
  const cut = (text: string | undefined) =>
    typeof text === "string" ? text.slice(0, textCharactersMax) : undefined;
  const cutAll = <Part extends object>(part: Part | undefined) =>
    part &&
    (Object.fromEntries(
      Object.entries(part)
        .filter(([, value]) => typeof value === "string" || typeof value === "number")
        .slice(0, membersMax)
        .map(([key, value]) => [key, typeof value === "string" ? cut(value) : value]),
    ) as Part);
  return withoutEmpty({
    metadata: { name, namespace },
    involvedObject: cutAll(involvedObject),
    source: cutAll(source),
    series: cutAll(series),
    type: cut(type),
    count,
    message: cut(event.message),
    reason: cut(event.reason),
    action: cut(event.action),
    firstTimestamp: cut(event.firstTimestamp),
    lastTimestamp: cut(event.lastTimestamp),
    eventTime: cut(event.eventTime),
    reportingComponent: cut(event.reportingComponent),
    reportingInstance: cut(event.reportingInstance),
  }) as Event;
}

/** Kubernetes limits the note of an Event to 1,024 characters. */
const textCharactersMax = 4096;
/** An object reference has seven members. */
const membersMax = 16;

function copyOf(
  event: Event,
  known: Reference,
  target: string,
  namespace: string,
): ObjectInput<DynamicObject> {
  const { metadata, involvedObject, message = "", reason, type, count, source } = event;
  const { firstTimestamp, lastTimestamp, eventTime, series, action } = event;
  const { reportingComponent, reportingInstance } = event;
  const { apiVersion, kind, name, uid } = known;
  const isSame = involvedObject?.name === name;
  const fieldPath = isSame ? involvedObject?.fieldPath : undefined;
  const told = {
    metadata: {
      name: `${metadata.name.slice(0, nameCharactersMax - target.length - 1)}.${target}`,
      namespace,
      labels: { [stateLabel(target)]: stateUpsync },
    },
    involvedObject: { apiVersion, kind, name, uid, namespace, fieldPath },
    // An upstream user sees one Deployment, which is in many clusters.
    message: kind === "Pod" ? message : `${target}: ${message}`,
    reason,
    type,
    count,
    source,
    firstTimestamp,
    lastTimestamp,
    eventTime,
    series,
    action,
    reportingComponent,
    reportingInstance,
  };
  return withoutEmpty(told) as unknown as ObjectInput<DynamicObject>;
}

const nameCharactersMax = 253;

function withoutEmpty(value: object): object {
  const isThere = ([, member]: [string, unknown]) => member !== undefined && member !== null;
  const entries = Object.entries(value).filter(isThere);
  return Object.fromEntries(
    entries.map(([key, member]) => [
      key,
      typeof member === "object" && !Array.isArray(member)
        ? withoutEmpty(member as object)
        : member,
    ]),
  );
}

/** The namespace is being deleted, or admission rejects the Event: an Event is not retried. */
function isOver(error: unknown): boolean {
  return isStatusError(error) && error.code >= 400 && error.code < 500;
}
