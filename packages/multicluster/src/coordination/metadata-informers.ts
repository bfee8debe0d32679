/**
 * The metadata watches of all logical clusters that the controllers of one process share: a kind is
 * watched, parsed and kept once, however many controllers follow it.
 */
import { assert, type Clock, onAbort, TaskGroup } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  formatResource,
  type KubernetesObject,
  logicalClusters,
  type Resource,
  type SharedInformerOptions,
} from "@kcp-ts/sdk";

type OnError = (error: unknown) => void;

/** What one controller sees of the shared watches. */
export interface MetadataView extends Clusters {
  /**
   * Resolves when every kind that was requested until then is listed, or is found not to be served:
   * such a kind has no objects.
   */
  listed(): Promise<void>;
}

interface WatchedKind {
  readonly id: string;
  readonly resource: Resource<KubernetesObject>;
  readonly transform: unknown;
  readonly clusters: Clusters;
  readonly listeners: Set<OnError>;
  /** The last error of a list that has not succeeded yet. */
  lastError: unknown;
  /** Resolves when the server says that it does not serve the kind. */
  readonly unserved: Promise<void>;
}

export interface MetadataInformersOptions {
  /** Its requests ask for metadata. */
  readonly client: Client;
  readonly clock: Clock;
}

export class MetadataInformers {
  readonly #options: MetadataInformersOptions;
  readonly #kinds: WatchedKind[] = [];
  #running: TaskGroup | undefined;

  constructor(options: MetadataInformersOptions) {
    this.#options = options;
  }

  /**
   * What one controller sees: it is ready when the kinds that it follows are, and hears of the
   * errors of these kinds. Its `client` is the caller's.
   */
  view(client: Client, onError: OnError): MetadataView {
    const followed = new Set<WatchedKind>();
    const waits = () => [...followed].flatMap(({ clusters }) => clusters.ready(rootCluster) ?? []);
    return {
      client: (cluster) => client.inCluster(cluster),
      source: (resource, shared) => {
        const kind = this.#kindOf(resource, shared);
        followed.add(kind);
        if (!kind.listeners.has(onError)) {
          kind.listeners.add(onError);
          if (kind.lastError !== undefined && !kind.clusters.hasSynced) onError(kind.lastError);
        }
        return kind.clusters.source(resource, shared);
      },
      get hasSynced() {
        return [...followed].every(({ clusters }) => clusters.hasSynced);
      },
      ready: () => (waits().length === 0 ? undefined : Promise.all(waits()).then(() => {})),
      listed: async () => {
        await Promise.all([...followed].map((kind) => this.#listed(kind)));
      },
      run: (signal) => new Promise((resolve) => void onAbort(signal, resolve)),
    };
  }

  /** Runs all watches, including those that are requested later, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    assert(this.#running === undefined, "these informers run already");
    this.#running = new TaskGroup(signal);
    for (const kind of this.#kinds) this.#start(kind);
    await this.#running.join();
  }

  /**
   * The error that a kind is not served is old news when it is read: the kind may be served since,
   * and its list on the way. What the server says now decides.
   */
  async #listed({ clusters, unserved, resource }: WatchedKind): Promise<void> {
    const ready = clusters.ready(rootCluster);
    if (ready === undefined) return;
    const isReady = await Promise.race([ready.then(() => true), unserved.then(() => false)]);
    if (isReady) return;
    try {
      await this.#options.client.inCluster("*").resource(resource).list({ limit: 1 });
    } catch (error) {
      if (isStatusError(error, "NotFound")) return;
    }
    await ready;
  }

  #kindOf<Object extends KubernetesObject, Cached>(
    resource: Resource<Object>,
    { selector = {}, transform }: SharedInformerOptions<Object, Cached> = {},
  ): WatchedKind {
    const { namespace = "", labelSelector = "", fieldSelector = "" } = selector;
    const id = [formatResource(resource), namespace, labelSelector, fieldSelector].join("|");
    const known = this.#kinds.find((one) => one.id === id && one.transform === transform);
    if (known !== undefined) return known;
    const listeners = new Set<OnError>();
    let onUnserved = () => {};
    const kind: WatchedKind = {
      id,
      resource: resource as Resource<KubernetesObject>,
      transform,
      listeners,
      lastError: undefined,
      unserved: new Promise((resolve) => {
        onUnserved = resolve;
      }),
      clusters: logicalClusters({
        ...this.#options,
        onError: (error) => {
          kind.lastError = error;
          if (isStatusError(error, "NotFound")) onUnserved();
          for (const listener of listeners) listener(error);
        },
      }),
    };
    this.#kinds.push(kind);
    this.#start(kind);
    return kind;
  }

  #start({ clusters }: WatchedKind): void {
    this.#running?.start((stop) => clusters.run(stop));
  }
}
