/**
 * Fleet: clusters that have nothing to do with each other but a name in this process, each behind a client of its own.
 *
 * Members come and go at run time. A member that cannot be reached keeps its last known state, and holds up nobody else. A member that
 * leaves takes its objects out of the stores without a word: leaving the fleet is not a deletion.
 */
import { assert, type Clock, onAbort, type Random, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, KubernetesObject, Resource } from "../client/index.ts";
import { formatResource } from "../client/index.ts";
import { Informers, type SharedInformerOptions } from "../informer/index.ts";
import type { MetricsRegistry } from "../metrics/index.ts";
import type { Clusters, ObjectSource } from "./clusters.ts";
import { ClusterSetSource } from "./fleet-source.ts";

export interface ClusterSetOptions {
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
  readonly #members = new Map<ClusterName, ClusterEntry>();
  readonly #sources: Source[] = [];
  #running: TaskGroup | undefined;

  constructor(options: ClusterSetOptions = {}) {
    this.#options = options;
  }

  get hasSynced(): boolean {
    return true;
  }

  get members(): readonly ClusterName[] {
    return [...this.#members.keys()];
  }

  join(cluster: ClusterName, client: Client): void {
    assert(!this.#members.has(cluster), `${cluster} is a member already`);
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
    this.#members.set(cluster, member);
    for (const source of this.#sources) attach(source, cluster, member);
    this.#run(member);
  }

  leave(cluster: ClusterName): void {
    const member = this.#members.get(cluster);
    if (member === undefined) return;
    this.#members.delete(cluster);
    member.controller.abort();
    for (const { source } of this.#sources) source.leave(cluster);
  }

  client(cluster: ClusterName): Client {
    const member = this.#members.get(cluster);
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
      for (const [cluster, member] of this.#members) attach(found, cluster, member);
    }
    const source = found.source as unknown as ClusterSetSource<Cached>;
    if (indexers !== undefined) source.addIndexers(indexers);
    return source;
  }

  ready(cluster: ClusterName): Promise<void> | undefined {
    const member = this.#members.get(cluster);
    if (member === undefined || member.informers.hasSynced) return undefined;
    return member.informers.synced();
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new TaskGroup(signal);
    this.#running = running;
    onAbort(running.signal, () => {
      for (const member of this.#members.values()) member.controller.abort();
    });
    for (const member of this.#members.values()) this.#run(member);
    await running.join();
  }

  #run(member: ClusterEntry): void {
    if (this.#running === undefined || this.#running.signal.aborted) return;
    this.#running.start(() => member.informers.run(member.controller.signal));
  }
}

function attach(
  { source, resource, options }: Source,
  cluster: ClusterName,
  member: ClusterEntry,
): void {
  source.join(cluster, member.informers.get(resource, options));
}

export class UnknownClusterError extends Error {
  override readonly name = "UnknownClusterError";

  constructor(cluster: ClusterName) {
    super(`${cluster} is not a member of the fleet`);
  }
}
