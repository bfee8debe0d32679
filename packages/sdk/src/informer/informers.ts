/** Informers of one client and scope, one for each resource and selector, shared by all callers. */
import { assert, type Clock, type Random, TaskGroup } from "@kcp-ts/machinery/base";
import {
  type Client,
  formatResource,
  type KubernetesObject,
  type Log,
  type Resource,
  type SelectorOptions,
} from "../client/index.ts";
import type { MetricsRegistry } from "../metrics/index.ts";
import { Informer, type InformerOptions, type InformerScope } from "./informer.ts";
import type { Indexers } from "./store.ts";

export interface InformersOptions {
  readonly client: Client;
  readonly scope: InformerScope;
  /** Omitted: errors are logged. */
  readonly onError?: (error: unknown) => void;
  /** The same for callers that need the resource of the watch. */
  readonly onFailure?: (error: unknown, resource: Resource, log: () => void) => void;
  /** Lines on stderr if omitted. */
  readonly log?: Log;
  readonly watchList?: boolean;
  readonly metrics?: MetricsRegistry;
  readonly clock?: Clock;
  readonly random?: Random;
  /** The defaults of every informer. */
  readonly liveObjectsMax?: number;
}

export interface SharedInformerOptions<Object, Cached> {
  readonly selector?: SelectorOptions;
  readonly transform?: (object: Object) => Cached;
  /** As for an informer; the first caller decides. */
  readonly filter?: (object: Object) => boolean;
  readonly indexers?: Indexers<Cached>;
  /** As for an informer; the first caller decides. */
  readonly liveObjectsMax?: number;
}

interface Shared {
  readonly informer: Informer<KubernetesObject, unknown>;
  readonly transform: unknown;
}

export class Informers {
  readonly #options: InformersOptions;
  readonly #shared = new Map<string, Shared>();
  #running: TaskGroup | undefined;

  constructor(options: InformersOptions) {
    this.#options = options;
  }

  /**
   * The shared informer. The first caller decides on the transform; requesting the same informer
   * with another transform is a bug, because one of the two callers would get objects that it does
   * not expect.
   */
  get<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    options: SharedInformerOptions<Object, Cached> = {},
  ): Informer<Object, Cached> {
    const { namespace = "", labelSelector = "", fieldSelector = "" } = options.selector ?? {};
    const id = [formatResource(resource), namespace, labelSelector, fieldSelector].join("|");
    let shared = this.#shared.get(id);
    if (shared === undefined) {
      const { onFailure } = this.#options;
      const failed = (error: unknown, log: () => void) => onFailure?.(error, resource, log);
      const onError = this.#options.onError ?? (onFailure && failed);
      const informer = new Informer<Object, Cached>({
        ...this.#options,
        onError,
        resource,
        selector: options.selector,
        transform: options.transform,
        filter: options.filter,
        liveObjectsMax: options.liveObjectsMax ?? this.#options.liveObjectsMax,
      } satisfies InformerOptions<Object, Cached>);
      shared = {
        informer: informer as unknown as Informer<KubernetesObject, unknown>,
        transform: options.transform,
      };
      this.#shared.set(id, shared);
      this.#run(shared);
    }
    assert(shared.transform === options.transform, `${id} is shared with another transform`);
    const informer = shared.informer as unknown as Informer<Object, Cached>;
    if (options.indexers !== undefined) informer.addIndexers(options.indexers);
    return informer;
  }

  /** Runs all informers, including informers that are requested later, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    assert(this.#running === undefined, "these informers run already");
    const running = new TaskGroup(signal);
    this.#running = running;
    for (const shared of this.#shared.values()) this.#run(shared);
    await running.join();
  }

  get hasSynced(): boolean {
    for (const { informer } of this.#shared.values()) {
      if (!informer.hasSynced) return false;
    }
    return true;
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#shared.values()].map(({ informer }) => informer.synced(signal)));
  }

  async refreshed(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#shared.values()].map(({ informer }) => informer.refreshed(signal)));
  }

  #run({ informer }: Shared): void {
    this.#running?.start((stop) => informer.run(stop));
  }
}
