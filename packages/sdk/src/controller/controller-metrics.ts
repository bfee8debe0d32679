/** A controller's metrics, under the names of controller-runtime. */
import type { Counter, Gauge, Histogram, MetricsRegistry } from "../metrics/index.ts";

export type Outcome = "success" | "requeue_after" | "error";

export interface ControllerMetrics {
  readonly outcomes: Readonly<Record<Outcome, Counter>>;
  readonly errors: Counter;
  readonly terminalErrors: Counter;
  readonly timeouts: Counter;
  readonly seconds: Histogram;
  readonly activeWorkers: Gauge;
  readonly workers: Gauge;
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function controllerMetrics(
  registry: MetricsRegistry,
  controller: string,
): ControllerMetrics {
  const labels = ["controller"] as const;
  const counter = (name: string, help: string) =>
    registry.counter({ name: `controller_runtime_${name}`, help, labels }).with({ controller });
  const gauge = (name: string, help: string) =>
    registry.gauge({ name: `controller_runtime_${name}`, help, labels }).with({ controller });
  const total = registry.counter({
    name: "controller_runtime_reconcile_total",
    help: "Total number of reconciliations per controller",
    labels: ["controller", "result"],
  });
  const outcome = (result: Outcome) => total.with({ controller, result });
  return {
    outcomes: {
      success: outcome("success"),
      requeue_after: outcome("requeue_after"),
      error: outcome("error"),
    },
    errors: counter(
      "reconcile_errors_total",
      "Total number of reconciliation errors per controller",
    ),
    terminalErrors: counter(
      "terminal_reconcile_errors_total",
      "Total number of terminal reconciliation errors per controller",
    ),
    timeouts: counter(
      "reconcile_timeouts_total",
      "Total number of reconciliation timeouts per controller",
    ),
    seconds: registry
      .histogram({
        name: "controller_runtime_reconcile_time_seconds",
        help: "Length of time per reconciliation per controller",
        labels,
        buckets,
      })
      .with({ controller }),
    activeWorkers: gauge("active_workers", "Number of currently used workers per controller"),
    workers: gauge(
      "max_concurrent_reconciles",
      "Maximum number of concurrent reconciles per controller",
    ),
  };
}
