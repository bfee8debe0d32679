export { Counter, Gauge, Histogram, MetricRegistry, type MetricSource } from "./metrics.ts";
export { ProcessMetrics } from "./process-metrics.ts";
export { type RequestSample, type ServerGauges, ServerMetrics } from "./server-metrics.ts";
