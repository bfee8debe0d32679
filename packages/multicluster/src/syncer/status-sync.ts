/**
 * `.status` of one kind, from the side that knows it to the other.
 *
 * An object in one SyncTarget has that one's status. In several, each one's status is in an annotation, and who coordinates them makes one of it.
 */
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  member,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  type DynamicObject,
  formatKey,
  type JsonPatchOperation,
  type ObjectInput,
  type ObjectKey,
  stringMember,
} from "@kcp-ts/sdk";
import {
  assignedTargets,
  sharedStatus,
  statusAnnotation,
  syncerFieldManager,
} from "../api/index.ts";
import { type CachedObject, statusOf } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import type { KindView } from "./kind-view.ts";
import type { KindPolicy } from "./policy.ts";
import { appliedGenerationAnnotation } from "./protocol.ts";
import { UpsyncStatusGuard } from "./told-statuses.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";

export interface StatusSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: KindPolicy;
  readonly view: KindView;
  readonly upstreamObjects: UpstreamObjects;
}

/** Larger ones do not go into an annotation; all annotations of an object together have 256 KiB. */
export const statusAnnotationCharactersMax = 32_768;

export class StatusSync {
  readonly #options: StatusSyncOptions;
  readonly #told: UpsyncStatusGuard;

  constructor(options: StatusSyncOptions) {
    this.#options = options;
    const { clock } = options.context;
    this.#told = new UpsyncStatusGuard({
      clock,
      // Upstream a status is ours as a whole; a cluster has controllers that add to it.
      mayHaveMore: options.policy.statusOwner === "upstream",
    });
  }

  forget(text: string): void {
    this.#told.forget(text);
  }

  /** When to look again, if somebody insists on another status. */
  async sync(
    key: ObjectKey,
    upstream: CachedObject,
    downstream: CachedObject,
  ): Promise<number | undefined> {
    const { statusOwner } = this.#options.policy;
    if (statusOwner === "upstream") return await this.#lower(key, upstream, downstream);
    if (statusOwner !== "downstream" || downstream.status === undefined) return undefined;
    if (isRaised(upstream, downstream)) return undefined;
    const found = translated(statusOf(downstream), downstream);
    if (found === undefined) return undefined;
    const status = sharedStatus(this.#options.synced.resource, found);
    if (assignedTargets(upstream.metadata.labels).size <= 1)
      return await this.#raise(key, upstream, status);
    await this.#annotate(key, upstream, status);
    return undefined;
  }

  /** What no cluster has any more has no status either. */
  async clear(key: ObjectKey, original: CachedObject): Promise<void> {
    const { metadata, status } = original;
    if (status === undefined || metadata.deletionTimestamp !== undefined) return;
    if (assignedTargets(metadata.labels).size > 0) return;
    await this.#write(key, metadata.uid, [{ op: "remove", path: "/status" }]);
  }

  async #raise(
    key: ObjectKey,
    upstream: CachedObject,
    status: JsonValue,
  ): Promise<number | undefined> {
    const text = formatKey(key);
    const waitMs = this.#told.waitMs(text, status, upstream);
    if (waitMs !== 0) return waitMs;
    const operations: JsonPatchOperation[] = [{ op: "add", path: "/status", value: status }];
    const written = await this.#write(key, upstream.metadata.uid, operations);
    this.#told.wrote(text, status, written);
    return undefined;
  }

  async #write(
    key: ObjectKey,
    uid: string,
    operations: readonly JsonPatchOperation[],
  ): Promise<CachedObject> {
    const { view, upstreamObjects } = this.#options;
    const answer = await upstreamObjects.patchStatus(key, {
      type: "json",
      operations: [{ op: "test", path: "/metadata/uid", value: uid }, ...operations],
    });
    return view.wroteUpstream(key, answer, "status");
  }

  async #annotate(key: ObjectKey, upstream: CachedObject, status: JsonValue): Promise<void> {
    const { context, upstreamObjects, view } = this.#options;
    const name = statusAnnotation(context.nameIn(key.cluster));
    const value = stringifyJson(status);
    if (value.length > statusAnnotationCharactersMax) return;
    if (stringMember(upstream.metadata.annotations, name) === value) return;
    const { uid } = upstream.metadata;
    const answer = await upstreamObjects.patch(key, {
      type: "merge",
      patch: { metadata: { uid, annotations: { [name]: value } } },
    });
    view.wroteUpstream(key, answer, "other");
  }

  /** What is new is sent at once; what was sent and changed there, with growing patience. Others may say more than we do. */
  async #lower(
    key: ObjectKey,
    upstream: CachedObject,
    downstream: CachedObject,
  ): Promise<number | undefined> {
    const status = statusOf(upstream);
    if (status === undefined) return undefined;
    const text = formatKey(key);
    const waitMs = this.#told.waitMs(text, status, downstream);
    if (waitMs !== 0) return waitMs;
    const { context, synced, view } = this.#options;
    const { namespace, name } = view.placeOf(key);
    const metadata = { name, ...(namespace === "" ? {} : { namespace }) };
    const answer = await context.downstream
      .resource<DynamicObject>(synced.resource as never)
      .applyStatus({ metadata, status } as unknown as ObjectInput<DynamicObject>, {
        fieldManager: syncerFieldManager,
        force: true,
        signal: context.signal,
      });
    this.#told.wrote(text, status, view.wroteDownstream(key, answer));
    return undefined;
  }
}

/** Told by the texts alone, as it mostly can: what goes up is what is there, unless it speaks of generations or load balancers. */
function isRaised(upstream: CachedObject, downstream: CachedObject): boolean {
  const { status } = downstream;
  return (
    status === upstream.status &&
    status?.includes('"observedGeneration"') === false &&
    !status.includes('"loadBalancer"') &&
    assignedTargets(upstream.metadata.labels).size === 1
  );
}

/**
 * Generations are counted on each side for itself. What the cluster has observed is, up here, the generation that was applied; as long as it is behind with
 * the newest copy, it is one before.
 */
function translated(
  status: JsonValue | undefined,
  downstream: CachedObject,
): JsonValue | undefined {
  if (status === undefined || !isJsonObject(status)) return status;
  const { generation, annotations } = downstream.metadata;
  const text = stringMember(annotations, appliedGenerationAnnotation);
  if (text === undefined || !/^\d{1,15}$/.test(text) || generation === undefined) return status;
  const applied = Number(text);
  const translate = (object: JsonObject): JsonObject => {
    const observed = member(object, "observedGeneration");
    if (typeof observed !== "number") return object;
    const upstreamObserved = observed >= generation ? applied : Math.max(0, applied - 1);
    return { ...object, observedGeneration: upstreamObserved };
  };
  const conditions = member(status, "conditions");
  if (!Array.isArray(conditions)) return translate(status);
  const items = (conditions as JsonArray).map((one) => (isJsonObject(one) ? translate(one) : one));
  return { ...translate(status), conditions: items };
}
