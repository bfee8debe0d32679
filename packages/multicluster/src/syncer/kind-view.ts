/**
 * What a syncer knows of one kind on both sides, its own writes included: after a write the answer counts until the informer has told of it or of something
 * newer, so that nothing is done twice because the echo is late.
 *
 * The echo of an own write is no news: who wrote it has looked at the answer. What somebody else did just before is in the answer too, and may never be told by
 * itself; so an answer that holds more than was written is looked at again.
 */
import { TaskGroup } from "@kcp-ts/machinery/base";
import { type ClusterName, parseClusterName, rootCluster } from "@kcp-ts/machinery/names";
import {
  formatKey,
  Informer,
  type KubernetesObject,
  type ObjectKey,
  parseKey,
  stringMember,
} from "@kcp-ts/sdk";
import { assignedTargets, downstreamLabel, statesOf, stateUpsync } from "../api/index.ts";
import { isHeldBy, type Metadata } from "./assignment.ts";
import { type CacheVerifierOptions, runCacheVerifier } from "./audit.ts";
import {
  bodyOf,
  type CachedObject,
  cachedObject,
  hasSameContent,
  liveObjectsMax,
  withoutReports,
} from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { copyName, isNamedByCluster, isShorterInCluster, nameInCluster } from "./copy-names.ts";
import { downstreamNameOf, type NamespacedName } from "./desired-object.ts";
import type { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { MergedKind } from "./joined-kind.ts";
import { type Origin, parseOrigin, targetKey } from "./origin.ts";
import type { KindPolicy } from "./policy.ts";
import { originAnnotation } from "./protocol.ts";
import type { UpstreamHandler, UpstreamInformers, UpstreamKind } from "./upstream-informers.ts";
import { userNamespaceOf } from "./volume-gate.ts";

export interface KindViewOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: KindPolicy;
  readonly namespaces: DownstreamNamespaces;
  readonly upstreamInformers: UpstreamInformers;
  /** Over the logical clusters that use this one's physical clusters. */
  readonly sharedInformers?: UpstreamInformers | undefined;
  readonly signal: AbortSignal;
  /** Something about the object has changed on one of the sides. */
  readonly onChange: (key: ObjectKey) => void;
  /** One of the sides tells of changes again as they happen, so it can be reached. */
  readonly onResumed: () => void;
}

export class KindView {
  readonly #options: KindViewOptions;
  readonly #upstream: UpstreamKind;
  readonly #downstream: Informer<KubernetesObject, CachedObject>;
  readonly #freshUpstream = new Map<string, CachedObject>();
  readonly #freshDownstream = new Map<string, CachedObject>();
  /** Copies that somebody else deleted in the cluster, by the text of their key: the uid of the original. */
  readonly deletedDownstream = new Map<string, string>();
  /** Copies that we deleted. */
  readonly #deletedByUs = new Set<string>();

  /** Read off an object once, not at every look. */
  readonly #origins = new WeakMap<CachedObject, Origin | undefined>();

  readonly #selection: Pick<CacheVerifierOptions<CachedObject>, "labelSelector" | "keep">;
  /** What was written and not told by the time of the last audit. */
  #untold = new Set<CachedObject>();

  readonly #running: TaskGroup;

