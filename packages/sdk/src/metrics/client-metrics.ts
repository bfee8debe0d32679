/**
 * The client's metrics under the names of client-go: pass the result to `new Client({ onResponse
 * })`.
 */
import type { RequestSummary, ResponseSummary } from "../client/index.ts";
import type { MetricsRegistry } from "./registry.ts";

/** client-go's label value for a request without a response. */
const noAnswer = "<error>";

export function clientMetrics(
  registry: MetricsRegistry,
  host: string,
): (request: RequestSummary, response: ResponseSummary) => void {
  const requests = registry.counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host.",
    labels: ["code", "method", "host"],
  });
  const durations = registry.histogram({
    name: "rest_client_request_duration_seconds",
    help: "Request latency in seconds. Broken down by verb, and host.",
    labels: ["verb", "host"],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  });
  const retries = registry.counter({
    name: "rest_client_request_retries_total",
    help: "Number of request retries, partitioned by status code, verb, and host.",
    labels: ["code", "verb", "host"],
  });
  return ({ method }, { status, durationMs, attempt }) => {
    const code = status === 0 ? noAnswer : String(status);
    requests.with({ code, method, host }).increment();
    if (attempt > 1) retries.with({ code, verb: method, host }).increment();
    durations.with({ verb: method, host }).observe(durationMs / 1000);
  };
}
