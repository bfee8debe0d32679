/** A queue's metrics, under the names of Kubernetes' own controllers. */
import type { Counter, Gauge, Histogram, MetricsRegistry } from "../metrics/index.ts";

export interface QueueMetrics {
  readonly depth: Gauge;
  readonly adds: Counter;
  readonly retries: Counter;
  readonly queueSeconds: Histogram;
  readonly workSeconds: Histogram;
  readonly unfinishedSeconds: Gauge;
  readonly longestRunningSeconds: Gauge;
}

/** 10 ns to 1000 s, as client-go has them. */
const buckets = Array.from({ length: 12 }, (_, i) => Number(`1e${i - 8}`));

export function queueMetrics(registry: MetricsRegistry, name: string): QueueMetrics {
  const labels = ["name"] as const;
  const gauge = (metric: string, help: string) =>
    registry.gauge({ name: `workqueue_${metric}`, help, labels }).with({ name });
  const counter = (metric: string, help: string) =>
    registry.counter({ name: `workqueue_${metric}`, help, labels }).with({ name });
  const histogram = (metric: string, help: string) =>
    registry.histogram({ name: `workqueue_${metric}`, help, labels, buckets }).with({ name });
  return {
    depth: gauge("depth", "Current depth of workqueue"),
    adds: counter("adds_total", "Total number of adds handled by workqueue"),
    retries: counter("retries_total", "Total number of retries handled by workqueue"),
    queueSeconds: histogram(
      "queue_duration_seconds",
      "How long in seconds an item stays in workqueue before being requested",
    ),
    workSeconds: histogram(
      "work_duration_seconds",
      "How long in seconds processing an item from workqueue takes",
    ),
    unfinishedSeconds: gauge(
      "unfinished_work_seconds",
      "How many seconds of work has been done that is in progress and hasn't been observed by work_duration",
    ),
    longestRunningSeconds: gauge(
      "longest_running_processor_seconds",
      "How many seconds has the longest running processor for workqueue been running",
    ),
  };
}
