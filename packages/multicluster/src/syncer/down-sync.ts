/**
 * Syncs one object of one kind from upstream to downstream, and its status back. Level-triggered:
 * it compares the current state of both sides and makes the missing changes; a repeated sync
 * changes nothing.
 *
 * Invariants:
 * 1. The finalizer is on the upstream object before the downstream object is created, and stays
 *    until the downstream object is deleted.
 * 2. The syncer only writes downstream objects that have this object's back-reference, or do not
 *    exist yet. Deletes have the observed uid as a precondition.
 * 3. No object is deleted because it was missing in a cache or a request failed: only after a live
 *    read that the upstream object is deleted, is being deleted, or is no longer assigned.
 */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type DynamicObject,
  formatKey,
  type KubernetesObject,
  type ObjectInput,
  type ObjectKey,
  type ResourceClient,
  stringMember,
} from "@kcp-ts/sdk";
import type { SyncRules } from "../api/index.ts";
import {
  assignedTargets,
  attachedInClusterAnnotation,
  diffHash,
  isWithinLimits,
  specDiffOf,
  stopBeforeStartLabel,
  syncerFieldManager,
  syncerFinalizer,
} from "../api/index.ts";
import { desiredPresence, isHeldBy, type Metadata } from "./assignment.ts";
import { bodyOf, type CachedObject, cachedObject, contentDigest } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { type DesiredObject, desiredObject } from "./desired-object.ts";
import type { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { DriftBackoff } from "./drift-backoff.ts";
import { isFieldSubset } from "./field-subset.ts";
import type { KindView } from "./kind-view.ts";
import { appliedDiffAnnotation, appliedHashAnnotation, originAnnotation } from "./protocol.ts";
import { releasePatch } from "./release-patch.ts";
import { StatusSync } from "./status-sync.ts";
import { isObjectNotFound, SyncError } from "./sync-error.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";
import { upsyncFields } from "./upsync-fields.ts";
import { attachersOf, volumeGateOf } from "./volume-gate.ts";

export interface DownSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: SyncRules;
  readonly view: KindView;
  readonly namespaces: DownstreamNamespaces;
  readonly upstreamObjects: UpstreamObjects;
}

/** When to sync again without an event. */
export interface SyncResult {
  readonly requeueAfterMs?: number;
}

/** The informer reports deletions; this requeue covers a missed one. */
const lookAgainMs = 10_000;
/** The interval of checks whether the lease is held again. */
const leaseLookMs = 1000;
/** After this many contradictions in a row, seconds apart, the watch is not just late. */
const contradictionsMax = 3;
const done: SyncResult = {};

export class DownSync {
  readonly #options: DownSyncOptions;
  readonly #status: StatusSync;
  readonly #gracePeriods: DriftBackoff;
  /**
   * Copies that the cluster changed after they were applied: the version of the copy at which the
   * difference is accepted.
   */
  readonly #settled = new Map<string, string>();
  /** Pairs of objects that were compared and found in sync: the digest of both. */
  readonly #agreed = new Map<string, string>();
  /** How often in a row a live read contradicted the cache. */
  readonly #contradictions = new Map<string, number>();

  constructor(options: DownSyncOptions) {
    this.#options = options;
    this.#status = new StatusSync(options);
    this.#gracePeriods = new DriftBackoff(options.context.clock);
  }

  async sync(key: ObjectKey): Promise<SyncResult> {
    const { view, context } = this.#options;
    const known = view.upstreamObject(key);
    const isOnce = context.lease !== undefined && isStopBeforeStart(known);
    // Without the lease, the copy is stopped and stays so; when the lease is held again, the
    // current spec is applied.
    if (isOnce && context.lease?.isHeld !== true) return { requeueAfterMs: leaseLookMs };
    const upstream = isOnce ? await this.#asked(key) : known;
    if (upstream !== undefined && this.#wish(key, upstream.metadata) === "stay") {
      this.#contradictions.delete(formatKey(key));
      return this.#keep(key, upstream);
    }
    const hasNothingToRelease =
      upstream === undefined ||
      releasePatch(upstream.metadata, context.nameIn(key.cluster)) === undefined;
    if (hasNothingToRelease && view.downstreamObject(key) === undefined) {
      this.forget(key);
      return done;
    }
    return this.#remove(key);
  }

