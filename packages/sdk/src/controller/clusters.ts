/**
 * Clusters: the clusters that a controller works on. One cluster, all logical clusters of a server,
 * or a ClusterSet: a reconciler is the same for all of them.
 */
import { assert, type Clock, type Random } from "@kcp-ts/machinery/base";
import { type ClusterName, parseClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  formatResource,
  type KubernetesObject,
  type Log,
  onAbort,
  ProgramLog,
  type Resource,
} from "../client/index.ts";
import {
  type HandlerRegistration,
  type InformerHandler,
  Informers,
  type InformersOptions,
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

  /**
   * Resolves when all caches have a state that their servers had after this call: what a new leader
   * has to know is what the one before it wrote.
   */
  refreshed?(signal?: AbortSignal): Promise<void>;

  /** The log of the program, for clusters that were given none. */
  useLog?(log: Log): void;

  /** Keeps the sources in sync until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ObjectSource<Cached> {
  /** The version of the cluster's state up to which all changes are in the store, if known. */
  seenVersion?(cluster: ClusterName): string | undefined;
  readonly store: ObjectStore<Cached>;
  addHandler(handler: InformerHandler<Cached>): HandlerRegistration;
}

export interface ClustersOptions {
  readonly client: Client;
  /**
   * Called with errors of watches, which are tried again. Omitted: they are logged, and what no
   * retry can mend (all logical clusters for a user who may not read them) ends `run`.
   */
  readonly onError?: (error: unknown) => void;
  /** That of `run` if omitted. */
  readonly log?: Log;
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

/** One cluster: that of the client. Its name is that of the client's base path if omitted. */
export function singleCluster(
  options: ClustersOptions & { readonly cluster?: ClusterName },
): Clusters {
  const { client, cluster = clusterOfClient(client) } = options;
  const logging = loggingOf(options);
  const informers = new Informers({ ...options, log: logging.log, scope: { cluster } });
  const clientOf = (asked: ClusterName) => {
    assert(asked === cluster, `${asked} is not ${cluster}`);
    return client;
  };
  return informed(informers, clientOf, logging);
}

/** The root cluster where the base path names none, as on other servers. */
export function clusterOfClient({ basePath }: Client): ClusterName {
  const [, name = ""] = /\/clusters\/([^/]+)$/.exec(basePath) ?? [];
  return parseClusterName(name) ?? rootCluster;
}

/**
 * All logical clusters of a server, including clusters created later, through one watch for each
 * resource. Custom resources are followed by their metadata, and read in their own clusters. The
 * user needs access to all logical clusters: `run` fails at once without it.
 */
export function logicalClusters(options: ClustersOptions): Clusters {
  if (options.onError !== undefined) return overAllClusters(options);
  let refuse: (error: Error) => void = () => {};
  const refused = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  // Whoever runs the clusters gets it.
  refused.catch(() => {});
  const clusters = overAllClusters({
    ...options,
    onFailure: (error, resource, log) => {
      if (isWithoutAccess(error) && !clusters.hasSynced)
        refuse(new AllClustersError(resource, error));
      else log();
    },
  });
  return {
    ...members(clusters),
    get hasSynced() {
      return clusters.hasSynced;
    },
    async run(signal) {
      const stop = new AbortController();
      const forget = onAbort(signal, () => stop.abort());
      const running = clusters.run(stop.signal);
      try {
        await Promise.race([running, refused]);
      } finally {
        stop.abort();
        forget();
        await running;
      }
    },
  };
}

/**
 * Making a client costs a tenth of a reconcile that only reads, and events of one cluster come in
 * bursts. The limit is low because a kept client outlives its cluster.
 */
const clientsMax = 4;

/** Tries again for ever: access may be granted later. */
export function overAllClusters(options: Omit<InformersOptions, "scope">): Clusters {
  const logging = loggingOf(options);
  const informers = new Informers({ ...options, log: logging.log, scope: "all-clusters" });
  const clients = new Map<ClusterName, Client>();
  const clientOf = (cluster: ClusterName) => {
    const known = clients.get(cluster);
    if (known !== undefined) return known;
    const client = options.client.inCluster(cluster);
    if (clients.size >= clientsMax) clients.clear();
    clients.set(cluster, client);
    return client;
  };
  return informed(informers, clientOf, logging);
}

function members({
  client,
  source,
  ready,
  refreshed,
  useLog,
}: Clusters): Pick<Clusters, "client" | "source" | "ready" | "refreshed" | "useLog"> {
  return { client, source, ready, ...(refreshed && { refreshed }), ...(useLog && { useLog }) };
}

/** All logical clusters were asked for, and the server does not serve them to this user. */
export class AllClustersError extends Error {
  static override readonly name: string = "AllClustersError";
  override readonly name = "AllClustersError";

  constructor(resource: Resource, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `${formatResource(resource)} cannot be watched in all logical clusters: ${why}. ` +
        "Use singleCluster({ client }) for the logical cluster of your kubeconfig, or " +
        "exportConsumers({ client, endpointSlice }) for all workspaces that bind an APIExport; " +
        "or connect as a user with access to all of them, such as context shard-base of kcp's " +
        "admin.kubeconfig",
    );
    this.stack = `${this.name}: ${this.message}`;
  }
}

function isWithoutAccess(error: unknown): boolean {
  return isStatusError(error) && (error.code === 401 || error.code === 403 || error.code === 404);
}

export interface Logging {
  readonly log: Log;
  readonly useLog: (log: Log) => void;
}

/** The given log, or the one that the program will choose. */
export function loggingOf({ log }: { readonly log?: Log | undefined }): Logging {
  const chosen = new ProgramLog();
  const useLog = (one: Log) => {
    chosen.target = one;
  };
  return { log: log ?? chosen, useLog };
}

function informed(informers: Informers, client: Clusters["client"], { useLog }: Logging): Clusters {
  return {
    useLog,
    client,
    source: (resource, options) => informers.get(resource, options),
    get hasSynced() {
      return informers.hasSynced;
    },
    ready: () => (informers.hasSynced ? undefined : informers.synced()),
    refreshed: (signal) => informers.refreshed(signal),
    run: (signal) => informers.run(signal),
  };
}
