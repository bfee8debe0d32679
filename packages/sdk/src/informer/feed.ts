/**
 * Feed: fetches and follows one resource, keeps the store in step, and tells the handlers.
 *
 * It knows how, the informer's machine knows when. Each method either brings the store to a state that the server had, or throws and leaves it
 * at one.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  type Client,
  initialEventsEndAnnotation,
  isTransportError,
  type KubernetesObject,
  pause,
  type Resource,
  type ResourceClient,
  type SelectorOptions,
  stringMember,
  type WatchEvent,
  type WatchOptions,
} from "../client/index.ts";
import { isInitialEventsRefusal, NoInitialEvents } from "./failure.ts";
import type { Handlers } from "./handlers.ts";
import type { InformerScope } from "./informer.ts";
import type { InformerEvent } from "./informer-machine.ts";
import { Interner } from "./interner.ts";
import { clusterOf, formatKey, keyInCluster, type ObjectKey, parseKey } from "./object-key.ts";
import { ReadLimit } from "./read-limit.ts";
import type { IndexedStore } from "./store.ts";

export interface FeedOptions<Object extends KubernetesObject, Cached> {
  readonly client: Client;
  readonly resource: Resource<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  readonly transform?: ((object: Object) => Cached) | undefined;
  readonly keep?: ((object: Object) => boolean) | undefined;
  readonly pageSize?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: IndexedStore<Cached>;
  readonly handlers: Handlers<Cached>;
  readonly report: (error: unknown) => void;
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly tell: (event: InformerEvent) => void;
}

const pageSizeDefault = 500;
/** How long a server may take to accept a watch. */
const openTimeoutMs = 30_000;
/** How long the initial events may pause before the server is taken for one that does not know how to end them. */
const initialEventsPauseMs = 60_000;
/** The server is asked to end a watch after five to ten minutes; one that is still open a little later is dead. */
const watchSecondsMin = 300;
const watchGraceMs = 30_000;
/** Handlers hear of a big state in slices, so that nothing else has to wait for all of it. */
const sliceObjects = 1000;

export class Feed<Object extends KubernetesObject, Cached> {
  readonly #options: FeedOptions<Object, Cached>;
  readonly #resource: ResourceClient<Object>;
  readonly #interner = new Interner();
  #hasState = false;

  constructor(options: FeedOptions<Object, Cached>) {
    this.#options = options;
    this.#resource = options.client.resource(options.resource);
  }

  /** Fetches the whole state and returns its version. */
  async list({ signal, paged }: { signal: AbortSignal; paged: boolean }): Promise<string> {
    const { selector, pageSize = pageSizeDefault } = this.#options;
    const next = new Map<string, Cached>();
    let resourceVersion = "";
    const options = { ...selector, signal, retriesMax: 0 };
    const pages = paged ? this.#resource.pages({ ...options, pageSize }) : this.#whole(options);
    for await (const page of pages) {
      for (const item of page.items) this.#collect(next, item);
      resourceVersion = page.metadata.resourceVersion ?? "";
    }
    await this.#replace(next, signal);
    return resourceVersion;
  }

  /** Fetches the state by a watch that begins with it, tells `synced`, and follows the changes on the same stream. */
  async stream({ signal, tell }: FollowOptions): Promise<void> {
    const next = new Map<string, Cached>();
    let isInitial = true;
    let isOpen = false;
    const onOpen = () => {
      isOpen = true;
    };
    const take = async (batch: WatchEvent<Object>[]) => {
      let done = 0;
      for (; isInitial && done < batch.length; done++) {
        const event = batch[done] as WatchEvent<Object>;
        if (!isInitialEventsEnd(event)) {
          this.#collectEvent(next, event);
          continue;
        }
        await this.#replace(next, signal);
        isInitial = false;
        tell({ type: "synced", resourceVersion: event.object.metadata.resourceVersion ?? "" });
      }
      if (!isInitial) this.#applyAll(done === 0 ? batch : batch.slice(done), tell);
    };
    try {
      const pauseMs = () => (isInitial ? initialEventsPauseMs : undefined);
      await this.#read({ signal, sendInitialEvents: true, onOpen }, { take, pauseMs });
    } catch (error) {
      const isEndless = isOpen && isTransportError(error, "timeout");
      if (isInitial && (isEndless || isInitialEventsRefusal(error))) {
        throw new NoInitialEvents("the server does not send initial events", { cause: error });
      }
      throw error;
    }
  }

  /** Follows the changes behind a version until the stream ends. */
  async watch(options: FollowOptions & { readonly resourceVersion: string }): Promise<void> {
    const { signal, tell, resourceVersion } = options;
    const take = (batch: WatchEvent<Object>[]) => this.#applyAll(batch, tell);
    await this.#read({ signal, resourceVersion }, { take, pauseMs: () => undefined });
  }

