/**
 * The metrics of informers, under the names of client-go's reflectors. One series for each
 * resource, for any number of clusters.
 */
import { formatResource, type Resource } from "../client/index.ts";
import type { Counter, Gauge, Histogram, MetricsRegistry } from "./registry.ts";

export interface ReflectorMetrics {
  readonly lists: Counter;
  readonly listSeconds: Histogram;
  readonly itemsPerList: Histogram;
  readonly watches: Counter;
  readonly shortWatches: Counter;
  readonly watchSeconds: Histogram;
  readonly itemsPerWatch: Histogram;
  readonly unreadable: Counter;
  readonly lastResourceVersion: Gauge;
}

const secondsBuckets = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 180, 300, 600];
const itemsBuckets = [1, 10, 100, 1000, 10_000, 100_000];

/** Counts nothing, where no registry is given. */
export function reflectorMetrics(
  registry: MetricsRegistry | undefined,
  resource: Resource,
): ReflectorMetrics | undefined {
  if (registry === undefined) return undefined;
  const name = formatResource(resource);
  const labels = ["name"] as const;
  const counter = (metric: string, help: string) =>
    registry.counter({ name: `reflector_${metric}`, help, labels }).with({ name });
  const histogram = (metric: string, help: string, buckets: readonly number[]) =>
    registry.histogram({ name: `reflector_${metric}`, help, labels, buckets }).with({ name });
  return {
    lists: counter("lists_total", "Total number of API lists done by the reflectors"),
    listSeconds: histogram(
      "list_duration_seconds",
      "How long an API list takes to return and decode for the reflectors",
      secondsBuckets,
    ),
    itemsPerList: histogram(
      "items_per_list",
      "How many items an API list returns to the reflectors",
      itemsBuckets,
    ),
    unreadable: counter(
      "unreadable_objects_total",
      "Total number of objects that were left out because they could not be read",
    ),
    watches: counter("watches_total", "Total number of API watches done by the reflectors"),
    shortWatches: counter(
      "short_watches_total",
      "Total number of short API watches done by the reflectors",
    ),
    watchSeconds: histogram(
      "watch_duration_seconds",
      "How long an API watch takes to return and decode for the reflectors",
      secondsBuckets,
    ),
    itemsPerWatch: histogram(
      "items_per_watch",
      "How many items an API watch returns to the reflectors",
      itemsBuckets,
    ),
    lastResourceVersion: registry
      .gauge({
        name: "reflector_last_resource_version",
        help: "Last resource version seen for the reflectors",
        labels,
      })
      .with({ name }),
  };
}

/** Reports objects that could not be parsed, and counts them where a registry is given. */
export function unreadableCounter(
  metrics: ReflectorMetrics | undefined,
  report: (error: unknown) => void,
): (error: unknown) => void {
  return (error) => {
    metrics?.unreadable.increment();
    report(error);
  };
}
