/**
 * The operational endpoints of a controller: `/metrics`, `/healthz`, `/livez` and `/readyz`, the
 * latter with `?verbose`, `?exclude=<check>` and `/<check>` as in Kubernetes.
 *
 * It responds to paths and opens no port: a program forwards the requests of its own HTTP server.
 */
import type { MetricsRegistry } from "../metrics/index.ts";
import type { HealthChecks, HealthReport } from "./health.ts";

export interface OperationsOptions {
  readonly metrics?: MetricsRegistry;
  /** Liveness: the process need not be restarted. */
  readonly health?: HealthChecks;
  /** Readiness: the process does its work. */
  readonly readiness?: HealthChecks;
}

export interface OperationsResponse {
  readonly status: 200 | 404 | 500;
  readonly contentType: string;
  readonly body: string;
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8";
const textType = "text/plain; charset=utf-8";
const notFound: OperationsResponse = { status: 404, contentType: textType, body: "not found\n" };

/** `target` is a path, perhaps with a query, as a request line has it. */
export async function serveOperations(
  options: OperationsOptions,
  target: string,
): Promise<OperationsResponse> {
  const { pathname, searchParams } = new URL(target, "http://localhost");
  const [, first = "", name] = pathname.split("/");
  if (first === "metrics" && name === undefined && options.metrics !== undefined) {
    return { status: 200, contentType: metricsType, body: options.metrics.text() };
  }
  const checks = first === "readyz" ? options.readiness : options.health;
  if (!healthPaths.has(first) || checks === undefined) return notFound;
  const report = await (name === undefined
    ? checks.report({
        verbose: searchParams.has("verbose"),
        exclude: searchParams.getAll("exclude"),
      })
    : checks.reportOne(name));
  return report === undefined ? notFound : healthAnswer(report);
}

const healthPaths: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);

function healthAnswer({ isHealthy, text }: HealthReport): OperationsResponse {
  return { status: isHealthy ? 200 : 500, contentType: textType, body: text };
}
