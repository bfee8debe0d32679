/**
 * Syncs `.status` of one kind from the side that owns it to the other side.
 *
 * An object in one SyncTarget has the status of that cluster. In several SyncTargets, each
 * cluster's status is in an annotation, and the coordinator aggregates them.
 */
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  member,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  type DynamicObject,
  formatKey,
  type JsonPatchOperation,
  type ObjectKey,
  stringMember,
} from "@kcp-ts/sdk";
import type { SyncRules } from "../api/index.ts";
import {
  assignedTargets,
  firstReportMsMax,
  isReportedWhenStarted,
  sharedStatus,
  statusAnnotation,
  syncerFieldManager,
} from "../api/index.ts";
import { bodyOf, type CachedObject, statusOf } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import type { KindView } from "./kind-view.ts";
import { appliedGenerationAnnotation } from "./protocol.ts";
import { SyncError } from "./sync-error.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";
import { UpsyncStatusGuard } from "./upsync-status-guard.ts";

export interface StatusSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: SyncRules;
  readonly view: KindView;
  readonly upstreamObjects: UpstreamObjects;
}

/**
 * A larger status is not written to an annotation, which is reported on the object; all annotations
 * of an object together have 256 KiB.
 */
export const statusAnnotationCharactersMax = 32_768;

/**
 * What a cluster reports of a new copy while its replicas start is one write: when all of them are
 * available, when nothing has changed for some time, or at the latest after `firstReportMsMax`.
 * Until then the workload's own status is not about its newest generation, and `kubectl rollout
 * status` waits.
 */
const firstReportQuietMs = 2000;

interface Starting {
  readonly sinceMs: number;
  readonly status: JsonValue;
  readonly changedAtMs: number;
}

export class StatusSync {
  readonly #options: StatusSyncOptions;
  readonly #told: UpsyncStatusGuard;
  /** By the text of the key: since when a copy without a report starts. */
  readonly #starting = new Map<string, Starting>();

  constructor(options: StatusSyncOptions) {
    this.#options = options;
    const { clock } = options.context;
    this.#told = new UpsyncStatusGuard({
      clock,
      // Upstream, the syncer owns the complete status; in a cluster, other controllers add fields.
      mayHaveMore: options.policy.statusDirection === "Down",
    });
  }

  forget(text: string): void {
    this.#told.forget(text);
    this.#starting.delete(text);
  }

  /** When to sync again, if another client keeps writing another status. */
  async sync(
    key: ObjectKey,
    upstream: CachedObject,
    downstream: CachedObject,
  ): Promise<number | undefined> {
    const { statusDirection } = this.#options.policy;
    if (statusDirection === "Down") return await this.#lower(key, upstream, downstream);
    if (statusDirection !== "Up" || downstream.status === undefined) return undefined;
    if (isRaised(upstream, downstream)) return undefined;
    const found = translated(statusOf(downstream), downstream);
    if (found === undefined) return undefined;
    const status = sharedStatus(this.#options.synced.resource, found);
    const firstMs = this.#firstReportInMs(key, upstream, status);
    if (firstMs > 0) return firstMs;
    if (assignedTargets(upstream.metadata.labels).size <= 1)
      return await this.#raise(key, upstream, status);
    await this.#annotate(key, upstream, status);
    return undefined;
  }

  #firstReportInMs(key: ObjectKey, upstream: CachedObject, status: JsonValue): number {
    const text = formatKey(key);
    const { resource } = this.#options.synced;
    const isNew = isReportedWhenStarted(resource) && !hasReport(upstream);
    if (!isNew || !isStarting(bodyOf(upstream), status)) {
      this.#starting.delete(text);
      return 0;
    }
    const nowMs = this.#options.context.clock.monotonic();
    const { sinceMs = nowMs, status: before, changedAtMs = nowMs } = this.#starting.get(text) ?? {};
    const changedAtMsNow = jsonEqual(before ?? null, status) ? changedAtMs : nowMs;
    this.#starting.set(text, { sinceMs, status, changedAtMs: changedAtMsNow });
    return Math.min(changedAtMsNow + firstReportQuietMs, sinceMs + firstReportMsMax) - nowMs;
  }

  /** An object that is in no cluster any more has no status either. */
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
    this.#told.recordWrite(text, status, written);
    return undefined;
  }

  async #write(
    key: ObjectKey,
    uid: string,
    operations: readonly JsonPatchOperation[],
  ): Promise<CachedObject> {
    const { view, upstreamObjects } = this.#options;
    const answer = await upstreamObjects.jsonPatchStatus(key, uid, operations);
    return view.recordUpstreamWrite(key, answer, "status");
  }

  async #annotate(key: ObjectKey, upstream: CachedObject, status: JsonValue): Promise<void> {
    const { context, upstreamObjects, view } = this.#options;
    const name = statusAnnotation(context.nameIn(key.cluster));
    const value = stringifyJson(status);
    const isTooLarge = value.length > statusAnnotationCharactersMax;
    const { uid, annotations: known } = upstream.metadata;
    // A status that is too large leaves none: the last one would be taken for the current one.
    if (stringMember(known, name) !== (isTooLarge ? undefined : value)) {
      const annotations = { [name]: isTooLarge ? null : value };
      const answer = await upstreamObjects.mergePatch(key, uid, { metadata: { annotations } });
      view.recordUpstreamWrite(key, answer, "other");
    }
    if (isTooLarge)
      throw new SyncError(
        "TooLarge",
        `its status in the cluster has ${value.length} characters, and an object in several clusters can report ${statusAnnotationCharactersMax} for each: assign it to one cluster, or make its status smaller`,
      );
  }

  /**
   * A new status is written immediately; a status that was written and changed there, with backoff.
   * Other controllers may add fields.
   */
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
    const { uid } = downstream.metadata;
    const metadata = { ...view.downstreamNameOf(key), uid };
    const answer = await context.downstream
      .resource<DynamicObject>(synced.resource as never)
      .sameObject({ metadata })
      .applyStatusFields(status as JsonObject, {
        fieldManager: syncerFieldManager,
        force: true,
        signal: context.signal,
      });
    this.#told.recordWrite(text, status, view.recordDownstreamWrite(key, answer));
    return undefined;
  }
}

function hasReport(upstream: CachedObject): boolean {
  const status = statusOf(upstream);
  return (
    isJsonObject(status ?? null) && member(status as JsonObject, "observedGeneration") !== undefined
  );
}

/** Whether some of the requested replicas are not available yet. */
function isStarting({ spec }: JsonObject, status: JsonValue): boolean {
  const replicas = isJsonObject(spec ?? null) ? member(spec as JsonObject, "replicas") : undefined;
  if (typeof replicas !== "number" || !isJsonObject(status)) return false;
  const available = member(status, "availableReplicas") ?? 0;
  return typeof available === "number" && available < replicas;
}

/**
 * Compares the texts alone, which usually suffices. A status that mentions generations or load
 * balancers anywhere is parsed and compared instead.
 */
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
 * Each side counts its own generations. The generation that the cluster has observed is, upstream,
 * the generation that was applied; as long as the cluster has not observed the newest copy, it is
 * the previous one.
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
