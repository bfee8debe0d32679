/**
 * Reports to the owner of an object why it is not in sync: an annotation that stays as long as the
 * error, and an Event.
 *
 * A report must not cause further errors: a report that fails is logged, and the same error is
 * written once.
 */
import {
  apiVersionOf,
  EventRecorder,
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  stringMember,
} from "@kcp-ts/sdk";
import { hashDigits, syncErrorAnnotation } from "../api/index.ts";
import { type CachedObject, contentDigest, withoutReports } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import type { KindView } from "./kind-view.ts";
import type { SyncError } from "./sync-error.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";

/**
 * How long the same error of an unchanged object is not written again with other figures: some
 * messages have new figures at every retry, and each write would trigger a retry.
 */
const sameErrorMs = 30_000;
const reportedMax = 10_000;

export class Reporter {
  readonly #context: SyncContext;
  readonly #recorder: EventRecorder;
  /**
   * The last reported error of an object at its version, and the time; bounded to the newest
   * objects.
   */
  readonly #reported = new Map<string, { readonly about: string; readonly atMs: number }>();

  constructor(context: SyncContext) {
    this.#context = context;
    this.#recorder = new EventRecorder({
      component: "kcp-syncer",
      client: context.upstreamIn,
      clock: context.clock,
      onError: context.onError,
    });
  }

  async report(at: ReportedObject, syncError: SyncError): Promise<void> {
    const { key, upstream, synced } = at;
    const name = this.#context.nameIn(key.cluster);
    const message = `${synced.resource.kind} ${key.name} is not in sync with SyncTarget ${name}: ${syncError.message}`;
    const value = JSON.stringify({ status: "False", reason: syncError.reason, message });
    const present = stringMember(upstream.metadata.annotations, syncErrorAnnotation(name));
    if (present === value) return;
    if (present !== undefined && this.#isToldLately(key, upstream, syncError)) return;
    this.#remember(key, upstream, syncError);
    this.#recorder.record(key.cluster, referenceTo(at), {
      type: "Warning",
      reason: syncError.reason,
      message,
    });
    await this.#annotate(at, value);
  }

  #isToldLately(key: ObjectKey, upstream: CachedObject, syncError: SyncError): boolean {
    const last = this.#reported.get(formatKey(key));
    if (last?.about !== about(upstream, syncError)) return false;
    return this.#context.clock.monotonic() - last.atMs < sameErrorMs;
  }

  #remember(key: ObjectKey, upstream: CachedObject, syncError: SyncError): void {
    const text = formatKey(key);
    this.#reported.delete(text);
    const atMs = this.#context.clock.monotonic();
    this.#reported.set(text, { about: about(upstream, syncError), atMs });
    const [oldest] = this.#reported.keys();
    if (this.#reported.size > reportedMax && oldest !== undefined) this.#reported.delete(oldest);
  }

  /** Removes the report when the error is resolved. */
  async clear(at: ReportedObject): Promise<void> {
    const name = this.#context.nameIn(at.key.cluster);
    const annotation = syncErrorAnnotation(name);
    if (stringMember(at.upstream.metadata.annotations, annotation) === undefined) return;
    this.#reported.delete(formatKey(at.key));
    const message = `${at.synced.resource.kind} ${at.key.name} is in sync with SyncTarget ${name} again`;
    this.#recorder.record(at.key.cluster, referenceTo(at), {
      type: "Normal",
      reason: "Synced",
      message,
    });
    await this.#annotate(at, null);
  }

  async #annotate(reported: ReportedObject, value: string | null): Promise<void> {
    const { key, upstream, upstreamObjects, view } = reported;
    const { nameIn, onError } = this.#context;
    const { uid } = upstream.metadata;
    const annotations = { [syncErrorAnnotation(nameIn(key.cluster))]: value };
    try {
      const answer = await upstreamObjects.mergePatch(key, uid, { metadata: { annotations } });
      view.recordUpstreamWrite(key, answer, "syncState");
    } catch (error) {
      onError(
        new Error(`cannot record on ${formatKey(key)} why it is not in sync`, { cause: error }),
      );
    }
  }
}

/** Messages that differ only in digits (ports, counts, times) are the same error. */
function about(upstream: CachedObject, { reason, message }: SyncError): string {
  const words = message.replace(/\S*\d\S*/g, "#");
  return `${reason} ${hashDigits(words, 16)} ${contentDigest(withoutReports(upstream))}`;
}

export interface ReportedObject {
  readonly key: ObjectKey;
  readonly upstream: CachedObject;
  readonly synced: SyncedResource;
  readonly view: KindView;
  readonly upstreamObjects: UpstreamObjects;
}

function referenceTo({ key, upstream, synced }: ReportedObject): KubernetesObject {
  const { resource } = synced;
  const { uid, resourceVersion } = upstream.metadata;
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: {
      name: key.name,
      ...(key.namespace === "" ? {} : { namespace: key.namespace }),
      uid,
      resourceVersion,
    },
  };
}
