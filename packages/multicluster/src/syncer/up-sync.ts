/**
 * Syncs one object that was created in the cluster, in a namespace of the syncer, up: Pods,
 * Endpoints and every kind that a policy names.
 *
 * The copy has the label `state.workload.kcp.io/<target>: Upsync`. An upstream object of that name
 * without the label belongs to another owner and is unchanged. The copy is deleted after a live
 * read that the original is deleted.
 *
 * Where the deletion of a copy deletes the original (Pods), a finalizer holds the copy until the
 * original is deleted, so that a client that deletes it waits as in any cluster.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type DynamicObject,
  formatKey,
  type KubernetesObject,
  type ObjectInput,
  type ObjectKey,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import type { SyncRules } from "../api/index.ts";
import {
  assignedTargets,
  attachedInClusterAnnotation,
  clusterUnreachableReason,
  hashDigits,
  serviceNameOf,
  stateLabel,
  stateUpsync,
  syncerFieldManager,
  syncerFinalizer,
  upsyncedFromAnnotation,
} from "../api/index.ts";
import { bodyOf, type CachedObject, cachedObject, statusOf } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { userAnnotations, userLabels } from "./desired-object.ts";
import type { SyncResult } from "./down-sync.ts";
import { jobOf, withJobLabels } from "./job-labels.ts";
import type { KindView } from "./kind-view.ts";
import { formatCopyOf, parseCopyOf } from "./origin.ts";
import { gatedStatus } from "./pod-gates.ts";
import { appliedHashAnnotation } from "./protocol.ts";
import { releasePatch } from "./release-patch.ts";
import { isObjectNotFound, SyncError } from "./sync-error.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";
import { UpsyncStatusGuard } from "./upsync-status-guard.ts";
import { attachersOf } from "./volume-gate.ts";

export interface UpSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: SyncRules;
  readonly view: KindView;
  readonly upstreamObjects: UpstreamObjects;
  /** The view of Jobs, if they are synced. */
  readonly jobs?: (() => KindView | undefined) | undefined;
  /** The view of Services, if they are synced. */
  readonly services?: (() => KindView | undefined) | undefined;
}

const done: SyncResult = {};
const lookAgainMs = 10_000;

export class UpSync {
  readonly #options: UpSyncOptions;
  readonly #told: UpsyncStatusGuard;

  constructor(options: UpSyncOptions) {
    this.#options = options;
    this.#told = new UpsyncStatusGuard(options.context);
  }

  async sync(key: ObjectKey): Promise<SyncResult> {
    const { view } = this.#options;
    const original = view.downstreamObject(key);
    // The object was synced down: it has its original upstream.
    if (original !== undefined && view.originOf(original) !== undefined) return done;
    if (original === undefined) return this.#remove(key);
    // The upstream Job of the Pod is unknown before Jobs are listed.
    if (original.metadata.controller?.kind === "Job" && this.#options.jobs?.()?.hasSynced === false)
      return { requeueAfterMs: 1000 };
    const copy = view.upstreamObject(key);
    const sight = this.#serviceOf(key, original);
    if (sight === "unknown") return { requeueAfterMs: 1000 };
    if (sight === "others") return this.#withdraw(key, copy);
    if (copy?.metadata.deletionTimestamp !== undefined && this.#isOurs(key, copy))
      return this.#followDeletion(key, original, copy);
    const written = await this.#copy(key, original, copy);
    if (original.metadata.deletionTimestamp !== undefined && this.#isHeld)
      await this.#options.upstreamObjects.delete(key, written.metadata.uid);
    return this.#copyStatus(key, original, written);
  }

  /** The copy of an object that is being deleted is, too: its finalizer holds it until the end. */
  get #isHeld(): boolean {
    return this.#options.policy.onUpstreamDeletion === "Propagate";
  }

  /**
   * For endpoints: whether their Service was synced down. Endpoints of the cluster's other Services
   * are not synced up.
   */
  #serviceOf(key: ObjectKey, original: CachedObject): "ours" | "others" | "unknown" {
    const { synced, services, context } = this.#options;
    const name = serviceNameOf(synced.resource, {
      name: original.metadata.name,
      labels: original.metadata.labels,
    });
    const known = services?.();
    if (name === undefined || known === undefined) return "ours";
    if (!known.hasSynced) return "unknown";
    const service = known.upstreamObject({ ...key, name });
    const isOurs =
      service && assignedTargets(service.metadata.labels).has(context.nameIn(key.cluster));
    return isOurs === true ? "ours" : "others";
  }

  /** No event reports that the Service is assigned later: the object is requeued. */
  async #withdraw(key: ObjectKey, copy: CachedObject | undefined): Promise<SyncResult> {
    if (copy !== undefined && this.#isOurs(key, copy)) {
      await this.#release(key, copy);
      await this.#options.upstreamObjects.delete(key, copy.metadata.uid);
    }
    return { requeueAfterMs: lookAgainMs };
  }