  constructor(options: KindViewOptions) {
    this.#options = options;
    this.#running = new TaskGroup(options.signal);
    // What is born downstream does not carry our label; where it is says that it concerns us.
    const ownKey = targetKey(options.context.target);
    const isOfOurs = (object: KubernetesObject) =>
      this.#comesUpWhole ||
      (options.synced.resource.namespaced
        ? object.metadata.namespace?.startsWith("kcp-") === true
        : stringMember(object.metadata.labels, downstreamLabel) === ownKey ||
          userNamespaceOf(object as never).startsWith("kcp-"));
    this.#selection =
      options.policy.direction !== "down"
        ? { keep: isOfOurs }
        : { labelSelector: `${downstreamLabel}=${ownKey}` };
    const { context, synced, policy } = options;
    const { downstream, clock, random, onError } = context;
    const paths = policy.contested.map(({ path }) => path);
    this.#downstream = new Informer<KubernetesObject, CachedObject>({
      client: downstream,
      resource: synced.resource,
      scope: { cluster: rootCluster },
      selector: { labelSelector: this.#selection.labelSelector },
      keep: this.#selection.keep,
      transform: (object) => cachedObject(object, paths),
      liveObjectsMax: liveObjectsMax.downstream,
      clock,
      random,
      onError,
    });
    this.#downstream.addHandler({
      added: (object) => this.#toldDownstream(object),
      updated: (object) => this.#toldDownstream(object),
      deleted: (object, { finalStateUnknown }) => this.#goneDownstream(object, finalStateUnknown),
      resumed: options.onResumed,
    });
    this.#upstream = this.#open({
      changed: (key) => {
        if (!this.serves(key.cluster)) return;
        const told = this.#upstream.get(key);
        if (isExternalChange(this.#freshUpstream, formatKey(key), told)) options.onChange(key);
      },
      deleted: (key) => {
        if (!this.serves(key.cluster)) return;
        const wasFresh = this.#freshUpstream.delete(formatKey(key));
        if (wasFresh || this.downstreamObject(key) !== undefined) options.onChange(key);
      },
      // Copies whose originals are gone are only known from the other side.
      replaced: () => this.requeueDownstream(),
      resumed: options.onResumed,
      failed: (error) => this.#running.fail(error),
    });
  }

  #open(handler: UpstreamHandler): UpstreamKind {
    const { context, synced, upstreamInformers, sharedInformers } = this.#options;
    const { target, nameIn } = context;
    const own = upstreamInformers.open(synced.resource, target.name, handler);
    if (synced.isShared !== true || sharedInformers === undefined) return own;
    const shared = sharedInformers.open(synced.resource, nameIn(everyOther), handler);
    return new MergedKind({ home: target.cluster, own, shared });
  }

  /** A kind that belongs to no namespace, and to nobody in particular. */
  get #comesUpWhole(): boolean {
    const { policy, synced } = this.#options;
    return policy.direction === "up" && !synced.resource.namespaced;
  }

  /** Whose objects of this kind may be in the cluster. */
  serves(cluster: ClusterName): boolean {
    const { context, synced, policy } = this.#options;
    if (policy.of === "home") return cluster === context.target.cluster;
    return context.serves(cluster) || (synced.isShared === true && context.isShared);
  }

  async run(): Promise<void> {
    const { context } = this.#options;
    this.#requeueUpstream();
    const { downstream, clock, random, onError } = context;
    const audited = {
      informer: this.#downstream,
      client: downstream,
      scope: { cluster: rootCluster },
      ...this.#selection,
      clock,
      random,
      onError,
      onAgreed: () => this.#forgetUntold(),
    };
    this.#running.start((stop) => this.#downstream.run(stop));
    this.#running.start((stop) => runCacheVerifier(audited, stop));
    try {
      await this.#running.join();
    } finally {
      this.#upstream.close();
    }
  }

  /** An answer that no watch has told of from one audit to the next: the object was gone again before it came. */
  #forgetUntold(): void {
    const untold = new Set<CachedObject>();
    for (const fresh of [this.#freshUpstream, this.#freshDownstream]) {
      for (const [text, written] of fresh) {
        if (!this.#untold.has(written)) {
          untold.add(written);
          continue;
        }
        fresh.delete(text);
        this.#options.onChange(parseKey(text));
      }
    }
    this.#untold = untold;
  }

  /** Both sides have been seen whole: before that, absence means nothing. */
  get hasSynced(): boolean {
    return this.#upstream.hasSynced && this.#downstream.hasSynced;
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#upstream.synced(signal), this.#downstream.synced(signal)]);
  }

  /** Something was missed. */
  resyncUpstream(): void {
    this.#upstream.resync();
  }

  /** Whether an upstream object is assigned to the cluster or held for it. */
  get holdsSomething(): boolean {
    return this.#upstream.keys().length > 0;
  }

  get health() {
    return { upstream: this.#upstream.health, downstream: this.#downstream.health };
  }

  upstreamObject(key: ObjectKey): CachedObject | undefined {
    return this.#freshUpstream.get(formatKey(key)) ?? this.#upstream.get(key);
  }

  downstreamObject(key: ObjectKey): CachedObject | undefined {
    return (
      this.#freshDownstream.get(formatKey(key)) ??
      this.#downstream.store.get({ cluster: rootCluster, ...this.placeOf(key) })
    );
  }

  placeOf(key: ObjectKey): NamespacedName {
    const { synced, namespaces, policy, context } = this.#options;
    const namespace = synced.resource.namespaced ? namespaces.nameFor(key) : "";
    if (!isShorterInCluster(policy)) return downstreamNameOf(key, policy, namespace);
    const name = nameInCluster(key.name, context.nameIn(key.cluster));
    return name === undefined ? downstreamNameOf(key, policy, namespace) : { namespace, name };
  }

  /** Whether it is, or would be, the copy of something that was born in the cluster. */
  comesUp(key: ObjectKey): boolean {
    const { policy, context } = this.#options;
    if (policy.direction !== "both") return policy.direction === "up";
    const name = context.nameIn(key.cluster);
    const isNamed = nameInCluster(key.name, name) !== undefined;
    if (isNamedByCluster(policy) && !isNamed) return false;
    // A part of a whole may have such a name, too.
    const metadata: Metadata = this.upstreamObject(key)?.metadata ?? {};
    if (statesOf(metadata.labels).get(name) === stateUpsync) return true;
    if (assignedTargets(metadata.labels).has(name) || isHeldBy(metadata, name)) return false;
    const there = this.downstreamObject(key);
    return there === undefined || this.originOf(there) === undefined;
  }

  /** `what` was meant to change; the rest is as it was looked at, or the object is looked at again. */
  wroteUpstream(key: ObjectKey, object: KubernetesObject, what: WriteKind): CachedObject {
    const written = cachedObject(object);
    const basis = this.upstreamObject(key);
    const isKept = keepFresh(this.#freshUpstream, formatKey(key), {
      written,
      stored: this.#upstream.get(key),
      isNew: what === "created",
    });
    if (!isKept || basis === undefined || !isSameBut(what, basis, written)) {
      this.#options.onChange(key);
    }
    return written;
  }

  /** Who writes here looks at the whole answer. `isNew`: there was nothing before. */
  wroteDownstream(key: ObjectKey, object: KubernetesObject, isNew = false): CachedObject {
    const paths = this.#options.policy.contested.map(({ path }) => path);
    const written = cachedObject(object, paths);
    const place = { cluster: rootCluster, ...this.placeOf(key) };
    const stored = this.#downstream.store.get(place);
    const isKept = keepFresh(this.#freshDownstream, formatKey(key), { written, stored, isNew });
    if (!isKept) this.#options.onChange(key);
    return written;
  }

  deletesDownstream(key: ObjectKey): void {
    this.#deletedByUs.add(formatKey(key));
    this.#freshDownstream.delete(formatKey(key));
  }

  /** The back-reference, if it is one of this syncer's and the object is where such an object belongs. */
  originOf(object: CachedObject): Origin | undefined {
    const { namespace, name, annotations } = object.metadata;
    if (!this.#origins.has(object)) {
      this.#origins.set(object, parseOrigin(stringMember(annotations, originAnnotation)));
    }
    const origin = this.#origins.get(object);
    if (origin === undefined || origin.target !== this.#options.context.target.uid)
      return undefined;
    const place = this.placeOf(origin);
    if (place.namespace !== namespace || place.name !== name) return undefined;
    return this.serves(origin.cluster) ? origin : undefined;
  }

  /** Of an object in a namespace of ours, whoever made it. */
  keyOf(object: CachedObject): ObjectKey | undefined {
    const { policy, namespaces, context, synced } = this.#options;
    const origin = policy.direction === "up" ? undefined : this.originOf(object);
    if (origin !== undefined || policy.direction === "down")
      return origin && { cluster: origin.cluster, namespace: origin.namespace, name: origin.name };
    const { namespaced } = synced.resource;
    const { name } = object.metadata;
    const inside = namespaced ? object.metadata.namespace : userNamespaceOf(bodyOf(object));
    const home = { cluster: parseClusterName(context.target.cluster), namespace: "" };
    const at = this.#comesUpWhole ? home : namespaces.locate(inside);
    if (at === undefined) return undefined;
    const cluster = policy.of === "home" ? home.cluster : at.cluster;
    if (cluster === undefined || !this.serves(cluster)) return undefined;
    return {
      cluster,
      namespace: namespaced ? at.namespace : "",
      name: isNamedByCluster(policy) ? copyName(name, context.nameIn(cluster)) : name,
    };
  }

  /** All that is known of either side. */
  requeue(): void {
    this.#requeueUpstream();
    this.requeueDownstream();
  }

  #requeueUpstream(): void {
    for (const key of this.#upstream.keys())
      if (this.serves(key.cluster)) this.#options.onChange(key);
  }

  /** All that is in the cluster, or in one namespace of it. */
  requeueDownstream(namespace?: string): void {
    const isAll = namespace === undefined || !this.#options.synced.resource.namespaced;
    const filter = isAll ? undefined : { cluster: rootCluster, namespace };
    for (const object of this.#downstream.store.list(filter)) {
      const key = this.keyOf(object);
      if (key !== undefined) this.#options.onChange(key);
    }
  }

  #toldDownstream(object: CachedObject): void {
    const key = this.keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    this.deletedDownstream.delete(text);
    if (isExternalChange(this.#freshDownstream, text, object)) this.#options.onChange(key);
  }

  #goneDownstream(object: CachedObject, finalStateUnknown: boolean): void {
    const key = this.keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    this.#freshDownstream.delete(text);
    const wasOurDoing = this.#deletedByUs.delete(text);
    const origin = this.originOf(object);
    if (!wasOurDoing && !finalStateUnknown && origin !== undefined) {
      this.deletedDownstream.set(text, origin.uid);
    }
    this.#options.namespaces.emptied(object.metadata.namespace);
    this.#options.onChange(key);
  }
}

/** Stands for all logical clusters but the SyncTarget's: they call it the same. */
const everyOther = "" as ClusterName;

/**
 * What a write was meant to change; `hold`: nothing but the list of finalizers; `report`: nothing but what is told of its being in sync; `created`: it
 * was not there, or not known.
 */
export type WriteKind = "hold" | "status" | "report" | "created" | "other";

/** False: something newer than the answer has been told, which may even be that the object is gone. */
function keepFresh(
  fresh: Map<string, CachedObject>,
  text: string,
  answer: {
    readonly written: CachedObject;
    readonly stored: CachedObject | undefined;
    readonly isNew: boolean;
  },
): boolean {
  const { written, stored, isNew } = answer;
  if (stored === undefined) {
    if (!isNew && !fresh.has(text)) return false;
  } else {
    const { resourceVersion } = stored.metadata;
    const isTold = resourceVersion === written.metadata.resourceVersion;
    if (isTold || isOlder(written.metadata.resourceVersion, resourceVersion)) {
      fresh.delete(text);
      return isTold;
    }
  }
  fresh.set(text, written);
  return true;
}

/** Takes what was written out of `fresh` when something as new has been told. */
function isExternalChange(
  fresh: Map<string, CachedObject>,
  text: string,
  told: CachedObject | undefined,
): boolean {
  const written = fresh.get(text)?.metadata;
  if (written === undefined || told === undefined) return true;
  const { resourceVersion } = told.metadata;
  if (isOlder(resourceVersion, written.resourceVersion)) return false;
  fresh.delete(text);
  return written.resourceVersion !== resourceVersion;
}

/** Versions are ordered where they are numbers, as Kubernetes promises by now; where they are not, what is told last counts. */
function isOlder(version: string, than: string): boolean {
  if (!/^\d{1,20}$/.test(version) || !/^\d{1,20}$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

function isSameBut(what: WriteKind, basis: CachedObject, written: CachedObject): boolean {
  if (what === "other" || what === "created") return false;
  if (what !== "status" && basis.status !== written.status) return false;
  if (what !== "report") return hasSameContent(basis, written);
  // Told in other words at every try, it must not be the reason for the next one.
  return hasSameContent(withoutReports(basis), withoutReports(written));
}
