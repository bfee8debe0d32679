/**
 * GarbageCollector: objects whose owners are gone go too, in all logical clusters.
 *
 * One watch for each resource, of the metadata in all clusters, feeds a graph; every change of the graph names objects to look at; workers look at
 * them, clusters taking turns. Only objects with owners and objects that wait for their dependents are remembered; owners are asked for when
 * they are needed.
 */
import {
  type Clock,
  onAbort,
  sleep,
  systemClock,
  TaskGroup,
  untilAborted,
} from "@kcp-ts/machinery/base";
import {
  type Client,
  ExponentialFailureRateLimiter,
  type KubernetesObject,
  type OwnerReference,
  StorelessInformer,
  type StorelessInformerHandler,
  WorkQueue,
} from "@kcp-ts/sdk";
import { YieldTimer } from "../pace/index.ts";
import { examine } from "./examine.ts";
import {
  type CollectedResource,
  type GraphNode,
  graphId,
  graphNode,
  isRelevant,
} from "./graph-node.ts";
import { ownershipClient } from "./metadata-client.ts";
import { OwnerLookup } from "./owner-lookup.ts";
import { OwnershipGraph } from "./ownership-graph.ts";
import type { ResourceSource } from "./resource-source.ts";
import { StringPool } from "./shared-parts.ts";

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
  readonly resource: CollectedResource;
  readonly follower: StorelessInformer<KubernetesObject>;
  readonly stop: AbortController;
  /** Its first state is known, or will not be soon. */
  readonly isRead: Promise<void>;
}

const concurrencyDefault = 20;
/** How long a resource whose first state cannot be read keeps the others waiting, as in kube-controller-manager. */
const firstReadMsMax = 30_000;

