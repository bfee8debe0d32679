/**
 * Clusters: the clusters that a controller works on. One cluster, all logical clusters of a server,
 * or a ClusterSet: a reconciler is the same for all of them.
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
  /**
   * A client for one of the clusters. Throws for a cluster that is not, or no longer, one of them.
   */
  client(cluster: ClusterName): Client;

  /** The objects of a resource in all of the clusters; all callers share one source. */
  source<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    options?: SharedInformerOptions<Object, Cached>,
  ): ObjectSource<Cached>;

  /**
   * Resolves when the caches of all sources have synced for this cluster; undefined when they
   * already have. A controller must not decide anything in a cluster before: an empty cache looks
   * like an empty cluster.
   */
  ready(cluster: ClusterName): Promise<void> | undefined;

  /**
   * Whether the caches of all sources have synced, for a readiness check. An unreachable cluster of
   * a ClusterSet does not count, so a ClusterSet is always ready.
   */
  readonly hasSynced: boolean;

  /** Keeps the sources in sync until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ObjectSource<Cached> {
  readonly store: ObjectStore<Cached>;
  addHandler(handler: InformerHandler<Cached>): HandlerRegistration;
}

export interface ClustersOptions {
  readonly client: Client;
  readonly onError?: (error: unknown) => void;
  /** Counts the operations of the informers. */
  readonly metrics?: MetricsRegistry;
  readonly clock?: Clock;
  readonly random?: Random;
  /**
   * How many objects of a kind are kept as JavaScript objects, the others as bytes; more is faster
   * where reconcilers read all objects.
   */
  readonly liveObjectsMax?: number;
}

/** One cluster; the caller chooses its name. */
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

/**
 * All logical clusters of a server, including clusters created later, through one watch for each
 * resource.
 */
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
