/** OpenTelemetry traces of requests: docs/adr/0099. */
export { type Span, SpanExporter } from "./span-exporter.ts";
export { type RequestTrace, type TracedRequest, Tracer } from "./tracer.ts";
export { parseTracingConfig, type TracingConfig, TracingConfigError } from "./tracing-config.ts";
