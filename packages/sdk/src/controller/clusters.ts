/**
 * Clusters: what a controller works on. One cluster, all logical clusters of a server, or a fleet: a reconciler that
 * goes through this interface cannot tell, and need not.
 */
import { assert, type Clock, type Random } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, KubernetesObject, Resource } from "../client/index.ts";
import {
  type HandlerRegistration,
  type InformerHandler,
  Informers,
  type ObjectStore,
  type SharedInformerOptions,
} from "../informer/index.ts";
import type { MetricsRegistry } from "../metrics/index.ts";

export interface Clusters {
  /** A client for one of the clusters. Throws when it is not, or no longer, one of them. */
  client(cluster: ClusterName): Client;

  /** The objects of a resource in all of the clusters, shared by all who ask. */
  source<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    options?: SharedInformerOptions<Object, Cached>,
  ): ObjectSource<Cached>;

  /**
   * Resolves when all sources know the state of this cluster; undefined when they do already. Nothing in a cluster may be decided
   * before: an empty cache looks like an empty cluster.
   */
  ready(cluster: ClusterName): Promise<void> | undefined;

  /**
   * Whether all sources have known a state, for a readiness check. A fleet's member that is down holds up nobody, so a fleet always has.
   */
  readonly hasSynced: boolean;

  /** Keeps the sources true until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ObjectSource<Cached> {
  readonly store: ObjectStore<Cached>;
  addHandler(handler: InformerHandler<Cached>): HandlerRegistration;
}

export interface ClustersOptions {
  readonly client: Client;
  readonly onError?: (error: unknown) => void;
  /** Counts what the informers do. */
  readonly metrics?: MetricsRegistry;
  readonly clock?: Clock;
  readonly random?: Random;
  /** How many objects of a kind are kept ready to use, the rest as bytes; more is faster where reconcilers look at all of them. */
  readonly liveObjectsMax?: number;
}

/** One cluster; its name is the caller's word for it. */
export function singleCluster(
  options: ClustersOptions & { readonly cluster: ClusterName },
): Clusters {
  const { client, cluster } = options;
  const informers = new Informers({ ...options, scope: { cluster } });
  return informed(informers, (asked) => {
    assert(asked === cluster, `${asked} is not ${cluster}`);
    return client;
  });
}

/** All logical clusters of a server, those made later included, through one watch for each resource. */
export function logicalClusters(options: ClustersOptions): Clusters {
  const informers = new Informers({ ...options, scope: "all-clusters" });
  return informed(informers, (cluster) => options.client.inCluster(cluster));
}

function informed(informers: Informers, client: Clusters["client"]): Clusters {
  return {
    client,
    source: (resource, options) => informers.get(resource, options),
    get hasSynced() {
      return informers.hasSynced;
    },
    ready: () => (informers.hasSynced ? undefined : informers.synced()),
    run: (signal) => informers.run(signal),
  };
}
