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
import type { CachedObject } from "./cached-object.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import type { KindView } from "./kind-view.ts";
import { syncedAnnotation } from "./protocol.ts";
import type { Trouble } from "./trouble.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";

export class Reporter {
  readonly #context: SyncContext;
  readonly #recorder: EventRecorder;

  constructor(context: SyncContext) {
    this.#context = context;
    this.#recorder = new EventRecorder({
      component: "kcp-syncer",
      client: context.upstreamIn,
      clock: context.clock,
      onError: context.onError,
    });
  }

  async tell(at: Told, trouble: Trouble): Promise<void> {
    const { key, upstream, synced } = at;
    const name = this.#context.nameIn(key.cluster);
    const message = `${synced.resource.kind} ${key.name} is not in sync with SyncTarget ${name}: ${trouble.message}`;
    const value = JSON.stringify({ status: "False", reason: trouble.reason, message });
    if (stringMember(upstream.metadata.annotations, syncedAnnotation(name)) === value) return;
    this.#recorder.record(key.cluster, referenceTo(at), {
      type: "Warning",
      reason: trouble.reason,
      message,
    });
    await this.#annotate(at, value);
  }

  /** The trouble is over. */
  async clear(at: Told): Promise<void> {
    const name = this.#context.nameIn(at.key.cluster);
    const annotation = syncedAnnotation(name);
    if (stringMember(at.upstream.metadata.annotations, annotation) === undefined) return;
    const message = `${at.synced.resource.kind} ${at.key.name} is in sync with SyncTarget ${name} again`;
    this.#recorder.record(at.key.cluster, referenceTo(at), {
      type: "Normal",
      reason: "Synced",
      message,
    });
    await this.#annotate(at, null);
  }

  async #annotate(told: Told, value: string | null): Promise<void> {
    const { key, upstream, upstreamObjects, view } = told;
    const { nameIn, onError } = this.#context;
    const { uid } = upstream.metadata;
    const annotations = { [syncedAnnotation(nameIn(key.cluster))]: value };
    try {
      const patch = { metadata: { uid, annotations } };
      const answer = await upstreamObjects.patch(key, { type: "merge", patch });
      view.wroteUpstream(key, answer, "other");
    } catch (error) {
      onError(
        new Error(`${formatKey(key)} could not be told why it is not in sync`, { cause: error }),
      );
    }
  }
}

export interface Told {
  readonly key: ObjectKey;
  readonly upstream: CachedObject;
  readonly synced: SyncedResource;
  readonly view: KindView;
  readonly upstreamObjects: UpstreamObjects;
}

function referenceTo({ key, upstream, synced }: Told): KubernetesObject {
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
