/**
 * GarbageCollector: objects whose owners are gone go too, in all logical clusters.
 *
 * Watches of metadata feed a graph; every change of the graph names objects to look at; workers look at them, clusters taking turns.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type ApiResource,
  type Client,
  clusterOf,
  ExponentialLimiter,
  formatResource,
  Informer,
  type KubernetesObject,
  type OwnerReference,
  WorkQueue,
} from "@kcp-ts/sdk";
import { metadataClient } from "../api/index.ts";
import { Pace } from "../pace/index.ts";
import { examine } from "./examine.ts";
import { type GraphNode, graphNode, isRelevant } from "./graph-node.ts";
import { OwnerLookup } from "./owner-lookup.ts";
import { OwnershipGraph } from "./ownership-graph.ts";
import type { ResourceSource, WatchedResource } from "./resource-source.ts";

export interface GarbageCollectorOptions {
  /** Of the server, not of one cluster of it; may do everything everywhere. */
  readonly client: Client;
  readonly resources: ResourceSource;
  /** Objects looked at at a time. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  /** What failed is tried again. */
  readonly onError: (error: unknown, node?: GraphNode) => void;
  /** An owner reference that leads across namespaces, which owner references cannot. */
  readonly onInvalidNamespace?: (node: GraphNode, reference: OwnerReference) => void;
}

interface Watch {
  readonly watched: WatchedResource;
  readonly informer: Informer<KubernetesObject, GraphNode>;
  readonly stop: AbortController;
}

const concurrencyDefault = 20;

