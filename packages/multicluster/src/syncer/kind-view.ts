/**
 * A syncer's view of one kind on both sides, including its own writes: after a write, the response
 * counts until the informer has observed this version or a newer one, so that no write is repeated
 * because the watch event is late.
 *
 * The watch event of an own write is no change: the writer has processed the response. A change of
 * another client just before is contained in the response, too, and may never have an event of its
 * own; so an object whose response contains more than was written is requeued.
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
import type { SyncRules } from "../api/index.ts";
import { assignedTargets, downstreamLabel, statesOf, stateUpsync } from "../api/index.ts";
import { isHeldBy, type Metadata } from "./assignment.ts";
import { type CacheVerifierOptions, runCacheVerifier } from "./cache-verifier.ts";
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
import { MergedKind } from "./merged-kind.ts";
import { type Origin, parseOrigin, targetKey } from "./origin.ts";
import { originAnnotation } from "./protocol.ts";
import type { UpstreamHandler, UpstreamInformers, UpstreamKind } from "./upstream-informers.ts";
import { userNamespaceOf } from "./volume-gate.ts";

export interface KindViewOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: SyncRules;
  readonly namespaces: DownstreamNamespaces;
  readonly upstreamInformers: UpstreamInformers;
  /** Informers over the logical clusters that use the physical clusters of this one. */
  readonly sharedInformers?: UpstreamInformers | undefined;
  readonly signal: AbortSignal;
  /** The object has changed on one of the sides. */
  readonly onChange: (key: ObjectKey) => void;
  /** The watch of one of the sides works again, so the side is reachable. */
  readonly onResumed: () => void;
}

export class KindView {
  readonly #options: KindViewOptions;
  readonly #upstream: UpstreamKind;
  readonly #downstream: Informer<KubernetesObject, CachedObject>;
  readonly #freshUpstream = new Map<string, CachedObject>();
  readonly #freshDownstream = new Map<string, CachedObject>();
  /**
   * Copies that another client deleted in the cluster, by the text of their key: the uid of the
   * upstream object.
   */
  readonly deletedDownstream = new Map<string, string>();
  /** Copies that this syncer deleted. */
  readonly #deletedByUs = new Set<string>();

  /** Parsed once for each object, not at every sync. */
  readonly #origins = new WeakMap<CachedObject, Origin | undefined>();

  readonly #selection: Pick<CacheVerifierOptions<CachedObject>, "labelSelector" | "keep">;
  /** Writes that no watch event had confirmed by the last cache verification. */
  #unconfirmed = new Set<CachedObject>();

  readonly #running: TaskGroup;

  constructor(options: KindViewOptions) {
    this.#options = options;
    this.#running = new TaskGroup(options.signal);
    // An object that was created downstream does not have the syncer's label; its namespace shows
    // that it concerns the syncer.
    const ownKey = targetKey(options.context.target);
    const isOfOurs = (object: KubernetesObject) =>
      this.#comesUpWhole ||
      (options.synced.resource.namespaced
        ? object.metadata.namespace?.startsWith("kcp-") === true
        : stringMember(object.metadata.labels, downstreamLabel) === ownKey ||
          userNamespaceOf(object as never).startsWith("kcp-"));
    this.#selection =
      options.policy.direction !== "Down"
        ? { keep: isOfOurs }
        : { labelSelector: `${downstreamLabel}=${ownKey}` };
    const { context, synced, policy } = options;
    const { downstream, clock, random, onError } = context;
    const paths = policy.conflictingFields.map(({ path }) => path);
    this.#downstream = new Informer<KubernetesObject, CachedObject>({
      client: downstream,
      resource: synced.resource,
      scope: { cluster: rootCluster },
      selector: { labelSelector: this.#selection.labelSelector },
      filter: this.#selection.keep,
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
      // Copies whose upstream objects are deleted are only known downstream.
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
    return new MergedKind({ ownCluster: target.cluster, own, shared });
  }

  /**
   * Whether all objects of the cluster are synced up: a cluster-scoped kind with direction `up`.
   */
  get #comesUpWhole(): boolean {
    const { policy, synced } = this.#options;
    return policy.direction === "Up" && !synced.resource.namespaced;
  }

  /** Whether objects of the logical cluster may be in the physical cluster, for this kind. */
  serves(cluster: ClusterName): boolean {
    const { context, synced, policy } = this.#options;
    if (policy.workspaces === "Own") return cluster === context.target.cluster;
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

  /**
   * Removes a response that no watch event confirmed between two verifications: the object was
   * deleted before the watch observed it.
   */
  #forgetUntold(): void {
    const untold = new Set<CachedObject>();
    for (const fresh of [this.#freshUpstream, this.#freshDownstream]) {
      for (const [text, written] of fresh) {
        if (!this.#unconfirmed.has(written)) {
          untold.add(written);
          continue;
        }
        fresh.delete(text);
        this.#options.onChange(parseKey(text));
      }
    }
    this.#unconfirmed = untold;
  }

  /** Both sides are listed completely: before that, absence means nothing. */
  get hasSynced(): boolean {
    return this.#upstream.hasSynced && this.#downstream.hasSynced;
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#upstream.synced(signal), this.#downstream.synced(signal)]);
  }

  /** Called when an event was missed. */
  resyncUpstream(): void {
    this.#upstream.resync();
  }

  /** Whether an upstream object is assigned to the cluster or held for it. */
  get hasSyncedObjects(): boolean {
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
      this.#downstream.store.get({ cluster: rootCluster, ...this.downstreamNameOf(key) })
    );
  }

