/**
 * Wiring of the limits of requests: the seats and queues of flow control, and the watches and
 * objects of one tenant.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  FlowControl,
  FlowControlMetrics,
  type FlowControlOptions,
  type ObjectCounter,
  type ObjectLimits,
  WatchLimiter,
  type WatchLimits,
} from "./flow-control/index.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import type { CollectionSource } from "./registry/index.ts";
import type { Deadlines } from "./stages/index.ts";
import { clusterPrefix, namespacePrefix } from "./storage/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export interface RequestLimitOptions {
  /** The limits of one tenant; a limit that is omitted or 0 does not apply. */
  readonly tenantLimits?: Partial<WatchLimits & ObjectLimits>;
  /** `off`: every request starts at once. */
  readonly flowControl?:
    | Pick<FlowControlOptions, "seatsTotal" | "eventLoopBudgetMicros" | "queueWaitMaxMs">
    | "off";
}

export interface RequestLimits {
  readonly flowControl: FlowControl | undefined;
  readonly objectCount: ObjectCounter;
  readonly watches: WatchLimiter | undefined;
}

interface RequestLimitDependencies {
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly metrics: ServerMetrics;
  readonly watchCache: WatchCache;
  readonly catalog: CollectionSource;
}

export function composeRequestLimits(
  options: RequestLimitOptions,
  dependencies: RequestLimitDependencies,
): RequestLimits {
  return {
    flowControl:
      options.flowControl === "off"
        ? undefined
        : flowControlOf(options.flowControl ?? {}, dependencies),
    objectCount: objectCounter(dependencies),
    watches: watchLimiterOf(options.tenantLimits),
  };
}

function watchLimiterOf(
  limits: RequestLimitOptions["tenantLimits"] = {},
): WatchLimiter | undefined {
  const { watchesPerClusterMax = 0, watchesPerUserMax = 0 } = limits;
  if (watchesPerClusterMax === 0 && watchesPerUserMax === 0) return undefined;
  return new WatchLimiter({ watchesPerClusterMax, watchesPerUserMax });
}

function flowControlOf(
  options: Exclude<RequestLimitOptions["flowControl"], "off" | undefined>,
  { clock, deadlines, watchCache, metrics: { registry } }: RequestLimitDependencies,
): FlowControl {
  const metrics = new FlowControlMetrics(registry, () => flowControl);
  const flowControl = new FlowControl({
    ...options,
    clock,
    timers: deadlines,
    onRejected: (schema, reason) => metrics.onRejected(schema, reason),
    onQueued: (schema, seconds, isExecuted) => metrics.onWaited(schema, seconds, isExecuted),
  });
  metrics.initializeSeries(flowControl.flowSchemas);
  watchCache.hub.clusterDeletions.onDeleted((cluster) => flowControl.forgetCluster(cluster));
  return flowControl;
}

/**
 * The assumed size of a list over all logical clusters, which operators send, and providers with
 * many consumers.
 */
const assumedOverAll = 1000;

/**
 * Counts the objects of a collection that is cached, or was read before it turned out to be too
 * large for the cache. Other collections count as small until they are read, as uncounted resources
 * do in Kubernetes: one read in pages serves all requests that wait for it, and yields to the event
 * loop between pages.
 */
export function objectCounter({
  watchCache: { collections },
  catalog,
}: Pick<RequestLimitDependencies, "watchCache" | "catalog">): ObjectCounter {
  return ({ cluster, group, version, resource, namespace }) => {
    if (cluster === "*") return assumedOverAll;
    const collection = catalog.collectionOf(cluster, group, version, resource);
    if (collection === undefined) return undefined;
    const inCluster = { ...collection, cluster };
    const all = clusterPrefix(inCluster);
    return collections.countOf(
      all,
      namespace === "" ? all : namespacePrefix({ ...inCluster, namespace }),
    );
  };
}
