/**
 * The metrics of flow control, under Kubernetes' names. The operator configures levels and schemas,
 * and thereby determines the number of series.
 */
import { Counter, Gauge, Histogram, type MetricRegistry } from "../metrics/index.ts";
import type { FlowControl } from "./flow-control.ts";
import type { FlowSchema } from "./flow-schema.ts";
import type { PriorityLevel, RejectReason } from "./priority-level.ts";

const prefix = "apiserver_flowcontrol";
const bySchema = ["priority_level", "flow_schema"];
const waitBounds = [0.005, 0.02, 0.1, 0.5, 2, 5, 15];

export class FlowControlMetrics {
  readonly #rejected: Counter;
  readonly #waited: Histogram;

  constructor(registry: MetricRegistry, flowControl: () => FlowControl) {
    this.#rejected = registry.add(
      new Counter({
        name: `${prefix}_rejected_requests_total`,
        help: "Number of requests rejected by API Priority and Fairness, by reason.",
        labels: [...bySchema, "reason"],
      }),
    );
    this.#waited = registry.add(
      new Histogram(
        {
          name: `${prefix}_request_wait_duration_seconds`,
          help: "Time that requests spent waiting in a queue, in seconds.",
          labels: [...bySchema, "execute"],
        },
        waitBounds,
      ),
    );
    const ofSchemas = (name: string, help: string, read: (schema: FlowSchema) => number) =>
      registry.add(
        new Gauge(
          { name: `${prefix}_${name}`, help, labels: bySchema },
          () =>
            flowControl().flowSchemas.map((schema) => [labelsOf(schema), read(schema)] as const),
          name.endsWith("_total") ? "counter" : "gauge",
        ),
      );
    const ofLevels = (name: string, help: string, read: (level: PriorityLevel) => number) =>
      registry.add(
        new Gauge({ name: `${prefix}_${name}`, help, labels: ["priority_level"] }, () =>
          flowControl().priorityLevels.map((level) => [[level.config.name], read(level)] as const),
        ),
      );
    ofSchemas(
      "dispatched_requests_total",
      "Number of requests executed.",
      (each) => each.dispatched,
    );
    ofSchemas("current_inqueue_requests", "Number of requests in queues.", (each) => each.waiting);
    ofSchemas(
      "current_executing_requests",
      "Number of requests executing.",
      (each) => each.executing,
    );
    ofLevels("current_executing_seats", "Number of seats in use.", (level) => level.seatsInUse);
    ofLevels(
      "nominal_limit_seats",
      "Nominal number of seats of each priority level.",
      (each) => each.nominalSeats,
    );
    ofLevels(
      "lower_limit_seats",
      "Number of seats of each priority level that no other level may borrow.",
      (each) => each.reservedSeats,
    );
    ofLevels(
      "upper_limit_seats",
      "Maximum number of seats of each priority level, borrowed ones included.",
      (each) => each.seatsMax,
    );
  }

  /** Adds zero-valued series for new schemas. */
  initializeSeries(schemas: readonly FlowSchema[]): void {
    for (const schema of schemas)
      for (const execute of ["true", "false"])
        this.#waited.initialize([...labelsOf(schema), execute]);
  }

  onRejected(schema: FlowSchema, reason: RejectReason): void {
    this.#rejected.add([...labelsOf(schema), reason]);
  }

  onWaited(schema: FlowSchema, seconds: number, isExecuted: boolean): void {
    this.#waited.observe([...labelsOf(schema), String(isExecuted)], seconds);
  }
}

function labelsOf({ config, level }: FlowSchema): [level: string, schema: string] {
  return [level.config.name, config.name];
}
