/**
 * One object of one kind from upstream to downstream and its status back. Level-triggered: it looks at both sides as they are now and does what is
 * missing; doing it again does nothing.
 *
 * Invariants:
 * 1. The finalizer is on the upstream object before anything of it is downstream, and stays until all of it is gone there.
 * 2. Downstream is touched only what carries this object's back-reference, or is not there yet. Deletes carry the uid that was looked at.
 * 3. Nothing is deleted because something was not found in a cache or could not be asked for: only on a live answer that the original is gone,
 *    is going, or is no longer assigned.
 */
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
import {
  attachedInClusterAnnotation,
  specDiffAnnotation,
  stopBeforeStartLabel,
  syncerFieldManager,
  syncerFinalizer,
} from "../api/index.ts";
import { desiredPresence, isHeldBy, type Metadata } from "./assignment.ts";
import { bodyOf, type CachedObject, cachedObject, contentDigest } from "./cached-object.ts";
import { isFieldSubset } from "./containment.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { type DesiredObject, desiredObject } from "./desired-object.ts";
import type { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { DriftBackoff } from "./drift-patience.ts";
import type { KindView } from "./kind-view.ts";
import { upsyncFields } from "./lift-fields.ts";
import { diffHash } from "./origin.ts";
import type { KindPolicy } from "./policy.ts";
import { appliedDiffAnnotation, appliedHashAnnotation, originAnnotation } from "./protocol.ts";
import { releasePatch } from "./release-patch.ts";
import { StatusSync } from "./status-sync.ts";
import { isObjectNotFound, SyncError } from "./trouble.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";
import { attachersOf, volumeGateOf } from "./volume-gate.ts";

export interface DownSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: KindPolicy;
  readonly view: KindView;
  readonly namespaces: DownstreamNamespaces;
  readonly upstreamObjects: UpstreamObjects;
}

/** When to look again although nothing was told. */
export interface SyncResult {
  readonly againAfterMs?: number;
}

/** A deletion is told by the informer; this is for one that was missed. */
const lookAgainMs = 10_000;
/** Whether there is a lease again. */
const leaseLookMs = 1000;
/** So often in a row, seconds apart, is not the watch being late. */
const contradictionsMax = 3;
const done: SyncResult = {};

export class DownSync {
  readonly #options: DownSyncOptions;
  readonly #status: StatusSync;
  readonly #patience: DriftBackoff;
  /** Applied, and the cluster made something else of it: a version of the copy with which that is settled. */
  readonly #settled = new Map<string, string>();
  /** Pairs that were compared and found to agree: the digest of both. */
  readonly #agreed = new Map<string, string>();
  /** How often in a row the control plane, asked, said otherwise than what was told of it. */
  readonly #contradictions = new Map<string, number>();

  constructor(options: DownSyncOptions) {
    this.#options = options;
    this.#status = new StatusSync(options);
    this.#patience = new DriftBackoff(options.context.clock);
  }

  async sync(key: ObjectKey): Promise<SyncResult> {
    const { view, context } = this.#options;
    const known = view.upstreamObject(key);
    const isOnce = context.lease !== undefined && isStopBeforeStart(known);
    // Without the lease it is stopped, and stays so; with it again, what counts is what is asked for now.
    if (isOnce && context.lease?.isHeld !== true) return { againAfterMs: leaseLookMs };
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
    const live = await this.#options.upstreamObjects.find(key);
    return live && cachedObject(live);
  }

