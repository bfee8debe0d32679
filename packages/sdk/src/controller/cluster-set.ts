/**
 * ClusterSet: independent clusters, each with a name in this process and a client of its own.
 *
 * Clusters are added and removed at run time. An unreachable cluster keeps its last known state,
 * and delays no other cluster. A removed cluster's objects leave the stores without delete events:
 * removal from the set is not a deletion.
 */
import { assert, type Clock, onAbort, type Random, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, KubernetesObject, Resource } from "../client/index.ts";
import { formatResource } from "../client/index.ts";
import { Informers, type SharedInformerOptions } from "../informer/index.ts";
import type { MetricsRegistry } from "../metrics/index.ts";
import { ClusterSetSource } from "./cluster-set-source.ts";
import type { Clusters, ObjectSource } from "./clusters.ts";

export interface ClusterSetOptions {
  /** Omitted: errors are logged. */
  readonly onError?: (error: unknown, cluster: ClusterName) => void;
  readonly metrics?: MetricsRegistry;
  readonly clock?: Clock;
  readonly random?: Random;
}

interface ClusterEntry {
  readonly client: Client;
  readonly informers: Informers;
  readonly controller: AbortController;
}

interface Source {
  readonly resource: Resource;
  readonly options: SharedInformerOptions<KubernetesObject, unknown>;
  readonly source: ClusterSetSource<unknown>;
}

export class ClusterSet implements Clusters {
  readonly #options: ClusterSetOptions;
  readonly #clusters = new Map<ClusterName, ClusterEntry>();
  readonly #sources: Source[] = [];
  #running: TaskGroup | undefined;

  constructor(options: ClusterSetOptions = {}) {
    this.#options = options;
  }

  get hasSynced(): boolean {
    return true;
  }

  get clusters(): readonly ClusterName[] {
    return [...this.#clusters.keys()];
  }

  addCluster(cluster: ClusterName, client: Client): void {
    assert(!this.#clusters.has(cluster), `${cluster} is a member already`);
    const { onError, metrics, clock, random } = this.#options;
    const informers = new Informers({
      client,
      scope: { cluster },
      ...(onError === undefined ? {} : { onError: (error) => onError(error, cluster) }),
      ...(metrics === undefined ? {} : { metrics }),
      ...(clock === undefined ? {} : { clock }),
      ...(random === undefined ? {} : { random }),
    });
    const member = { client, informers, controller: new AbortController() };
    this.#clusters.set(cluster, member);
    for (const source of this.#sources) attach(source, cluster, member);
    this.#run(member);
  }

  removeCluster(cluster: ClusterName): void {
    const member = this.#clusters.get(cluster);
    if (member === undefined) return;
    this.#clusters.delete(cluster);
    member.controller.abort();
    for (const { source } of this.#sources) source.removeCluster(cluster);
  }

  client(cluster: ClusterName): Client {
    const member = this.#clusters.get(cluster);
    if (member === undefined) throw new UnknownClusterError(cluster);
    return member.client;
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
        source: new ClusterSetSource<unknown>(),
      };
      this.#sources.push(found);
      for (const [cluster, member] of this.#clusters) attach(found, cluster, member);
    }
    const source = found.source as unknown as ClusterSetSource<Cached>;
    if (indexers !== undefined) source.addIndexers(indexers);
    return source;
  }

  ready(cluster: ClusterName): Promise<void> | undefined {
    const member = this.#clusters.get(cluster);
    if (member === undefined || member.informers.hasSynced) return undefined;
    return member.informers.synced();
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new TaskGroup(signal);
    this.#running = running;
    onAbort(running.signal, () => {
      for (const member of this.#clusters.values()) member.controller.abort();
    });
    for (const member of this.#clusters.values()) this.#run(member);
    await running.join();
  }

  #run(clusterEntry: ClusterEntry): void {
    if (this.#running === undefined || this.#running.signal.aborted) return;
    this.#running.start(() => clusterEntry.informers.run(clusterEntry.controller.signal));
  }
}

function attach(
  { source, resource, options }: Source,
  cluster: ClusterName,
  clusterEntry: ClusterEntry,
): void {
  source.addCluster(cluster, clusterEntry.informers.get(resource, options));
}

export class UnknownClusterError extends Error {
  override readonly name = "UnknownClusterError";

  constructor(cluster: ClusterName) {
    super(`${cluster} is not a member of the fleet`);
  }
}