  async *#whole(options: { signal: AbortSignal; retriesMax: number }) {
    yield await this.#resource.list(options);
  }

  /**
   * Reads a watch under three limits of time, since a connection may die without a word: on its opening, on its whole life, and on pauses
   * as long as `pauseMs` says so.
   */
  async #read(
    options: WatchOptions & { readonly signal: AbortSignal },
    reader: {
      readonly take: (batch: WatchEvent<Object>[]) => void | Promise<void>;
      readonly pauseMs: () => number | undefined;
    },
  ): Promise<void> {
    const { clock, random, selector } = this.#options;
    const timeoutSeconds = Math.floor(watchSecondsMin * (1 + random.next()));
    const limit = new ReadLimit(clock, options.signal);
    limit.set(openTimeoutMs, "the server has not answered a watch");
    const untilEnd = timeoutSeconds * 1000 + watchGraceMs;
    const diesAtMs = clock.monotonic() + untilEnd;
    const setLimit = () => {
      const pauseMs = reader.pauseMs();
      if (pauseMs !== undefined) limit.set(pauseMs, "the initial events have not ended");
      else limit.set(diesAtMs - clock.monotonic(), "the server has not ended a watch");
    };
    try {
      const batches = this.#resource.watchBatches({
        ...selector,
        ...options,
        signal: limit.signal,
        retriesMax: 0,
        allowWatchBookmarks: true,
        timeoutSeconds,
        onOpen: () => {
          setLimit();
          options.onOpen?.();
        },
      });
      for await (const batch of batches) {
        const wasPausing = reader.pauseMs() !== undefined;
        await reader.take(batch);
        if (wasPausing) setLimit();
      }
      limit.throwIfExceeded();
    } finally {
      limit.cancel();
    }
  }

  #applyAll(batch: readonly WatchEvent<Object>[], tell: FollowOptions["tell"]): void {
    let resourceVersion: string | undefined;
    for (const event of batch) {
      if (event.type !== "BOOKMARK") this.#apply(event.type, event.object);
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
    }
    if (resourceVersion !== undefined) tell({ type: "progress", resourceVersion });
  }

  #apply(type: "ADDED" | "MODIFIED" | "DELETED", object: Object): void {
    const { store, handlers } = this.#options;
    const key = this.#keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    if (type === "DELETED" || !this.#keeps(object)) {
      const wasKnown = store.remove(text) !== undefined;
      // What is not kept is still missed when it goes.
      if (!wasKnown && (type !== "DELETED" || this.#options.keep === undefined)) return;
      const last = this.#transform(object);
      handlers.tellAll((one) => one.deleted?.(last, { key, finalStateUnknown: false }));
      return;
    }
    if (isSameVersion(store.peek(text), object)) return;
    const cached = this.#transform(object);
    const previous = store.put(text, cached);
    if (previous === undefined) {
      handlers.tellAll((one) => one.added?.(cached, { key, initial: false }));
    } else {
      handlers.tellAll((one) => one.updated?.(cached, { key, previous }));
    }
  }

  #collectEvent(next: Map<string, Cached>, event: WatchEvent<Object>): void {
    if (event.type === "BOOKMARK") return;
    if (event.type === "DELETED") {
      const key = this.#keyOf(event.object);
      if (key !== undefined) next.delete(formatKey(key));
    } else {
      this.#collect(next, event.object);
    }
  }

  /** An object that has not changed since stays the same object: a new sync costs no second copy of what is known. */
  #collect(next: Map<string, Cached>, object: Object): void {
    const key = this.#keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    if (!this.#keeps(object)) {
      next.delete(text);
      return;
    }
    const known = this.#options.store.peek(text);
    const isKnown = known !== undefined && isSameVersion(known, object);
    next.set(text, isKnown ? known : this.#transform(object));
  }

  async #replace(next: Map<string, Cached>, signal: AbortSignal): Promise<void> {
    const { store, handlers, clock } = this.#options;
    const audience = handlers.snapshot();
    const initial = !this.#hasState;
    const previous = store.replace(next);
    this.#hasState = true;
    let told = 0;
    const breathe = async () => {
      if (++told % sliceObjects === 0) await pause(clock, 0, signal);
    };
    for (const [text, object] of next) {
      const before = previous.get(text);
      if (before === object) continue;
      const key = parseKey(text);
      if (before === undefined) {
        handlers.tell(audience, (one) => one.added?.(object, { key, initial }));
      } else {
        handlers.tell(audience, (one) => one.updated?.(object, { key, previous: before }));
      }
      await breathe();
    }
    for (const [text, object] of previous) {
      if (next.has(text)) continue;
      const key = parseKey(text);
      handlers.tell(audience, (one) => one.deleted?.(object, { key, finalStateUnknown: true }));
      await breathe();
    }
    handlers.tell(audience, (one) => one.replaced?.());
  }

  #keeps(object: Object): boolean {
    const { keep } = this.#options;
    return keep === undefined || keep(object);
  }

  /** An object whose cluster nobody knows belongs to no key: it is reported and left out, never put under a wrong one. */
  #keyOf(object: Object): ObjectKey | undefined {
    const { scope, report } = this.#options;
    const cluster = scope === "all-clusters" ? clusterOf(object) : scope.cluster;
    if (cluster !== undefined) return keyInCluster(cluster, object);
    report(new Error(`object ${object.metadata.namespace}/${object.metadata.name} has no cluster`));
    return undefined;
  }

  #transform(object: Object): Cached {
    const { transform } = this.#options;
    const { managedFields } = object.metadata;
    this.#interner.share(object);
    const cached = transform === undefined ? (object as unknown as Cached) : transform(object);
    const kept = (cached as Partial<KubernetesObject> | undefined)?.metadata?.managedFields;
    if (managedFields !== undefined && kept === managedFields) {
      this.#interner.shareManagedFields(managedFields);
    }
    return cached;
  }
}

function isInitialEventsEnd(event: WatchEvent): boolean {
  return (
    event.type === "BOOKMARK" &&
    stringMember(event.object.metadata.annotations, initialEventsEndAnnotation) === "true"
  );
}

/** A transform may have dropped the version; then nothing is the same as anything. */
function isSameVersion(cached: unknown, { metadata }: KubernetesObject): boolean {
  const known = (cached as Partial<KubernetesObject> | undefined)?.metadata;
  return (
    known?.resourceVersion !== undefined &&
    known.resourceVersion === metadata.resourceVersion &&
    known.uid === metadata.uid
  );
}
