/**
 * One object that is born in the cluster, in a namespace of ours, copied up: Pods, Endpoints and whatever a policy names.
 *
 * The copy carries the label `state.workload.kcp.io/<target>: Upsync`. What has that name upstream and not the label is somebody else's and is left
 * alone. The copy goes when the cluster says, live, that the original is gone.
 */
import { type JsonObject, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import { type DynamicObject, type ObjectInput, type ObjectKey, stringMember } from "@kcp-ts/sdk";
import { hashDigits, stateLabel, stateUpsync } from "../api/index.ts";
import { bodyOf, type CachedObject, cachedObject, statusOf } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { userAnnotations } from "./desired-object.ts";
import type { SyncResult } from "./down-sync.ts";
import type { KindView } from "./kind-view.ts";
import type { KindPolicy } from "./policy.ts";
import { appliedHashAnnotation } from "./protocol.ts";
import { isObjectNotFound, Trouble } from "./trouble.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";

export interface UpSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: KindPolicy;
  readonly view: KindView;
  readonly upstreamObjects: UpstreamObjects;
}

const done: SyncResult = {};

export class UpSync {
  readonly #options: UpSyncOptions;

  constructor(options: UpSyncOptions) {
    this.#options = options;
  }

  async sync(key: ObjectKey): Promise<SyncResult> {
    const { view } = this.#options;
    const original = view.downstreamObject(key);
    // Synced down by another rule: it has its original upstream.
    if (original !== undefined && view.originOf(original) !== undefined) return done;
    if (original === undefined) return this.#remove(key);
    const copy = view.upstreamObject(key);
    const written = await this.#copy(key, original, copy);
    await this.#copyStatus(key, original, written);
    return done;
  }

  async #copy(
    key: ObjectKey,
    original: CachedObject,
    known: CachedObject | undefined,
  ): Promise<CachedObject> {
    const { context, view } = this.#options;
    const copy = known ?? (await this.#findUpstream(key));
    if (copy !== undefined && !this.#isOurs(key, copy)) {
      const message = `${key.namespace}/${key.name} exists upstream and was not copied up from this cluster; delete it, or rename it`;
      throw new Trouble("AlreadyExists", message);
    }
    const body = bodyOf(original);
    const { labels = {}, annotations } = original.metadata;
    const metadata = {
      name: key.name,
      namespace: key.namespace,
      labels: { ...labels, [stateLabel(context.nameIn(key.cluster))]: stateUpsync },
      annotations: userAnnotations(annotations),
    };
    const hash = hashDigits(stringifyJson([body, metadata as JsonObject]), 32);
    if (copy !== undefined) {
      if (stringMember(copy.metadata.annotations, appliedHashAnnotation) === hash) return copy;
    }
    const marked = { ...metadata.annotations, [appliedHashAnnotation]: hash };
    const object = { ...body, metadata: { ...metadata, annotations: marked } };
    const answer = await this.#options.upstreamObjects.apply(
      key,
      object as unknown as ObjectInput<DynamicObject>,
    );
    return view.wroteUpstream(key, answer, known === undefined ? "created" : "other");
  }

  async #copyStatus(key: ObjectKey, original: CachedObject, copy: CachedObject): Promise<void> {
    const { policy, upstreamObjects, view, synced } = this.#options;
    const status = statusOf(original);
    if (policy.statusOwner !== "downstream" || status === undefined || !synced.hasStatus) return;
    if (jsonEqual(statusOf(copy) ?? null, status)) return;
    const answer = await upstreamObjects.patchStatus(key, {
      type: "json",
      operations: [
        { op: "test", path: "/metadata/uid", value: copy.metadata.uid },
        { op: "add", path: "/status", value: status },
      ],
    });
    view.wroteUpstream(key, answer, "other");
  }

  async #remove(key: ObjectKey): Promise<SyncResult> {
    const { context, view } = this.#options;
    const copy = view.upstreamObject(key);
    if (copy === undefined || !this.#isOurs(key, copy)) return done;
    const resource = context.downstream.resource<DynamicObject>(
      this.#options.synced.resource as never,
    );
    const place = view.placeOf(key);
    try {
      await resource.get(place, { signal: context.signal });
      return { againAfterMs: 1000 };
    } catch (error) {
      if (!isObjectNotFound(error, place.name)) throw error;
    }
    await this.#options.upstreamObjects.delete(key, copy.metadata.uid);
    return done;
  }

  #isOurs({ cluster }: ObjectKey, { metadata }: CachedObject): boolean {
    const state = stateLabel(this.#options.context.nameIn(cluster));
    return stringMember(metadata.labels, state) === stateUpsync;
  }

  async #findUpstream(key: ObjectKey): Promise<CachedObject | undefined> {
    const found = await this.#options.upstreamObjects.find(key);
    return found === undefined ? undefined : cachedObject(found);
  }
}
