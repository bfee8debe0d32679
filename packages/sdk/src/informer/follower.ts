/**
 * Follower: an informer without a store. It tells its handler the whole state and then every change, and keeps nothing.
 *
 * For loops that must look at everything and remember next to nothing. It resumes by resourceVersion as an informer does. When changes may
 * have been missed it tells the whole state anew, and it cannot say what has gone meanwhile, since it does not know what there was:
 *
 * - A handler must be level-triggered: hearing of an object twice, or of its newest state only, must lead to the same end.
 * - One that remembers something marks at `restarted` and sweeps at `caughtUp` what it was not told again.
 * - One that must act on *absence* (make what is missing) asks the server for it: nothing here is ever proof that an object is not there.
 *
 * Whoever reads objects of others in a reconcile needs an Informer.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  type Client,
  type KubernetesObject,
  pause,
  type Resource,
  type ResourceClient,
  type SelectorOptions,
  type WatchEvent,
} from "../client/index.ts";
import { type MetricsRegistry, reflectorMetrics, unreadableCounter } from "../metrics/index.ts";
import type { InformerScope } from "./informer.ts";
import {
  type InformerHealth,
  type ListerWatcher,
  type ListStateOptions,
  Reflector,
  type WatchStreamOptions,
} from "./informer-loop.ts";
import { identify, type ObjectKey, unidentifiedObjectError } from "./object-key.ts";
import { WatchReader } from "./watch-reader.ts";

export interface StorelessInformerOptions<Object extends KubernetesObject> {
  readonly client: Client;
  readonly resource: Resource<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  readonly handler: StorelessInformerHandler<Object>;
  /**
   * `skip`: only changes are told. At the start and after a gap the handler hears `restarted` and `caughtUp` with nothing between them,
   * and looks at the state in its own way.
   */
  readonly state?: "tell" | "skip" | undefined;
  /** Off: the state is fetched by pages even where the server could stream it. */
  readonly watchList?: boolean | undefined;
  readonly pageSize?: number | undefined;
  /** Counts under the names of client-go's reflectors. */
  readonly metrics?: MetricsRegistry | undefined;
  /** Errors of the way to the server and of the handler, for a log. The follower goes on. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** `state`: as it is now, at the start or after a gap; `added` and `modified`: as it has just become. */
export interface ObservedObject {
  readonly key: ObjectKey;
  readonly as: "state" | "added" | "modified";
}

export interface StorelessInformerHandler<Object> {
  /** The whole state is told from here on; what was told of an earlier state and not finished is void. */
  restarted?(): void;
  told?(object: Object, how: ObservedObject): void;
  /** Also what leaves a selector is told as deleted. */
  deleted?(object: Object, key: ObjectKey): void;
  /** The whole state has been told. */
  caughtUp?(): void;
}

export class StorelessInformer<Object extends KubernetesObject> {
  readonly #loop: Reflector;

  constructor(options: StorelessInformerOptions<Object>) {
    const clock = options.clock ?? options.client.clock;
    const random = options.random ?? options.client.random;
    const report = (error: unknown) => options.onError?.(error);
    const { scope, watchList, state } = options;
    const client = scope === "all-clusters" ? options.client.inCluster("*") : options.client;
    const metrics = reflectorMetrics(options.metrics, options.resource);
    const onUnreadable = unreadableCounter(metrics, report);
    const feed = new ForwardingListerWatcher<Object>({
      ...{ ...options, client, clock, random },
      ...{ report, onUnreadable },
    });
    const method = watchList === false || state === "skip" ? "pages" : "stream";
    this.#loop = new Reflector({ feed, method, clock, random, report, metrics });
  }

  get hasSynced(): boolean {
    return this.#loop.hasSynced;
  }

  get health(): InformerHealth {
    return this.#loop.health;
  }

  /** Resolves when the handler has heard a whole state for the first time. */
  synced(signal?: AbortSignal): Promise<void> {
    return this.#loop.synced(signal);
  }

  /** Works until the signal aborts, whatever happens, and resolves then. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }
}

interface ForwardingListerWatcherOptions<Object extends KubernetesObject>
  extends StorelessInformerOptions<Object> {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (error: unknown) => void;
  readonly onUnreadable: (error: unknown) => void;
}

/** Small, because a page is all that is ever held. */
const pageSizeDefault = 250;
/** Others run between so many objects. */
const sliceObjects = 1000;

class ForwardingListerWatcher<Object extends KubernetesObject> implements ListerWatcher {
  readonly #options: ForwardingListerWatcherOptions<Object>;
  readonly #resource: ResourceClient<Object>;
  readonly #reader: WatchReader<Object>;
  #sinceBreath = 0;
  #count = 0;

