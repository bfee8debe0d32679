/** Wiring: how many requests are at work, in which order, and what one tenant may hold. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { AdmissionPlugin } from "./admission/index.ts";
import type { Deadlines } from "./deadlines.ts";
import {
  Fairness,
  FairnessMetrics,
  type FairnessOptions,
  type ObjectCounter,
  ObjectLimiter,
  type ObjectLimits,
  type Usage,
  WatchCounter,
  type WatchLimits,
} from "./fairness/index.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import { type Catalog, type CollectionSource, collectionKeyOf } from "./registry/index.ts";
import { clusterPrefix, type Storage, type StorageKey } from "./storage/index.ts";
import type { WatchCache, WatchHub } from "./watch-cache/index.ts";

export interface TrafficOptions {
  /** What one tenant may hold; nothing is limited that is left out or 0. */
  readonly tenantLimits?: Partial<WatchLimits & ObjectLimits>;
  /** `off`: every request begins at once. */
  readonly fairness?:
    | Pick<FairnessOptions, "seatsTotal" | "turnBudgetMicros" | "waitMaxMs">
    | "off";
}

export interface Traffic {
  readonly fairness: Fairness | undefined;
  readonly objectCount: ObjectCounter;
  readonly watches: WatchCounter | undefined;
}

interface TrafficParts {
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly metrics: ServerMetrics;
  readonly watchCache: WatchCache;
  readonly catalog: CollectionSource;
}

export function composeTraffic(options: TrafficOptions, parts: TrafficParts): Traffic {
  return {
    fairness: options.fairness === "off" ? undefined : fairnessOf(options.fairness ?? {}, parts),
    objectCount: objectCounter(parts),
    watches: watchCounterOf(options.tenantLimits),
  };
}

function watchCounterOf(limits: TrafficOptions["tenantLimits"] = {}): WatchCounter | undefined {
  const { watchesPerClusterMax = 0, watchesPerUserMax = 0 } = limits;
  if (watchesPerClusterMax === 0 && watchesPerUserMax === 0) return undefined;
  return new WatchCounter({ watchesPerClusterMax, watchesPerUserMax });
}

const objectCountIntervalDefaultMs = 60_000;

/** kcp's limit of objects in a logical cluster, as an admission plug-in. Events come and go by themselves and are left out. */
export function objectLimitPlugins(
  limits: TrafficOptions["tenantLimits"] = {},
  {
    storage,
    clock,
    hub,
    catalog,
  }: { storage: Storage; clock: Clock; hub: WatchHub; catalog: () => Catalog },
): AdmissionPlugin[] {
  const { objectsPerClusterMax = 0, bytesPerClusterMax = 0 } = limits;
  if (objectsPerClusterMax === 0 && bytesPerClusterMax === 0) return [];
  const { objectCountIntervalMs = objectCountIntervalDefaultMs } = limits;
  const limiter = new ObjectLimiter({
    limits: { objectsPerClusterMax, bytesPerClusterMax, objectCountIntervalMs },
    clock,
    usageOf: (cluster, withBytes) =>
      usageOf(cluster as ClusterName, withBytes, { storage, catalog: catalog() }),
  });
  hub.gone.tell((cluster) => limiter.forget(cluster));
  return [
    {
      name: "LogicalClusterObjectCountLimit",
      admit({ operation, subresource, resource, isDryRun, cluster }) {
        if (operation !== "CREATE" || subresource !== "" || isDryRun) return undefined;
        return uncounted.has(resource) ? undefined : limiter.admit(cluster);
      },
    },
  ];
}

const uncounted = new Set(["events", "logicalclusters"]);
const pageEntries = 500;

async function usageOf(
  cluster: ClusterName,
  withBytes: boolean,
  { storage, catalog }: { storage: Storage; catalog: Catalog },
): Promise<Usage> {
  const { signal } = new AbortController();
  const prefixes = new Set(
    (await catalog.all(cluster))
      .filter(({ resource }) => !uncounted.has(resource))
      .map((definition) => clusterPrefix({ ...collectionKeyOf(definition), cluster })),
  );
  let [objects, bytes] = [0, 0];
  for (const prefix of prefixes) {
    if (!withBytes) {
      objects += await storage.count(prefix, { signal });
      continue;
    }
    for (let continueAfter: StorageKey | undefined, isMore = true; isMore; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      objects += page.entries.length;
      for (const { value } of page.entries) bytes += value.length;
      continueAfter = page.entries.at(-1)?.key;
      isMore = page.more;
    }
  }
  return { objects, bytes };
}

function fairnessOf(
  options: Exclude<TrafficOptions["fairness"], "off" | undefined>,
  { clock, deadlines, watchCache, metrics: { registry } }: TrafficParts,
): Fairness {
  const metrics = new FairnessMetrics(registry, () => fairness);
  const fairness = new Fairness({
    ...options,
    clock,
    timers: deadlines,
    onRejected: (schema, reason) => metrics.onRejected(schema, reason),
    onWaited: (schema, seconds, isExecuted) => metrics.onWaited(schema, seconds, isExecuted),
  });
  metrics.show(fairness.schemas);
  watchCache.hub.gone.tell((cluster) => fairness.forget(cluster));
  return fairness;
}

/** Lists over all logical clusters are of those who run them, or of a provider that has many consumers. */
const assumedOverAll = 1000;

/**
 * What is in memory, or was read before it turned out to be too large for it. Anything else counts as small until it is, as what Kubernetes has not
 * counted does: it is read once for all who wait for it, in pages with turns for others between them.
 */
export function objectCounter({
  watchCache: { collections },
  catalog,
}: Pick<TrafficParts, "watchCache" | "catalog">): ObjectCounter {
  return ({ cluster, group, version, resource }) => {
    if (cluster === "*") return assumedOverAll;
    const collection = catalog.collectionOf(cluster, group, version, resource);
    return collection && collections.countOf(clusterPrefix({ ...collection, cluster }));
  };
}
