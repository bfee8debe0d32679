/** The metrics of audit, under Kubernetes' names. */
import { Counter, type MetricRegistry } from "../metrics/index.ts";

export class AuditMetrics {
  readonly #events: Counter;
  readonly #levels: Counter;
  readonly #dropped: Counter;

  constructor(registry: MetricRegistry) {
    const counter = (name: string, help: string, labels: readonly string[]) =>
      registry.add(new Counter({ name: `apiserver_audit_${name}`, help, labels }));
    this.#events = counter("event_total", "Audit events made.", []);
    this.#levels = counter("level_total", "Audit events by level.", ["level"]);
    this.#dropped = counter("error_total", "Audit events lost, by who lost them.", ["plugin"]);
  }

  onEvent(level: string): void {
    this.#events.add([]);
    this.#levels.add([level]);
  }

  onDropped(plugin: string, events: number): void {
    this.#dropped.add([plugin], events);
  }
}