export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #clock: Clock;
  readonly #metadata: Client;
  readonly #graph = new OwnershipGraph();
  readonly #queue: WorkQueue<string>;
  readonly #owners: OwnerLookup;
  readonly #watches = new Map<string, Watch>();
  readonly #running = new Set<Promise<void>>();
  #onWatches: () => void = () => {};

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#metadata = metadataClient(options.client, "kcp-garbage-collector");
    this.#queue = new WorkQueue({
      name: "garbage_collector",
      keyOf: (id) => id,
      flowOf: (id) => id.slice(0, id.indexOf("|")),
      rateLimiter: new ExponentialLimiter({ firstMs: 5, mostMs: 600_000 }),
      clock: this.#clock,
    });
    this.#owners = new OwnerLookup({
      client: options.client,
      graph: this.#graph,
      clock: this.#clock,
      isWatched: (cluster, resource) => this.#isWatched(cluster, resource),
      onInvalidNamespace: (node, reference) => options.onInvalidNamespace?.(node, reference),
    });
  }

  /** Objects remembered: those with owners, and those that wait for their dependents. */
  get size(): number {
    return this.#graph.size;
  }

  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const hasWatches = new Promise<void>((resolve) => {
      this.#onWatches = resolve;
    });
    const source = this.#options.resources.run(signal, (set) => this.#follow(set, signal));
    const workers = this.#work(hasWatches, signal);
    await untilAborted(signal);
    this.#queue.shutDown();
    for (const { stop } of this.#watches.values()) stop.abort();
    await Promise.all([source, workers, this.#queue.idle(), ...this.#running]);
  }

  /**
   * Nothing is decided before the first state of what all clusters have is known: a graph that is still being read looks like one without
   * dependents. One cluster's own resources are not waited for: no cluster may hold up the others.
   */
  async #work(hasWatches: Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await Promise.race([hasWatches, untilAborted(signal)]);
      const everywhere = [...this.#watches.values()].filter(
        ({ watched }) => watched.scope === "all-clusters",
      );
      await Promise.all(everywhere.map(({ informer }) => informer.synced(signal)));
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    const { concurrency = concurrencyDefault } = this.#options;
    const pace = new Pace(this.#clock);
    const each = fanOut(signal, concurrency);
    await Promise.all(each.map((one) => this.#worker(pace, one)));
  }

  async #worker(pace: Pace, signal: AbortSignal): Promise<void> {
    for (;;) {
      const id = await this.#queue.take();
      if (id === undefined) return;
      try {
        await pace.rest(signal);
        await this.#examine(id, pace, signal);
      } catch (error) {
        if (!signal.aborted) this.#options.onError(error, this.#graph.get(id));
        this.#queue.addRateLimited(id);
      } finally {
        this.#queue.done(id);
      }
    }
  }

  async #examine(id: string, pace: Pace, signal: AbortSignal): Promise<void> {
    const node = this.#graph.get(id);
    if (node !== undefined) {
      const { client } = this.#options;
      const context = { client, graph: this.#graph, owners: this.#owners, pace, signal };
      if ((await examine(node, context)) === "retry") {
        this.#queue.addRateLimited(id);
        return;
      }
    }
    this.#queue.forget(id);
  }

  #follow(set: readonly WatchedResource[], signal: AbortSignal): void {
    const wanted = new Map(set.map((one) => [watchId(one), one]));
    for (const [id, watch] of this.#watches) {
      if (wanted.has(id)) continue;
      this.#watches.delete(id);
      this.#drop(watch);
    }
    for (const [id, watched] of wanted) {
      if (!this.#watches.has(id)) this.#watches.set(id, this.#watch(watched, signal));
    }
    if (set.some(({ scope }) => scope === "all-clusters")) this.#onWatches();
  }

  #watch(watched: WatchedResource, signal: AbortSignal): Watch {
    const { resource, scope } = watched;
    const informer = new Informer<KubernetesObject, GraphNode>({
      client: scope === "all-clusters" ? this.#metadata : this.#metadata.inCluster(scope.cluster),
      resource,
      scope,
      keep: isRelevant,
      transform: (object) => {
        const cluster = scope === "all-clusters" ? clusterOf(object) : scope.cluster;
        return graphNode(cluster as ClusterName, resource, object);
      },
      onError: (error) => this.#options.onError(error),
      clock: this.#clock,
    });
    informer.addHandler({
      added: (node) => this.#wake(this.#graph.put(node)),
      updated: (node, { previous }) => {
        if (previous.uid !== node.uid) this.#wake(this.#graph.remove(previous));
        this.#wake(this.#graph.put(node));
      },
      deleted: (node) => this.#wake(this.#graph.remove(node)),
      replaced: () => this.#wake(this.#graph.distrust(resource, scope)),
    });
    const stop = new AbortController();
    if (signal.aborted) stop.abort();
    const running = informer.run(stop.signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return { watched, informer, stop };
  }

  /** Its resource is no longer served: what was known of its objects is known no longer. */
  #drop({ watched: { resource, scope }, informer, stop }: Watch): void {
    stop.abort();
    for (const node of informer.store.list()) this.#wake(this.#graph.remove(node));
    this.#wake(this.#graph.distrust(resource, scope));
  }

  #wake(ids: readonly string[]): void {
    for (const id of ids) this.#queue.add(id);
  }

  #isWatched(cluster: ClusterName, { group, kind }: ApiResource): boolean {
    for (const { watched } of this.#watches.values()) {
      const { resource, scope } = watched;
      const isKind = resource.group === group && resource.kind === kind;
      if (isKind && (scope === "all-clusters" || scope.cluster === cluster)) return true;
    }
    return false;
  }
}

function watchId({ scope, resource }: WatchedResource): string {
  return `${scope === "all-clusters" ? "*" : scope.cluster}|${formatResource(resource)}`;
}

/** A signal for each, and one listener on the common one: hundreds of requests on one signal would be taken for a leak. */
function fanOut(signal: AbortSignal, count: number): AbortSignal[] {
  const controllers = Array.from({ length: count }, () => new AbortController());
  const abort = () => {
    for (const one of controllers) one.abort(signal.reason);
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return controllers.map((one) => one.signal);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
