export { Counter, Gauge, Histogram, MetricRegistry } from "./metrics.ts";
export { type RequestSample, type ServerGauges, ServerMetrics } from "./server-metrics.ts";
