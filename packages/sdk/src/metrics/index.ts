/** Metrics without a dependency. Names are those of Kubernetes dashboards. */
export { clientMetrics } from "./client-metrics.ts";
export { processMetrics } from "./process-metrics.ts";
export {
  type ReflectorMetrics,
  reflectorMetrics,
  unreadableCounter,
} from "./reflector-metrics.ts";
export {
  Counter,
  Family,
  Gauge,
  Histogram,
  type HistogramOptions,
  type LabelValues,
  type MetricOptions,
  MetricsRegistry,
  seriesPerMetricMax,
} from "./registry.ts";
export { type Sample, samplesOf, sumOf } from "./samples.ts";