  downstreamNameOf(key: ObjectKey): NamespacedName {
    const { synced, namespaces, policy, context } = this.#options;
    const namespace = synced.resource.namespaced ? namespaces.nameFor(key) : "";
    if (!isShorterInCluster(policy)) return downstreamNameOf(key, policy, namespace);
    const name = nameInCluster(key.name, context.nameIn(key.cluster));
    return name === undefined ? downstreamNameOf(key, policy, namespace) : { namespace, name };
  }

  /** Whether the object is, or would be, the copy of an object that was created in the cluster. */
  isUpsynced(key: ObjectKey): boolean {
    const { policy, context } = this.#options;
    if (policy.direction !== "Both") return policy.direction === "Up";
    const name = context.nameIn(key.cluster);
    const isNamed = nameInCluster(key.name, name) !== undefined;
    if (isNamedByCluster(policy) && !isNamed) return false;
    // A per-cluster object of a workload may have such a name, too.
    const metadata: Metadata = this.upstreamObject(key)?.metadata ?? {};
    if (statesOf(metadata.labels).get(name) === stateUpsync) return true;
    if (assignedTargets(metadata.labels).has(name) || isHeldBy(metadata, name)) return false;
    const there = this.downstreamObject(key);
    return there === undefined || this.originOf(there) === undefined;
  }

  /**
   * `what` was meant to change; if other fields of the response changed, the object is requeued.
   */
  recordUpstreamWrite(key: ObjectKey, object: KubernetesObject, what: WriteKind): CachedObject {
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

  /** The caller processes the complete response. `isNew`: the object did not exist before. */
  recordDownstreamWrite(key: ObjectKey, object: KubernetesObject, isNew = false): CachedObject {
    const paths = this.#options.policy.conflictingFields.map(({ path }) => path);
    const written = cachedObject(object, paths);
    const place = { cluster: rootCluster, ...this.downstreamNameOf(key) };
    const stored = this.#downstream.store.get(place);
    const isKept = keepFresh(this.#freshDownstream, formatKey(key), { written, stored, isNew });
    if (!isKept) this.#options.onChange(key);
    return written;
  }

  recordDownstreamDelete(key: ObjectKey): void {
    this.#deletedByUs.add(formatKey(key));
    this.#freshDownstream.delete(formatKey(key));
  }

  /** The back-reference, if it belongs to this syncer and the object is in the right namespace. */
  originOf(object: CachedObject): Origin | undefined {
    const { namespace, name, annotations } = object.metadata;
    if (!this.#origins.has(object)) {
      this.#origins.set(object, parseOrigin(stringMember(annotations, originAnnotation)));
    }
    const origin = this.#origins.get(object);
    if (origin === undefined || origin.target !== this.#options.context.target.uid)
      return undefined;
    const place = this.downstreamNameOf(origin);
    if (place.namespace !== namespace || place.name !== name) return undefined;
    return this.serves(origin.cluster) ? origin : undefined;
  }

  /** The upstream key of an object in a namespace of the syncer, whichever client created it. */
  keyOf(object: CachedObject): ObjectKey | undefined {
    const { policy, namespaces, context, synced } = this.#options;
    const origin = policy.direction === "Up" ? undefined : this.originOf(object);
    if (origin !== undefined || policy.direction === "Down")
      return origin && { cluster: origin.cluster, namespace: origin.namespace, name: origin.name };
    const { namespaced } = synced.resource;
    const { name } = object.metadata;
    const inside = namespaced ? object.metadata.namespace : userNamespaceOf(bodyOf(object));
    const home = { cluster: parseClusterName(context.target.cluster), namespace: "" };
    const at = this.#comesUpWhole ? home : namespaces.locate(inside);
    if (at === undefined) return undefined;
    const cluster = policy.workspaces === "Own" ? home.cluster : at.cluster;
    if (cluster === undefined || !this.serves(cluster)) return undefined;
    return {
      cluster,
      namespace: namespaced ? at.namespace : "",
      name: isNamedByCluster(policy) ? copyName(name, context.nameIn(cluster)) : name,
    };
  }

  /** Requeues all known objects of both sides. */
  requeue(): void {
    this.#requeueUpstream();
    this.requeueDownstream();
  }

  #requeueUpstream(): void {
    for (const key of this.#upstream.keys())
      if (this.serves(key.cluster)) this.#options.onChange(key);
  }

  /** Requeues all objects in the cluster, or in one of its namespaces. */
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

/** Stands for all logical clusters but the SyncTarget's: they use the same name for it. */
const everyOther = "" as ClusterName;

/**
 * The fields that a write was meant to change; `finalizers`: only the list of finalizers;
 * `syncState`: only the annotations that report the sync state; `created`: the object did not
 * exist, or was not known.
 */
export type WriteKind = "finalizers" | "status" | "syncState" | "created" | "other";

/**
 * False: a version newer than the response has been observed, possibly the deletion of the object.
 */
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

/**
 * Whether the observed version is another client's change. Removes the own write from `fresh` when
 * a version at least as new has been observed.
 */
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

/**
 * Versions are ordered where they are numbers, as Kubernetes guarantees by now; otherwise, the last
 * observed one counts.
 */
function isOlder(version: string, than: string): boolean {
  if (!/^\d{1,20}$/.test(version) || !/^\d{1,20}$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

function isSameBut(what: WriteKind, basis: CachedObject, written: CachedObject): boolean {
  if (what === "other" || what === "created") return false;
  if (what !== "status" && basis.status !== written.status) return false;
  if (what !== "syncState") return hasSameContent(basis, written);
  // A report with a different wording at every retry must not cause the next retry.
  return hasSameContent(withoutReports(basis), withoutReports(written));
}