  forget(key: ObjectKey): void {
    const text = formatKey(key);
    this.#settled.delete(text);
    this.#agreed.delete(text);
    this.#contradictions.delete(text);
    this.#patience.forget(text);
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
    const gate = volumeGateOf(known, synced.resource, context.nameIn(key.cluster));
    if (gate === "stopped") return this.#stop(key);
    const isClosed = gate === "closed";
    if (isClosed && view.downstreamObject(key) === undefined) return done;
    const upstream = await this.#hold(key, known);
    if (synced.resource.namespaced) await namespaces.ensure(key);
    const downstream = view.downstreamObject(key) ?? (await this.#findDownstream(key));
    if (downstream === undefined) {
      if (isClosed) return done;
      if (await this.#propagatesDeletion(key, upstream)) return done;
      const made = await this.#apply(key, this.#desired(key, upstream, []), true);
      return await this.#bringUp(key, upstream, made, done);
    }
    const origin = view.originOf(downstream);
    if (origin === undefined) throw this.#takenError(key, downstream);
    if (downstream.metadata.deletionTimestamp !== undefined) return { againAfterMs: lookAgainMs };
    // What is there may be the copy of an earlier object of this name: who knows is asked before it goes.
    if (origin.uid !== upstream.metadata.uid) return this.#remove(key);
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
    return { againAfterMs: Math.min(waitMs, result.againAfterMs ?? waitMs) };
  }

  /** What the status alone does not say. Told behind it, so that who reads it here knows that the status is as new. */
  async #tellMarks(key: ObjectKey, copy: CachedObject): Promise<void> {
    const { context, view, synced, upstreamObjects } = this.#options;
    const { metadata } = view.upstreamObject(key) ?? {};
    if (metadata === undefined || metadata.deletionTimestamp !== undefined) return;
    const name = context.nameIn(key.cluster);
    const diff = stringMember(metadata.annotations, specDiffAnnotation(name));
    const marks = {
      [appliedDiffAnnotation(name)]: diff === undefined ? undefined : diffHash(diff),
      [attachedInClusterAnnotation]: attachersOf(synced.resource, copy),
    };
    const changed = Object.entries(marks).filter(
      ([mark, value]) => stringMember(metadata.annotations, mark) !== value,
    );
    if (changed.length === 0) return;
    const annotations = Object.fromEntries(changed.map(([mark, value]) => [mark, value ?? null]));
    const patch = { metadata: { uid: metadata.uid, annotations } };
    const answer = await upstreamObjects.patch(key, { type: "merge", patch });
    view.wroteUpstream(key, answer, "other");
  }

  async #bringInLine(
    key: ObjectKey,
    upstream: CachedObject,
    downstream: CachedObject,
  ): Promise<{ readonly result: SyncResult; readonly copy: CachedObject }> {
    const text = formatKey(key);
    const pair = pairOf(upstream, downstream);
    if (this.#agreed.get(text) === pair) return { result: done, copy: downstream };
    const desired = this.#desired(key, upstream, downstream.foreignPaths);
    const { annotations, generation, resourceVersion } = downstream.metadata;
    if (stringMember(annotations, appliedHashAnnotation) !== desired.hash) {
      const copy = await this.#apply(key, desired, false);
      // The next look, for its status, need not compare anything again.
      if (this.#settled.get(text) === undefined) this.#agreed.set(text, pairOf(upstream, copy));
      return { result: done, copy };
    }
    const isSettled =
      this.#settled.get(text) === `${desired.hash} ${generation ?? resourceVersion}`;
    if (isSettled || isApplied(desired, downstream.metadata, bodyOf(downstream))) {
      this.#agreed.set(text, pair);
      return { result: done, copy: downstream };
    }
    // Somebody changed in the cluster what is ours. Once that is put right at once; who insists is met with growing patience.
    const waitMs = this.#patience.waitMs(text);
    if (waitMs > 0) return { result: { againAfterMs: waitMs }, copy: downstream };
    const copy = await this.#apply(key, desired, false);
    if (!this.#patience.isContested(text)) return { result: done, copy };
    throw new SyncError(
      "FieldContested",
      "something in the cluster keeps changing fields that are set here; remove them here, or declare them contested in the sync policy",
    );
  }

  #desired(key: ObjectKey, upstream: CachedObject, foreignPaths: readonly string[]): DesiredObject {
    const { synced, context, policy, view } = this.#options;
    const { resource } = synced;
    const place = view.placeOf(key);
    return desiredObject(upstream, {
      resource,
      target: context.target,
      policy,
      key,
      place,
      foreignPaths,
    });
  }

  async #apply(key: ObjectKey, desired: DesiredObject, isNew: boolean): Promise<CachedObject> {
    const { signal } = this.#options.context;
    const answer = await this.#downstream.apply(
      desired.object as unknown as ObjectInput<DynamicObject>,
      { fieldManager: syncerFieldManager, force: true, signal },
    );
    const written = this.#options.view.wroteDownstream(key, answer, isNew);
    const { generation, resourceVersion } = written.metadata;
    const text = formatKey(key);
    if (isApplied(desired, answer.metadata, answer as unknown as JsonObject))
      this.#settled.delete(text);
    else this.#settled.set(text, `${desired.hash} ${generation ?? resourceVersion}`);
    return written;
  }

