/**
 * StorelessInformer: an informer without a store. It delivers the complete state to its handler and
 * then every change, and keeps nothing.
 *
 * For controllers that read all objects and keep almost nothing of them. It resumes by
 * resourceVersion as an informer does. When changes may have been missed it delivers the complete
 * state again, and cannot deliver the deletions in between, since it does not know which objects
 * existed:
 *
 * - A handler must be level-triggered: receiving an object twice, or only its newest state, must
 *   lead to the same result.
 * - A handler with a memory marks its entries at `restarted`, and at `caughtUp` sweeps the entries
 *   that were not delivered again.
 * - A handler that must act on *absence* (create a missing object) asks the server: no event here
 *   proves that an object does not exist.
 *
 * A controller that reads other objects in a reconcile needs an Informer.
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
import { identify, type ObjectKey, unidentifiedObjectError } from "./object-key.ts";
import {
  type InformerHealth,
  type ListerWatcher,
  type ListStateOptions,
  Reflector,
  type WatchStreamOptions,
} from "./reflector.ts";
import { WatchReader } from "./watch-reader.ts";

export interface StorelessInformerOptions<Object extends KubernetesObject> {
  readonly client: Client;
  readonly resource: Resource<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  readonly handler: StorelessInformerHandler<Object>;
  /**
   * `skip`: only changes are delivered. At the start and after a gap the handler receives
   * `restarted` and `caughtUp` without objects between them, and reads the state by itself.
   */
  readonly state?: "tell" | "skip" | undefined;
  /** Off: the state is fetched in pages even where the server could stream it. */
  readonly watchList?: boolean | undefined;
  readonly pageSize?: number | undefined;
  /** Counts under the metric names of client-go's reflectors. */
  readonly metrics?: MetricsRegistry | undefined;
  /** Called with errors of requests and of the handler, for a log. The informer continues. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/**
 * `state`: the object as it is now, at the start or after a gap; `added` and `modified`: the object
 * as it has just become.
 */
export interface ObservedObject {
  readonly key: ObjectKey;
  readonly origin: "state" | "added" | "modified";
}

export interface StorelessInformerHandler<Object> {
  /**
   * The complete state is delivered from here on; an earlier delivery that was not finished is
   * void.
   */
  restarted?(): void;
  observed?(object: Object, how: ObservedObject): void;
  /** Called also for objects that no longer match the selector. */
  deleted?(object: Object, key: ObjectKey): void;
  /** The complete state has been delivered. */
  synced?(): void;
}

export class StorelessInformer<Object extends KubernetesObject> {
  readonly #reflector: Reflector;

  constructor(options: StorelessInformerOptions<Object>) {
    const clock = options.clock ?? options.client.clock;
    const random = options.random ?? options.client.random;
    const report = (error: unknown) => options.onError?.(error);
    const { scope, watchList, state } = options;
    const client = scope === "all-clusters" ? options.client.inCluster("*") : options.client;
    const metrics = reflectorMetrics(options.metrics, options.resource);
    const onUnreadable = unreadableCounter(metrics, report);
    const listerWatcher = new ForwardingListerWatcher<Object>({
      ...options,
      client,
      clock,
      random,
      report,
      onUnreadable,
    });
    const method = watchList === false || state === "skip" ? "pages" : "stream";
    const { connectivity } = options.client;
    const common = { connectivity, clock, random, report, metrics };
    this.#reflector = new Reflector({ listerWatcher, method, ...common });
  }

  get hasSynced(): boolean {
    return this.#reflector.hasSynced;
  }

  get health(): InformerHealth {
    return this.#reflector.health;
  }

  /** Resolves when the handler has received a complete state for the first time. */
  synced(signal?: AbortSignal): Promise<void> {
    return this.#reflector.synced(signal);
  }

  /** Runs until the signal aborts, and resolves then; no failure ends it. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }
}

interface ForwardingListerWatcherOptions<Object extends KubernetesObject>
  extends StorelessInformerOptions<Object> {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (error: unknown) => void;
  readonly onUnreadable: (error: unknown) => void;
}

/** Small, because a page is all that is held in memory. */
const pageSizeDefault = 250;
/** The informer yields to the event loop after this number of objects. */
const sliceObjects = 1000;

class ForwardingListerWatcher<Object extends KubernetesObject> implements ListerWatcher {
  readonly #options: ForwardingListerWatcherOptions<Object>;
  readonly #resource: ResourceClient<Object>;
  readonly #reader: WatchReader<Object>;
  #sinceYield = 0;
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
        : await this.#forwardPages(signal, paged);
    this.#guarded(() => this.#options.handler.synced?.());
    return resourceVersion;
  }

