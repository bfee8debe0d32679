/**
 * GarbageCollector: deletes objects whose owners are deleted, in all logical clusters.
 *
 * One metadata watch for each resource, over all clusters, feeds a graph; every change of the graph
 * enqueues objects; workers reconcile them, and clusters take turns. Only objects with owners and
 * objects that wait for their dependents are kept; owners are read from the server when they are
 * needed.
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
import { StringPool } from "./string-pool.ts";

export interface GarbageCollectorOptions {
  /** The server's client with all permissions, not that of one cluster. */
  readonly client: Client;
  readonly resources: ResourceSource;
  /** Concurrently reconciled objects. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  /** Called with failures, which are retried. */
  readonly onError: (error: unknown, node?: GraphNode) => void;
  /** Called for an owner reference to another namespace, which owner references cannot have. */
  readonly onInvalidNamespace?: (node: GraphNode, reference: OwnerReference) => void;
}

interface Watch {
  readonly resource: CollectedResource;
  readonly follower: StorelessInformer<KubernetesObject>;
  readonly stop: AbortController;
  /** Resolves when the initial list is known, or is not expected soon. */
  readonly isRead: Promise<void>;
}

const concurrencyDefault = 20;
/**
 * How long a resource whose initial list fails delays the others, as in kube-controller-manager.
 */
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

  /** The number of kept objects: those with owners, and those that wait for their dependents. */
  get size(): number {
    return this.#graph.size;
  }

  /**
   * Runs until the signal aborts, and resolves when the work in flight is finished. Call it once.
   */
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
   * Nothing is decided before the initial lists of all resources are known: an incomplete graph
   * looks like a graph without dependents. A resource that cannot be listed delays the others only
   * for a limited time: their objects are collected without it, as kube-controller-manager does.
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
      const id = await this.#queue.get();
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

  /**
   * Resolves when the initial list was read; some time after it failed; or when the watch is
   * stopped.
   */
  async #firstRead(
    follower: StorelessInformer<KubernetesObject>,
    hasFailed: Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const waiting = new AbortController();
    const gracePeriods = hasFailed.then(() => sleep(this.#clock, firstReadMsMax, waiting.signal));
    try {
      await Promise.race([follower.synced(signal), gracePeriods]);
    } catch {
      // Stopped before the initial list: no caller needs to wait for it.
    } finally {
      gracePeriods.catch(() => {
        // The initial list was read in time.
      });
      waiting.abort();
    }
  }

  /**
   * Initial lists are read one after the other: the process would keep the memory that concurrent
   * lists need.
   */
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
      observed: (object, { key }) => {
        const id = graphId(key.cluster, object.metadata.uid ?? "");
        if (isRelevant(object)) {
          requireIdentity(object);
          untold.delete(id);
          this.#wake(graph.put(graphNode(key, resource, object, this.#shared)));
        } else if (graph.get(id) !== undefined) remove(id);
      },
      deleted: ({ metadata }, { cluster }) => remove(graphId(cluster, metadata.uid ?? "")),
      synced: () => {
        for (const id of untold) remove(id);
        untold = new Set();
        this.#wake(graph.distrust(resource));
      },
    };
  }

  /** The resource is no longer served: its objects are removed from the graph. */
  #drop({ resource, stop }: Watch): void {
    stop.abort();
    for (const id of this.#graph.idsOf(resource)) this.#wake(this.#graph.remove(id));
    this.#wake(this.#graph.distrust(resource));
  }

  #wake(ids: readonly string[]): void {
    for (const id of ids) this.#queue.add(id);
  }
}

/** An object without these fields can be neither written nor referred to. */
function requireIdentity({ metadata }: KubernetesObject): void {
  const { uid = "", resourceVersion = "", namespace = "", name } = metadata;
  if (uid !== "" && resourceVersion !== "") return;
  throw new Error(`object ${namespace}/${name} has no uid or no resourceVersion`);
}

/** Versions of one resource show the same objects. */
function watchId({ group, resource }: Pick<CollectedResource, "group" | "resource">): string {
  return `${resource}.${group}`;
}

/**
 * A signal for each watch, and one listener on the common one: Node reports hundreds of listeners
 * on one signal as a leak.
 */
function fanOut(signal: AbortSignal, count: number): AbortSignal[] {
  const controllers = Array.from({ length: count }, () => new AbortController());
  const abort = () => {
    for (const one of controllers) one.abort(signal.reason);
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return controllers.map((one) => one.signal);
}