  /** Puts the finalizer on, before the first write downstream. */
  async #hold(key: ObjectKey, upstream: CachedObject): Promise<CachedObject> {
    const { context, view } = this.#options;
    const { metadata } = upstream;
    const name = context.nameIn(key.cluster);
    if (isHeldBy(metadata, name)) return upstream;
    const finalizers = [...(metadata.finalizers ?? []), syncerFinalizer(name)];
    const { uid, resourceVersion } = metadata;
    const answer = await this.#options.upstreamObjects.patch(key, {
      type: "merge",
      patch: { metadata: { uid, resourceVersion, finalizers } },
    });
    return view.wroteUpstream(key, answer, "hold");
  }

  /**
   * The original seems to be gone, to have to leave, or to be another one than the copy's. First what is in the cluster is looked at, then the original, live, which
   * decides: between that answer and the delete there is nothing else to wait for.
   */
  async #remove(key: ObjectKey): Promise<SyncResult> {
    const { context, view, upstreamObjects } = this.#options;
    const copy = await this.#findDownstream(key);
    const origin = copy && view.originOf(copy);
    const isLeft = copy !== undefined && origin !== undefined;
    if (isLeft && copy.metadata.deletionTimestamp === undefined) await context.confirmTarget();
    const original = await upstreamObjects.find(key);
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

  /** Assigned, but not to be there for now. The finalizer goes when nothing of it is there: that is how it is known that it has stopped. */
  async #stop(key: ObjectKey): Promise<SyncResult> {
    const { context, view, synced, upstreamObjects } = this.#options;
    const copy = await this.#findDownstream(key);
    const isOurs = copy !== undefined && view.originOf(copy) !== undefined;
    if (isOurs && copy.metadata.deletionTimestamp === undefined) await context.confirmTarget();
    const original = await upstreamObjects.find(key);
    if (original === undefined) return this.#contradicted(key);
    const gate = volumeGateOf(cachedObject(original), synced.resource, context.nameIn(key.cluster));
    if (gate !== "stopped") return this.#contradicted(key);
    this.#contradictions.delete(formatKey(key));
    if (isOurs) return this.#deleteDownstream(key, copy);
    await this.#release(key, original);
    return done;
  }

  /** The control plane says otherwise than what was told of it. Most often that is on its way; if it stays so, it was missed. */
  #contradicted(key: ObjectKey): SyncResult {
    const text = formatKey(key);
    const times = (this.#contradictions.get(text) ?? 0) + 1;
    this.#contradictions.set(text, times);
    if (times === 1) return { againAfterMs: 1000 };
    if (times === contradictionsMax) this.#options.view.resyncUpstream();
    return { againAfterMs: lookAgainMs };
  }

  async #release(key: ObjectKey, original: KubernetesObject): Promise<void> {
    const { context, view, policy } = this.#options;
    const patch = releasePatch(original.metadata, context.nameIn(key.cluster));
    if (patch === undefined) return;
    const answer = await this.#options.upstreamObjects.patch(key, { type: "merge", patch });
    if (answer.metadata.deletionTimestamp === undefined) view.wroteUpstream(key, answer, "other");
    if (policy.statusOwner === "downstream") await this.#status.clear(key, cachedObject(answer));
  }

  async #deleteDownstream(key: ObjectKey, copy: CachedObject): Promise<SyncResult> {
    const { context, view } = this.#options;
    const { uid, deletionTimestamp } = copy.metadata;
    if (deletionTimestamp !== undefined) return { againAfterMs: lookAgainMs };
    view.deletesDownstream(key);
    try {
      await this.#downstream.delete(view.placeOf(key), {
        preconditions: { uid },
        propagationPolicy: "Background",
        signal: context.signal,
      });
    } catch (error) {
      if (!isObjectNotFound(error, view.placeOf(key).name)) throw error;
    }
    return { againAfterMs: lookAgainMs };
  }

  async #propagatesDeletion(key: ObjectKey, upstream: CachedObject): Promise<boolean> {
    const { view, policy } = this.#options;
    const text = formatKey(key);
    const uid = view.deletedDownstream.get(text);
    view.deletedDownstream.delete(text);
    if (policy.onDownstreamDeletion !== "propagate" || uid !== upstream.metadata.uid) return false;
    await this.#options.upstreamObjects.delete(key, uid);
    return true;
  }

  async #findDownstream(key: ObjectKey): Promise<CachedObject | undefined> {
    const { view, context, policy } = this.#options;
    const found = await findLive(this.#downstream, view.placeOf(key), context.signal);
    const paths = policy.contested.map(({ path }) => path);
    return found === undefined ? undefined : cachedObject(found, paths);
  }

  #takenError(key: ObjectKey, { metadata }: CachedObject): SyncError {
    const { resource } = this.#options.synced;
    const place = this.#options.view.placeOf(key);
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

/** Undefined only when the server says that there is no object of this name. Everything else throws. */
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