  constructor(options: ForwardingListerWatcherOptions<Object>) {
    this.#options = options;
    this.#resource = options.client.resource(options.resource);
    this.#reader = new WatchReader({ ...options, resource: this.#resource });
  }

  async list({ signal, paged }: ListStateOptions): Promise<string> {
    this.#guarded(() => this.#options.handler.restarted?.());
    const resourceVersion =
      this.#options.state === "skip"
        ? await this.#present(signal)
        : await this.#tellPages(signal, paged);
    this.#guarded(() => this.#options.handler.caughtUp?.());
    return resourceVersion;
  }

  async stream({ signal, tell, opened }: WatchStreamOptions): Promise<void> {
    const { handler } = this.#options;
    this.#guarded(() => handler.restarted?.());
    await this.#reader.stream({
      signal,
      state: async (events) => {
        for (const { type, object } of events) {
          if (type === "DELETED") this.#deleted(object);
          else this.#told(object, "state");
        }
        await this.#breathe(events.length, signal);
      },
      synced: (resourceVersion) => {
        this.#guarded(() => handler.caughtUp?.());
        tell({ type: "synced", resourceVersion });
        opened();
      },
      changes: (events) => this.#tellChanges(events, tell),
    });
  }

  async watch(options: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void> {
    const { signal, tell, resourceVersion, opened } = options;
    const changes = (events: readonly WatchEvent<Object>[]) => this.#tellChanges(events, tell);
    await this.#reader.watch({ signal, resourceVersion, changes, onOpen: opened });
  }

  /** The version of now, by the cheapest of questions: a selector could make the server search for a first match. */
  async #present(signal: AbortSignal): Promise<string> {
    const { namespace } = this.#options.selector ?? {};
    const page = await this.#resource.list({ namespace, limit: 1, signal, retriesMax: 0 });
    return page.metadata.resourceVersion ?? "";
  }

  async #tellPages(signal: AbortSignal, paged: boolean): Promise<string> {
    const { selector, onUnreadable, pageSize = pageSizeDefault } = this.#options;
    const options = { ...selector, signal, retriesMax: 0, onUnreadable };
    const pages = paged
      ? this.#resource.lazyPages({ ...options, pageSize })
      : [await this.#resource.lazyList(options)];
    let resourceVersion = "";
    for await (const { items, metadata } of pages) {
      let told = 0;
      for (const item of items) {
        this.#told(item, "state");
        told++;
      }
      resourceVersion = metadata.resourceVersion ?? "";
      await this.#breathe(told, signal);
    }
    return resourceVersion;
  }

  #tellChanges(events: readonly WatchEvent<Object>[], tell: WatchStreamOptions["tell"]): void {
    let resourceVersion: string | undefined;
    for (const event of events) {
      if (event.type === "DELETED") this.#deleted(event.object);
      else if (event.type === "ADDED") this.#told(event.object, "added");
      else if (event.type === "MODIFIED") this.#told(event.object, "modified");
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
    }
    if (resourceVersion !== undefined) tell({ type: "progress", resourceVersion });
  }

  takeCount(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  #told(object: Object, as: ObservedObject["as"]): void {
    this.#count++;
    const key = this.#keyOf(object);
    if (key !== undefined) this.#guarded(() => this.#options.handler.told?.(object, { key, as }));
  }

  #deleted(object: Object): void {
    this.#count++;
    const key = this.#keyOf(object);
    if (key !== undefined) this.#guarded(() => this.#options.handler.deleted?.(object, key));
  }

  /** A handler that throws is reported and misses that one thing. */
  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.report(error);
    }
  }

  async #breathe(objects: number, signal: AbortSignal): Promise<void> {
    this.#sinceBreath += objects;
    if (this.#sinceBreath < sliceObjects) return;
    this.#sinceBreath = 0;
    await pause(this.#options.clock, 0, signal);
  }

  /** An object without a name, or whose cluster nobody knows, belongs to no key: it is reported and left out, never put under a wrong one. */
  #keyOf(object: Object): ObjectKey | undefined {
    const { scope, onUnreadable } = this.#options;
    const key = identify(object, scope);
    if (key === undefined) onUnreadable(unidentifiedObjectError(object));
    return key;
  }
}