  async stream({ signal, dispatch, onOpened }: WatchStreamOptions): Promise<void> {
    const { handler } = this.#options;
    this.#guarded(() => handler.restarted?.());
    await this.#reader.stream({
      signal,
      state: async (events) => {
        for (const { type, object } of events) {
          if (type === "DELETED") this.#notifyDeleted(object);
          else this.#notifyObserved(object, "state");
        }
        await this.#yieldIfDue(events.length, signal);
      },
      synced: (resourceVersion) => {
        this.#guarded(() => handler.synced?.());
        dispatch({ type: "synced", resourceVersion });
        onOpened();
      },
      changes: (events) => this.#forwardChanges(events, dispatch),
    });
  }

  async watch(options: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void> {
    const { signal, dispatch, resourceVersion, onOpened } = options;
    const changes = (events: readonly WatchEvent<Object>[]) =>
      this.#forwardChanges(events, dispatch);
    await this.#reader.watch({ signal, resourceVersion, changes, onOpen: onOpened });
  }

  /**
   * Fetches the current version by the cheapest request: with a selector the server might have to
   * search for a first match.
   */
  async #present(signal: AbortSignal): Promise<string> {
    const { namespace } = this.#options.selector ?? {};
    const page = await this.#resource.list({ namespace, limit: 1, signal, retriesMax: 0 });
    return page.metadata.resourceVersion ?? "";
  }

  async #forwardPages(signal: AbortSignal, paged: boolean): Promise<string> {
    const { selector, onUnreadable, pageSize = pageSizeDefault } = this.#options;
    const options = { ...selector, signal, retriesMax: 0, onUnreadable };
    const pages = paged
      ? this.#resource.lazyPages({ ...options, pageSize })
      : [await this.#resource.lazyList(options)];
    let resourceVersion = "";
    for await (const { items, metadata } of pages) {
      let told = 0;
      for (const item of items) {
        this.#notifyObserved(item, "state");
        told++;
      }
      resourceVersion = metadata.resourceVersion ?? "";
      await this.#yieldIfDue(told, signal);
    }
    return resourceVersion;
  }

  #forwardChanges(
    events: readonly WatchEvent<Object>[],
    tell: WatchStreamOptions["dispatch"],
  ): void {
    let resourceVersion: string | undefined;
    for (const event of events) {
      if (event.type === "DELETED") this.#notifyDeleted(event.object);
      else if (event.type === "ADDED") this.#notifyObserved(event.object, "added");
      else if (event.type === "MODIFIED") this.#notifyObserved(event.object, "modified");
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
    }
    if (resourceVersion !== undefined) tell({ type: "progress", resourceVersion });
  }

  takeCount(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  #notifyObserved(object: Object, origin: ObservedObject["origin"]): void {
    this.#count++;
    const key = this.#keyOf(object);
    if (key !== undefined)
      this.#guarded(() => this.#options.handler.observed?.(object, { key, origin }));
  }

  #notifyDeleted(object: Object): void {
    this.#count++;
    const key = this.#keyOf(object);
    if (key !== undefined) this.#guarded(() => this.#options.handler.deleted?.(object, key));
  }

  /** A handler that throws is reported and misses that one event. */
  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.report(error);
    }
  }

  async #yieldIfDue(objects: number, signal: AbortSignal): Promise<void> {
    this.#sinceYield += objects;
    if (this.#sinceYield < sliceObjects) return;
    this.#sinceYield = 0;
    await pause(this.#options.clock, 0, signal);
  }

  /**
   * An object without a name, or whose cluster is unknown, has no key: it is reported and left out,
   * never delivered under a wrong key.
   */
  #keyOf(object: Object): ObjectKey | undefined {
    const { scope, onUnreadable } = this.#options;
    const key = identify(object, scope);
    if (key === undefined) onUnreadable(unidentifiedObjectError(object));
    return key;
  }
}
