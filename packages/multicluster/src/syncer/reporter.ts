/**
 * Tells the owner of an object why it is not in sync: an annotation that holds as long as the trouble does, and an Event.
 *
 * Telling must not become a trouble of its own: what cannot be told is logged, and the same trouble is written once.
 */
import {
  apiVersionOf,
  EventRecorder,
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  stringMember,
} from "@kcp-ts/sdk";
import { hashDigits } from "../api/index.ts";
import { type CachedObject, contentDigest, withoutReports } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import type { KindView } from "./kind-view.ts";
import { syncedAnnotation } from "./protocol.ts";
import type { SyncError } from "./trouble.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";

/** Until the same trouble of an unchanged object is told with other figures: some have them at every try, and a write is news, which is a try. */
const sameErrorMs = 30_000;
const reportedMax = 10_000;

export class Reporter {
  readonly #context: SyncContext;
  readonly #recorder: EventRecorder;
  /** What was told of an object as it was, and when; of the newest. */
  readonly #told = new Map<string, { readonly about: string; readonly atMs: number }>();

  constructor(context: SyncContext) {
    this.#context = context;
    this.#recorder = new EventRecorder({
      component: "kcp-syncer",
      client: context.upstreamIn,
      clock: context.clock,
      onError: context.onError,
    });
  }

  async tell(at: ReportedObject, trouble: SyncError): Promise<void> {
    const { key, upstream, synced } = at;
    const name = this.#context.nameIn(key.cluster);
    const message = `${synced.resource.kind} ${key.name} is not in sync with SyncTarget ${name}: ${trouble.message}`;
    const value = JSON.stringify({ status: "False", reason: trouble.reason, message });
    const present = stringMember(upstream.metadata.annotations, syncedAnnotation(name));
    if (present === value) return;
    if (present !== undefined && this.#isToldLately(key, upstream, trouble)) return;
    this.#remember(key, upstream, trouble);
    this.#recorder.record(key.cluster, referenceTo(at), {
      type: "Warning",
      reason: trouble.reason,
      message,
    });
    await this.#annotate(at, value);
  }

  #isToldLately(key: ObjectKey, upstream: CachedObject, trouble: SyncError): boolean {
    const last = this.#told.get(formatKey(key));
    if (last?.about !== about(upstream, trouble)) return false;
    return this.#context.clock.monotonic() - last.atMs < sameErrorMs;
  }

  #remember(key: ObjectKey, upstream: CachedObject, trouble: SyncError): void {
    const text = formatKey(key);
    this.#told.delete(text);
    const atMs = this.#context.clock.monotonic();
    this.#told.set(text, { about: about(upstream, trouble), atMs });
    const [oldest] = this.#told.keys();
    if (this.#told.size > reportedMax && oldest !== undefined) this.#told.delete(oldest);
  }

  /** The trouble is over. */
  async clear(at: ReportedObject): Promise<void> {
    const name = this.#context.nameIn(at.key.cluster);
    const annotation = syncedAnnotation(name);
    if (stringMember(at.upstream.metadata.annotations, annotation) === undefined) return;
    this.#told.delete(formatKey(at.key));
    const message = `${at.synced.resource.kind} ${at.key.name} is in sync with SyncTarget ${name} again`;
    this.#recorder.record(at.key.cluster, referenceTo(at), {
      type: "Normal",
      reason: "Synced",
      message,
    });
    await this.#annotate(at, null);
  }

  async #annotate(told: ReportedObject, value: string | null): Promise<void> {
    const { key, upstream, upstreamObjects, view } = told;
    const { nameIn, onError } = this.#context;
    const { uid } = upstream.metadata;
    const annotations = { [syncedAnnotation(nameIn(key.cluster))]: value };
    try {
      const patch = { metadata: { uid, annotations } };
      const answer = await upstreamObjects.patch(key, { type: "merge", patch });
      view.wroteUpstream(key, answer, "report");
    } catch (error) {
      onError(
        new Error(`${formatKey(key)} could not be told why it is not in sync`, { cause: error }),
      );
    }
  }
}

/** Words that have digits in them (ports, counts, times) do not make another trouble. */
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
