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
        help: "Requests refused, by why.",
        labels: [...bySchema, "reason"],
      }),
    );
    this.#waited = registry.add(
      new Histogram(
        {
          name: `${prefix}_request_wait_duration_seconds`,
          help: "Time that requests waited, of those that had to.",
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
    ofSchemas("dispatched_requests_total", "Requests that began.", (each) => each.dispatched);
    ofSchemas("current_inqueue_requests", "Requests that wait.", (each) => each.waiting);
    ofSchemas("current_executing_requests", "Requests at work.", (each) => each.executing);
    ofLevels("current_executing_seats", "Seats in use.", (level) => level.seatsInUse);
    ofLevels("nominal_limit_seats", "Seats that are a level's own.", (each) => each.nominalSeats);
    ofLevels(
      "lower_limit_seats",
      "Seats that a level lends to nobody.",
      (each) => each.reservedSeats,
    );
    ofLevels(
      "upper_limit_seats",
      "Seats of a level with all it may borrow.",
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
