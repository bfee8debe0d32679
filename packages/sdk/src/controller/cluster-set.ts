/**
 * ClusterSet: independent clusters, each with a name in this process and a client of its own.
 *
 * Clusters are added and removed at run time. An unreachable cluster keeps its last known state,
 * and delays no other cluster. A removed cluster's objects leave the stores without delete events:
 * removal from the set is not a deletion.
 *
 * A member may also be many logical clusters at once, such as those of one shard.
 */
import { assert, type Clock, onAbort, type Random, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  formatResource,
  type KubernetesObject,
  type Log,
  logAbout,
  type Resource,
} from "../client/index.ts";
import type { Indexers, SharedInformerOptions } from "../informer/index.ts";
import type { MetricsRegistry } from "../metrics/index.ts";
import { ClusterSetSource } from "./cluster-set-source.ts";
import {
  type Clusters,
  type Logging,
  loggingOf,
  type ObjectSource,
  singleCluster,
} from "./clusters.ts";

export interface ClusterSetOptions {
  /** Omitted: errors are logged. */
  readonly onError?: (error: unknown, cluster: ClusterName) => void;
  /** That of `run` if omitted. */
  readonly log?: Log;
  readonly metrics?: MetricsRegistry;
  readonly clock?: Clock;
  readonly random?: Random;
}

interface Member {
  readonly clusters: Clusters;
  readonly controller: AbortController;
}

interface Source {
  readonly resource: Resource;
  readonly options: SharedInformerOptions<KubernetesObject, unknown>;
  readonly source: ClusterSetSource<unknown>;
}

export class ClusterSet implements Clusters {
  readonly #options: ClusterSetOptions;
  readonly #logging: Logging;
  readonly #members = new Map<string, Member>();
  /** The member that has a logical cluster, where a member is not a cluster itself. */
  readonly #origins = new Map<ClusterName, string>();
  readonly #sources: Source[] = [];
  #running: TaskGroup | undefined;

  constructor(options: ClusterSetOptions = {}) {
    this.#options = options;
    this.#logging = loggingOf(options);
  }

  useLog(log: Log): void {
    this.#logging.useLog(log);
  }

  get hasSynced(): boolean {
    return true;
  }

  /** The names of the members. */
  get clusters(): readonly ClusterName[] {
    return [...this.#members.keys()] as ClusterName[];
  }

  addCluster(cluster: ClusterName, client: Client): void {
    const { onError, ...options } = this.#options;
    const report = onError && ((error: unknown) => onError(error, cluster));
    const log = logAbout(this.#logging.log, `cluster ${cluster}`);
    const onErrors = report === undefined ? {} : { onError: report };
    this.addClusters(cluster, singleCluster({ ...options, ...onErrors, log, client, cluster }));
  }

  removeCluster(cluster: ClusterName): void {
    this.removeClusters(cluster);
  }

  /** Adds all of them as one member. No two members may have a logical cluster of the same name. */
  addClusters(name: string, clusters: Clusters): void {
    assert(!this.#members.has(name), `${name} is a member already`);
    const member = { clusters, controller: new AbortController() };
    this.#members.set(name, member);
    for (const source of this.#sources) this.#attach(source, name, member);
    this.#run(name, member);
  }

  removeClusters(name: string): void {
    const member = this.#members.get(name);
    if (member === undefined) return;
    this.#members.delete(name);
    for (const [cluster, origin] of this.#origins)
      if (origin === name) this.#origins.delete(cluster);
    member.controller.abort();
    for (const { source } of this.#sources) source.removeMember(name);
  }

  client(cluster: ClusterName): Client {
    return this.#memberOf(cluster).clusters.client(cluster);
  }

  #memberOf(cluster: ClusterName): Member {
    const member = this.#members.get(this.#nameOf(cluster));
    if (member === undefined) throw new UnknownClusterError(cluster);
    return member;
  }

  #nameOf(cluster: ClusterName): string {
    return this.#origins.get(cluster) ?? cluster;
  }

  source<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    options: SharedInformerOptions<Object, Cached> = {},
  ): ObjectSource<Cached> {
    const { indexers, ...shared } = options;
    let found = this.#sources.find(
      (one) =>
        formatResource(one.resource) === formatResource(resource) &&
        one.options.transform === options.transform &&
        JSON.stringify(one.options.selector) === JSON.stringify(options.selector),
    );
    if (found === undefined) {
      found = {
        resource,
        options: shared as unknown as SharedInformerOptions<KubernetesObject, unknown>,
        source: new ClusterSetSource<unknown>((cluster) => this.#nameOf(cluster)),
      };
      this.#sources.push(found);
      for (const [name, member] of this.#members) this.#attach(found, name, member);
    }
    const source = found.source as unknown as ClusterSetSource<Cached>;
    if (indexers !== undefined) source.addIndexers(indexers);
    return source;
  }

  ready(cluster: ClusterName): Promise<void> | undefined {
    return this.#members.get(this.#nameOf(cluster))?.clusters.ready(cluster);
  }

  async refreshed(signal?: AbortSignal): Promise<void> {
    const members = [...this.#members.values()];
    await Promise.all(members.map(({ clusters }) => clusters.refreshed?.(signal)));
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new TaskGroup(signal);
    this.#running = running;
    onAbort(running.signal, () => {
      for (const member of this.#members.values()) member.controller.abort();
    });
    for (const [name, member] of this.#members) this.#run(name, member);
    await running.join();
  }

  #run(name: string, { clusters, controller }: Member): void {
    if (this.#running === undefined || this.#running.signal.aborted) return;
    this.#running.start(() => clusters.run(controller.signal));
    const ready = clusters.ready(name as ClusterName);
    void ready?.then(() => this.#logging.log.info(`cluster ${name}: caches are complete`));
  }

  #attach({ source, resource, options }: Source, name: string, { clusters }: Member): void {
    const get = (indexers?: Indexers<unknown>) =>
      clusters.source(resource, indexers === undefined ? options : { ...options, indexers });
    // Before any other handler, so that a reconcile finds the client of its cluster.
    get().addHandler({
      added: (_, { key }) => {
        if (key.cluster !== name) this.#origins.set(key.cluster, name);
      },
    });
    source.addMember(name, get);
  }
}

export class UnknownClusterError extends Error {
  /** A build may shorten the name of the class, which uncaught errors are printed with. */
  static override readonly name: string = "UnknownClusterError";
  override readonly name = "UnknownClusterError";

  constructor(cluster: ClusterName) {
    super(`${cluster} is not a member of the ClusterSet`);
  }
}