  /**
   * A client deletes the copy. The copy of an earlier object of this name is just deleted, and
   * created again as a copy of the current one.
   */
  async #followDeletion(
    key: ObjectKey,
    original: CachedObject,
    copy: CachedObject,
  ): Promise<SyncResult> {
    const { context, view, synced } = this.#options;
    const { uid, deletionTimestamp } = original.metadata;
    const isOfThis =
      parseCopyOf(stringMember(copy.metadata.annotations, upsyncedFromAnnotation))?.uid === uid;
    if (!this.#isHeld || !isOfThis) {
      await this.#release(key, copy);
      return done;
    }
    const result = await this.#copyStatus(key, original, copy);
    if (deletionTimestamp !== undefined) return result;
    const resource = context.downstream.resource<DynamicObject>(synced.resource as never);
    try {
      const metadata = { ...view.downstreamNameOf(key), uid };
      await resource.sameObject({ metadata }).remove({ signal: context.signal });
    } catch (error) {
      if (!isObjectNotFound(error, view.downstreamNameOf(key).name)) throw error;
    }
    return result;
  }

  /** Removes the finalizer; a copy that is being deleted is thereby deleted. */
  async #release(key: ObjectKey, copy: CachedObject): Promise<void> {
    const patch = releasePatch(copy.metadata, this.#options.context.nameIn(key.cluster));
    if (patch === undefined) return;
    await this.#options.upstreamObjects.mergePatchVersion(key, copy.metadata, patch);
  }

  async #copy(
    key: ObjectKey,
    original: CachedObject,
    copy: CachedObject | undefined,
  ): Promise<CachedObject> {
    const { context, view, synced } = this.#options;
    if (copy !== undefined && !this.#isOurs(key, copy)) throw alreadyExists(key);
    const body = bodyOf(original);
    const { annotations } = original.metadata;
    const held = attachersOf(synced.resource, original);
    const target = context.nameIn(key.cluster);
    const { uid: targetUid } = context.target;
    const metadata = {
      name: key.name,
      ...(key.namespace === "" ? {} : { namespace: key.namespace }),
      labels: { ...this.#labelsOf(key, original), [stateLabel(target)]: stateUpsync },
      annotations: {
        ...userAnnotations(annotations),
        [upsyncedFromAnnotation]: formatCopyOf({
          uid: original.metadata.uid,
          target: targetUid,
          name: original.metadata.name === key.name ? undefined : original.metadata.name,
        }),
        ...(held === undefined ? {} : { [attachedInClusterAnnotation]: held }),
      },
      ...(this.#isHeld ? { finalizers: [syncerFinalizer(target)] } : {}),
    };
    const hash = hashDigits(stringifyJson([body, metadata as JsonObject]), 32);
    if (copy !== undefined) {
      if (stringMember(copy.metadata.annotations, appliedHashAnnotation) === hash) return copy;
    }
    const marked = { ...metadata.annotations, [appliedHashAnnotation]: hash };
    const object = { ...body, metadata: { ...metadata, annotations: marked } };
    const answer = await this.#apply(key, object as unknown as ObjectInput<DynamicObject>);
    return view.recordUpstreamWrite(key, answer, copy === undefined ? "created" : "other");
  }

  /** The server refuses it for an object that was not created as a copy. */
  async #apply(key: ObjectKey, object: ObjectInput<DynamicObject>): Promise<KubernetesObject> {
    const { upstreamObjects } = this.#options;
    try {
      return await upstreamObjects.apply(key, object);
    } catch (error) {
      if (!isStatusError(error, "Forbidden") && !isStatusError(error, "Invalid")) throw error;
      const found = await upstreamObjects.get(key);
      if (found === undefined || this.#isOurs(key, cachedObject(found))) throw error;
      throw alreadyExists(key);
    }
  }

  #labelsOf(key: ObjectKey, original: CachedObject): StringMap {
    const labels = userLabels(original.metadata.labels);
    const job = jobOf(original, key, this.#options.jobs?.());
    return job === undefined ? labels : withJobLabels(labels, job);
  }

  async #copyStatus(
    key: ObjectKey,
    original: CachedObject,
    copy: CachedObject,
  ): Promise<SyncResult> {
    const { policy, upstreamObjects, view, synced } = this.#options;
    const reported = statusOf(original);
    if (policy.statusDirection !== "Up" || reported === undefined || !synced.hasStatus) return done;
    const shown = statusOf(copy);
    // The controller that set the reason removes it, when the cluster is observed again.
    if (shown !== undefined && isJsonObject(shown) && shown["reason"] === clusterUnreachableReason)
      return done;
    const status = await this.#gatedStatus(key, original, { status: reported, shown });
    const text = formatKey(key);
    const waitMs = this.#told.waitMs(text, status, copy);
    if (waitMs !== 0) return waitMs === undefined ? done : { requeueAfterMs: waitMs };
    const answer = await upstreamObjects.jsonPatchStatus(key, copy.metadata.uid, [
      { op: "add", path: "/status", value: status },
    ]);
    this.#told.recordWrite(text, status, view.recordUpstreamWrite(key, answer, "status"));
    return done;
  }

  /** The status with the conditions of readiness gates that were set upstream, for both sides. */
  async #gatedStatus(
    key: ObjectKey,
    original: CachedObject,
    statuses: { readonly status: JsonValue; readonly shown: JsonValue | undefined },
  ): Promise<JsonValue> {
    const { context, synced, view } = this.#options;
    if (synced.resource.resource !== "pods" || synced.resource.group !== "") return statuses.status;
    const now = new Date(context.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const { status, lowering } = gatedStatus(bodyOf(original)["spec"], statuses, now);
    if (lowering.length > 0) {
      const metadata = { ...view.downstreamNameOf(key), uid: original.metadata.uid };
      const answer = await context.downstream
        .resource<DynamicObject>(synced.resource as never)
        .sameObject({ metadata })
        .jsonPatchStatus(lowering, { fieldManager: syncerFieldManager, signal: context.signal });
      view.recordDownstreamWrite(key, answer);
    }
    return status;
  }

  async #remove(key: ObjectKey): Promise<SyncResult> {
    const { context, view } = this.#options;
    this.#told.forget(formatKey(key));
    const copy = view.upstreamObject(key);
    if (copy === undefined || !this.#isOurs(key, copy)) return done;
    const resource = context.downstream.resource<DynamicObject>(
      this.#options.synced.resource as never,
    );
    const place = view.downstreamNameOf(key);
    try {
      await resource.get(place, { signal: context.signal });
      return { requeueAfterMs: 1000 };
    } catch (error) {
      if (!isObjectNotFound(error, place.name)) throw error;
    }
    await this.#release(key, copy);
    if (copy.metadata.deletionTimestamp === undefined)
      await this.#options.upstreamObjects.delete(key, copy.metadata.uid);
    return done;
  }

  #isOurs({ cluster }: ObjectKey, { metadata }: CachedObject): boolean {
    const state = stateLabel(this.#options.context.nameIn(cluster));
    return stringMember(metadata.labels, state) === stateUpsync;
  }
}

function alreadyExists({ namespace, name }: ObjectKey): SyncError {
  const message = `${namespace}/${name} exists upstream and was not copied up from this cluster; delete it, or rename it`;
  return new SyncError("AlreadyExists", message);
}