export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #clock: Clock;
  readonly #ownership: Client;
  readonly #shared = new StringPool();
  readonly #graph = new OwnershipGraph();
  readonly #queue: WorkQueue<string>;
  readonly #owners: OwnerLookup;
  readonly #watches = new Map<string, Watch>();
  #turn: Promise<void> = Promise.resolve();
  #onWatches: () => void = () => {};

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#ownership = ownershipClient(options.client);
    this.#queue = new WorkQueue({
      name: "garbage_collector",
      keyOf: (id) => id,
      flowOf: (id) => id.slice(0, id.indexOf("|")),
      rateLimiter: new ExponentialFailureRateLimiter({ firstMs: 5, mostMs: 600_000 }),
      clock: this.#clock,
    });
    this.#owners = new OwnerLookup({
      client: options.client,
      graph: this.#graph,
      clock: this.#clock,
      isWatched: (resource) => this.#watches.has(watchId(resource)),
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
    const running = new TaskGroup(signal);
    onAbort(running.signal, () => {
      this.#queue.shutDown();
      for (const { stop } of this.#watches.values()) stop.abort();
    });
    const { resources } = this.#options;
    running.start((stop) => resources.run(stop, (set) => this.#follow(set, running)));
    running.start((stop) => this.#work(hasWatches, stop));
    await running.join();
    await this.#queue.idle();
  }

  /**
   * Nothing is decided before the first state of all resources is known: a graph that is still being read looks like one without
   * dependents. A resource that cannot be read is waited for only so long: those of others are collected without it, as kube-controller-manager does.
   */
  async #work(hasWatches: Promise<void>, signal: AbortSignal): Promise<void> {
    await Promise.race([hasWatches, untilAborted(signal)]);
    await Promise.all([...this.#watches.values()].map(({ isRead }) => isRead));
    if (signal.aborted) return;
    const { concurrency = concurrencyDefault } = this.#options;
    const pace = new YieldTimer(this.#clock);
    const each = fanOut(signal, concurrency);
    await Promise.all(each.map((one) => this.#worker(pace, one)));
  }

  async #worker(pace: YieldTimer, signal: AbortSignal): Promise<void> {
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

  async #examine(id: string, pace: YieldTimer, signal: AbortSignal): Promise<void> {
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

  #follow(set: readonly CollectedResource[], running: TaskGroup): void {
    const wanted = new Map(set.map((one) => [watchId(one), one]));
    for (const [id, watch] of this.#watches) {
      if (wanted.has(id)) continue;
      this.#watches.delete(id);
      this.#drop(watch);
    }
    for (const [id, resource] of wanted) {
      if (!this.#watches.has(id)) this.#watches.set(id, this.#watch(resource, running));
    }
    this.#onWatches();
  }

  #watch(resource: CollectedResource, running: TaskGroup): Watch {
    let onFailure = () => {};
    const hasFailed = new Promise<void>((resolve) => {
      onFailure = resolve;
    });
    const follower = new StorelessInformer<KubernetesObject>({
      client: this.#ownership,
      resource,
      scope: "all-clusters",
      handler: this.#handler(resource),
      onError: (error) => {
        onFailure();
        this.#options.onError(error);
      },
      clock: this.#clock,
    });
    const stop = new AbortController();
    if (running.signal.aborted) stop.abort();
    const isRead = this.#firstRead(follower, hasFailed, stop.signal);
    running.start(() => this.#run(follower, isRead, stop.signal));
    return { resource, follower, stop, isRead };
  }

  /** Resolves when the first state was read; some time after reading it failed; or when it is stopped. */
  async #firstRead(
    follower: StorelessInformer<KubernetesObject>,
    hasFailed: Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const waiting = new AbortController();
    const patience = hasFailed.then(() => sleep(this.#clock, firstReadMsMax, waiting.signal));
    try {
      await Promise.race([follower.synced(signal), patience]);
    } catch {
      // Stopped before it was read: nobody need wait for it.
    } finally {
      patience.catch(() => {
        // It was read in time.
      });
      waiting.abort();
    }
  }

  /** First states are read one after the other: what all of them take at once, the process would keep. */
  async #run(
    follower: StorelessInformer<KubernetesObject>,
    isRead: Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const turn = this.#turn;
    this.#turn = turn.then(() => isRead);
    await turn;
    await follower.run(signal);
  }

  #handler(resource: CollectedResource): StorelessInformerHandler<KubernetesObject> {
    const graph = this.#graph;
    let untold = new Set<string>();
    const remove = (id: string) => this.#wake(graph.remove(id));
    return {
      restarted: () => {
        untold = new Set(graph.idsOf(resource));
      },
      told: (object, { key }) => {
        const id = graphId(key.cluster, object.metadata.uid ?? "");
        if (isRelevant(object)) {
          requireIdentity(object);
          untold.delete(id);
          this.#wake(graph.put(graphNode(key, resource, object, this.#shared)));
        } else if (graph.get(id) !== undefined) remove(id);
      },
      deleted: ({ metadata }, { cluster }) => remove(graphId(cluster, metadata.uid ?? "")),
      caughtUp: () => {
        for (const id of untold) remove(id);
        untold = new Set();
        this.#wake(graph.distrust(resource));
      },
    };
  }

  /** Its resource is no longer served: what was known of its objects is known no longer. */
  #drop({ resource, stop }: Watch): void {
    stop.abort();
    for (const id of this.#graph.idsOf(resource)) this.#wake(this.#graph.remove(id));
    this.#wake(this.#graph.distrust(resource));
  }

  #wake(ids: readonly string[]): void {
    for (const id of ids) this.#queue.add(id);
  }
}

/** Nothing can be written, and nothing can refer, to an object without them. */
function requireIdentity({ metadata }: KubernetesObject): void {
  const { uid = "", resourceVersion = "", namespace = "", name } = metadata;
  if (uid !== "" && resourceVersion !== "") return;
  throw new Error(`object ${namespace}/${name} has no uid or no resourceVersion`);
}

/** Versions of one resource show the same objects. */
function watchId({ group, resource }: Pick<CollectedResource, "group" | "resource">): string {
  return `${resource}.${group}`;
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