  async #asked(key: ObjectKey): Promise<CachedObject | undefined> {
    const live = await this.#options.upstreamObjects.get(key);
    return live && cachedObject(live);
  }

  forget(key: ObjectKey): void {
    const text = formatKey(key);
    this.#settled.delete(text);
    this.#agreed.delete(text);
    this.#contradictions.delete(text);
    this.#gracePeriods.forget(text);
    this.#status.forget(text);
  }

  #wish({ cluster }: ObjectKey, metadata: Metadata): "stay" | "leave" {
    const { context, synced } = this.#options;
    const { consentLabel } = synced;
    const isAgreed =
      cluster === context.target.cluster ||
      consentLabel === undefined ||
      stringMember(metadata.labels, consentLabel) !== undefined;
    return isAgreed ? desiredPresence(metadata, context.nameIn(cluster)) : "leave";
  }

  async #keep(key: ObjectKey, known: CachedObject): Promise<SyncResult> {
    const { view, synced, namespaces, context } = this.#options;
    const target = context.nameIn(key.cluster);
    const gate = volumeGateOf(known, synced.resource, target);
    if (gate === "stopped") return this.#stop(key);
    const isBeyondLimits = !isWithinLimits(known.metadata, target);
    // Soft finalizers keep what is in the cluster; they bring nothing there.
    const isKept = !assignedTargets(known.metadata.labels).has(target);
    const isClosed = gate === "closed" || isBeyondLimits || isKept;
    if (isClosed && view.downstreamObject(key) === undefined) return done;
    const upstream = await this.#hold(key, known);
    if (synced.resource.namespaced) await namespaces.ensure(key);
    const downstream = view.downstreamObject(key) ?? (await this.#findDownstream(key));
    if (downstream === undefined) {
      if (isClosed) return done;
      if (await this.#propagatesDeletion(key, upstream)) return done;
      const made = await this.#apply(key, await this.#desired(key, upstream, []), true);
      return await this.#bringUp(key, upstream, made, done);
    }
    const origin = view.originOf(downstream);
    if (origin === undefined) throw this.#takenError(key, downstream);
    if (downstream.metadata.deletionTimestamp !== undefined) return { requeueAfterMs: lookAgainMs };
    // The copy may belong to an earlier upstream object of this name: a live read decides before it
    // is deleted.
    if (origin.uid !== upstream.metadata.uid) return this.#remove(key);
    if (isBeyondLimits) return await this.#bringUp(key, upstream, downstream, done);
    const { result, copy } = await this.#bringInLine(key, upstream, downstream);
    return await this.#bringUp(key, upstream, copy, result);
  }

  async #bringUp(
    key: ObjectKey,
    upstream: CachedObject,
    copy: CachedObject,
    result: SyncResult,
  ): Promise<SyncResult> {
    await upsyncFields({ ...this.#options, key, upstream, downstream: copy });
    const waitMs = await this.#status.sync(key, upstream, copy);
    await this.#tellMarks(key, copy);
    if (waitMs === undefined) return result;
    return { requeueAfterMs: Math.min(waitMs, result.requeueAfterMs ?? waitMs) };
  }

  /**
   * Writes the annotations that the status does not contain. They are written after the status, so
   * a reader of the annotations can rely on a status at least as new.
   */
  async #tellMarks(key: ObjectKey, copy: CachedObject): Promise<void> {
    const { context, view, synced, upstreamObjects } = this.#options;
    const { metadata } = view.upstreamObject(key) ?? {};
    if (metadata === undefined || metadata.deletionTimestamp !== undefined) return;
    const name = context.nameIn(key.cluster);
    const diff = specDiffOf(metadata.annotations, name);
    const marks = {
      [appliedDiffAnnotation(name)]: diff === undefined ? undefined : diffHash(diff),
      [attachedInClusterAnnotation]: attachersOf(synced.resource, copy),
    };
    const changed = Object.entries(marks).filter(
      ([mark, value]) => stringMember(metadata.annotations, mark) !== value,
    );
    if (changed.length === 0) return;
    const annotations = Object.fromEntries(changed.map(([mark, value]) => [mark, value ?? null]));
    const patch = { metadata: { annotations } };
    const answer = await upstreamObjects.mergePatch(key, metadata.uid, patch);
    view.recordUpstreamWrite(key, answer, "other");
  }

  async #bringInLine(
    key: ObjectKey,
    upstream: CachedObject,
    downstream: CachedObject,
  ): Promise<{ readonly result: SyncResult; readonly copy: CachedObject }> {
    const text = formatKey(key);
    const pair = pairOf(upstream, downstream);
    if (this.#agreed.get(text) === pair) return { result: done, copy: downstream };
    const desired = await this.#desired(key, upstream, downstream.foreignPaths);
    const { annotations, generation, resourceVersion } = downstream.metadata;
    if (stringMember(annotations, appliedHashAnnotation) !== desired.hash) {
      const copy = await this.#apply(key, desired, false);
      // The next sync, which the status triggers, need not compare the objects again.
      if (this.#settled.get(text) === undefined) this.#agreed.set(text, pairOf(upstream, copy));
      return { result: done, copy };
    }
    const isSettled =
      this.#settled.get(text) === `${desired.hash} ${generation ?? resourceVersion}`;
    if (isSettled || isApplied(desired, downstream.metadata, bodyOf(downstream))) {
      this.#agreed.set(text, pair);
      return { result: done, copy: downstream };
    }
    // Another client in the cluster changed a synced field. The first change is reverted
    // immediately; repeated changes are reverted with backoff.
    const waitMs = this.#gracePeriods.waitMs(text);
    if (waitMs > 0) return { result: { requeueAfterMs: waitMs }, copy: downstream };
    const copy = await this.#apply(key, desired, false);
    if (!this.#gracePeriods.isContested(text)) return { result: done, copy };
    throw new SyncError(
      "FieldConflict",
      "a controller in the cluster keeps changing fields that are set here; remove them here, or list them in conflictingFields of a SyncPolicy",
    );
  }

  async #desired(
    key: ObjectKey,
    upstream: CachedObject,
    foreignPaths: readonly string[],
  ): Promise<DesiredObject> {
    const { synced, context, policy, view } = this.#options;
    const { resource } = synced;
    const downstreamName = view.downstreamNameOf(key);
    const desired = desiredObject(upstream, {
      resource,
      target: context.target,
      policy,
      key,
      downstreamName,
      foreignPaths,
    });
    return await runSyncFirst(desired);
  }

  async #apply(key: ObjectKey, desired: DesiredObject, isNew: boolean): Promise<CachedObject> {
    const { signal } = this.#options.context;
    const answer = await this.#downstream.apply(
      desired.object as unknown as ObjectInput<DynamicObject>,
      { fieldManager: syncerFieldManager, force: true, signal },
    );
    const written = this.#options.view.recordDownstreamWrite(key, answer, isNew);
    const { generation, resourceVersion } = written.metadata;
    const text = formatKey(key);
    if (isApplied(desired, answer.metadata, answer as unknown as JsonObject))
      this.#settled.delete(text);
    else this.#settled.set(text, `${desired.hash} ${generation ?? resourceVersion}`);
    return written;
  }

  /** Adds the finalizer before the first downstream write. */
  async #hold(key: ObjectKey, upstream: CachedObject): Promise<CachedObject> {
    const { context, view } = this.#options;
    const { metadata } = upstream;
    const name = context.nameIn(key.cluster);
    if (isHeldBy(metadata, name)) return upstream;
    const finalizers = [...(metadata.finalizers ?? []), syncerFinalizer(name)];
    const answer = await this.#options.upstreamObjects.mergePatchVersion(key, metadata, {
      metadata: { finalizers },
    });
    return view.recordUpstreamWrite(key, answer, "finalizers");
  }

  /**
   * The upstream object seems to be deleted, unassigned, or another object than the copy's. The
   * downstream object is read first, then the upstream object, live, which decides: nothing is
   * awaited between that response and the delete.
   */
  async #remove(key: ObjectKey): Promise<SyncResult> {
    const { context, view, upstreamObjects } = this.#options;
    const copy = await this.#findDownstream(key);
    const origin = copy && view.originOf(copy);
    const isLeft = copy !== undefined && origin !== undefined;
    if (isLeft && copy.metadata.deletionTimestamp === undefined) await context.confirmTarget();
    const original = await upstreamObjects.get(key);
    const isStaying =
      original !== undefined &&
      this.#wish(key, original.metadata) === "stay" &&
      (origin === undefined || origin.uid === original.metadata.uid);
    if (isStaying) return this.#contradicted(key);
    this.#contradictions.delete(formatKey(key));
    if (isLeft) return this.#deleteDownstream(key, copy);
    if (original !== undefined) await this.#release(key, original);
    this.forget(key);
    return done;
  }

  /**
   * The object is assigned, but must not exist in the cluster for now. The finalizer is removed
   * when the copy is deleted: that shows that the workload has stopped.
   */
  async #stop(key: ObjectKey): Promise<SyncResult> {
    const { context, view, synced, upstreamObjects } = this.#options;
    const copy = await this.#findDownstream(key);
    const isOurs = copy !== undefined && view.originOf(copy) !== undefined;
    if (isOurs && copy.metadata.deletionTimestamp === undefined) await context.confirmTarget();
    const original = await upstreamObjects.get(key);
    if (original === undefined) return this.#contradicted(key);
    const gate = volumeGateOf(cachedObject(original), synced.resource, context.nameIn(key.cluster));
    if (gate !== "stopped") return this.#contradicted(key);
    this.#contradictions.delete(formatKey(key));
    if (isOurs) return this.#deleteDownstream(key, copy);
    await this.#release(key, original);
    return done;
  }

  /**
   * A live read contradicts the cache. Usually the event is still in flight; if the contradiction
   * persists, the event was missed.
   */
  #contradicted(key: ObjectKey): SyncResult {
    const text = formatKey(key);
    const times = (this.#contradictions.get(text) ?? 0) + 1;
    this.#contradictions.set(text, times);
    if (times === 1) return { requeueAfterMs: 1000 };
    if (times === contradictionsMax) this.#options.view.resyncUpstream();
    return { requeueAfterMs: lookAgainMs };
  }

  async #release(key: ObjectKey, original: KubernetesObject): Promise<void> {
    const { context, view, policy } = this.#options;
    const patch = releasePatch(original.metadata, context.nameIn(key.cluster));
    if (patch === undefined) return;
    const { upstreamObjects } = this.#options;
    const answer = await upstreamObjects.mergePatchVersion(key, original.metadata, patch);
    if (answer.metadata.deletionTimestamp === undefined)
      view.recordUpstreamWrite(key, answer, "other");
    if (policy.statusDirection === "Up") await this.#status.clear(key, cachedObject(answer));
  }

  async #deleteDownstream(key: ObjectKey, copy: CachedObject): Promise<SyncResult> {
    const { context, view } = this.#options;
    const { uid, deletionTimestamp } = copy.metadata;
    if (deletionTimestamp !== undefined) return { requeueAfterMs: lookAgainMs };
    view.recordDownstreamDelete(key);
    try {
      const metadata = { ...view.downstreamNameOf(key), uid };
      await this.#downstream
        .sameObject({ metadata })
        .remove({ propagationPolicy: "Background", signal: context.signal });
    } catch (error) {
      if (!isObjectNotFound(error, view.downstreamNameOf(key).name)) throw error;
    }
    return { requeueAfterMs: lookAgainMs };
  }

  async #propagatesDeletion(key: ObjectKey, upstream: CachedObject): Promise<boolean> {
    const { view, policy } = this.#options;
    const text = formatKey(key);
    const uid = view.deletedDownstream.get(text);
    view.deletedDownstream.delete(text);
    if (policy.onDownstreamDeletion !== "Propagate" || uid !== upstream.metadata.uid) return false;
    await this.#options.upstreamObjects.delete(key, uid);
    return true;
  }

  async #findDownstream(key: ObjectKey): Promise<CachedObject | undefined> {
    const { view, context, policy } = this.#options;
    const found = await findLive(this.#downstream, view.downstreamNameOf(key), context.signal);
    const paths = policy.conflictingFields.map(({ path }) => path);
    return found === undefined ? undefined : cachedObject(found, paths);
  }

  #takenError(key: ObjectKey, { metadata }: CachedObject): SyncError {
    const { resource } = this.#options.synced;
    const place = this.#options.view.downstreamNameOf(key);
    const where = place.namespace === "" ? place.name : `${place.namespace}/${place.name}`;
    const whose = Object.hasOwn(metadata.annotations ?? {}, originAnnotation)
      ? "belongs to another object or control plane"
      : "was not made by this syncer";
    return new SyncError(
      "AlreadyExists",
      `${resource.kind} ${where} exists in the cluster and ${whose}; delete it there, or name this one differently`,
    );
  }

  get #downstream(): ResourceClient<DynamicObject> {
    const { context, synced } = this.#options;
    return context.downstream.resource<DynamicObject>(synced.resource as never);
  }
}

function pairOf(upstream: CachedObject, downstream: CachedObject): string {
  return contentDigest(upstream) + contentDigest(downstream);
}

function isApplied(
  { object }: DesiredObject,
  copy: Pick<Metadata, "labels" | "annotations">,
  copyBody: JsonObject,
): boolean {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...body } = object;
  const { labels = {}, annotations = {} } = metadata as {
    readonly labels?: JsonObject;
    readonly annotations?: JsonObject;
  };
  return (
    isFieldSubset(labels, (copy.labels ?? {}) as JsonObject) &&
    isFieldSubset(annotations, (copy.annotations ?? {}) as JsonObject) &&
    isFieldSubset(body as JsonObject, copyBody)
  );
}

/**
 * Undefined only when the server responds that no object has this name. All other errors are
 * thrown.
 */
async function findLive(
  resource: ResourceClient<DynamicObject>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  try {
    return await resource.get({ namespace, name }, { signal });
  } catch (error) {
    if (isObjectNotFound(error, name)) return undefined;
    throw error;
  }
}

function isStopBeforeStart(object: CachedObject | undefined): boolean {
  return stringMember(object?.metadata.labels, stopBeforeStartLabel) === "true";
}
