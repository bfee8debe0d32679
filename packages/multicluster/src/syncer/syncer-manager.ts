/**
 * One syncer for each SyncTarget that this process is connected to. They share the upstream informers: what a kind costs upstream does not grow with the
 * number of clusters.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client } from "@kcp-ts/sdk";
import type { Policies } from "./policy.ts";
import type { ResourceSet } from "./resource-set.ts";
import { type Syncer, startSyncer } from "./syncer.ts";
import { UpstreamInformers } from "./upstream-informers.ts";

/** As the registry of SyncTargets tells it. */
export interface SyncerConnection {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  readonly client: Client;
}

export interface SyncerManagerOptions {
  /** Reads and writes in all logical clusters. */
  readonly upstream: Client;
  /** What is synced to a target; a live set of its own for each. */
  readonly resourcesOf: (connection: SyncerConnection) => ResourceSet;
  /** Whether a logical cluster's objects may go to a target; only the target's own cluster if left out. */
  readonly serves?: ((connection: SyncerConnection, cluster: ClusterName) => boolean) | undefined;
  readonly policies?: Policies | undefined;
  readonly onError?: ((error: unknown, connection: SyncerConnection) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** A listener for the registry: `targets.subscribe(manager)`. */
export class SyncerManager {
  readonly #options: SyncerManagerOptions;
  readonly #informers: UpstreamInformers;
  readonly #syncers = new Map<string, Syncer>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(options: SyncerManagerOptions) {
    this.#options = options;
    const { upstream: client, clock = systemClock, random = systemRandom } = options;
    this.#informers = new UpstreamInformers({ client, scope: "all-clusters", clock, random });
  }

  get syncers(): readonly Syncer[] {
    return [...this.#syncers.values()];
  }

  connected(connection: SyncerConnection): void {
    const { upstream, policies, clock, random, serves } = this.#options;
    const { cluster, name, uid, client } = connection;
    // Another kubeconfig of the same SyncTarget: the syncer with the old one ends.
    this.gone(connection);
    const syncer = startSyncer({
      upstream,
      scope: "all-clusters",
      serves: serves && ((from) => serves(connection, from)),
      downstream: client,
      target: { cluster, name, uid },
      resources: this.#options.resourcesOf(connection),
      policies,
      upstreamInformers: this.#informers,
      home: upstream.inCluster(cluster),
      onError: (error) => this.#options.onError?.(error, connection),
      clock,
      random,
    });
    this.#syncers.set(idOf(connection), syncer);
  }

  gone(connection: SyncerConnection): void {
    const syncer = this.#syncers.get(idOf(connection));
    if (syncer === undefined) return;
    this.#syncers.delete(idOf(connection));
    const stopping = syncer.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }

  /** Resolves when no syncer writes any more. */
  async stop(): Promise<void> {
    await Promise.all([...this.#syncers.values()].map((syncer) => syncer.stop()));
    this.#syncers.clear();
    await Promise.all(this.#stopping);
  }
}

function idOf({ cluster, name }: SyncerConnection): string {
  return `${cluster}/${name}`;
}
