/** Metrics of the process beside those of requests: version, store, features, event loop. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { kcpVersion } from "@kcp-ts/machinery/base";
import { Gauge, MetricRegistry, type MetricSource } from "./metrics.ts";

export interface ProcessInfo {
  readonly backend: string;
  /** Of the production checklist: whether each is on. */
  readonly features: Readonly<Record<string, boolean>>;
}

const resolutionMs = 20;

export class ProcessMetrics implements MetricSource {
  readonly #registry = new MetricRegistry();
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });

  constructor({ backend, features }: ProcessInfo) {
    this.#add("kcp_build_info", "The version of the server; the value is 1.", "version", () => [
      [[kcpVersion], 1],
    ]);
    this.#add("kcp_storage_info", "The storage backend; the value is 1.", "backend", () => [
      [[backend], 1],
    ]);
    this.#add(
      "kcp_feature_enabled",
      "Whether a feature of the production checklist is on.",
      "feature",
      () => Object.entries(features).map(([feature, isOn]) => [[feature], isOn ? 1 : 0]),
    );
    this.#add(
      "nodejs_eventloop_delay_seconds",
      "By how much timers of the event loop were late, since the last scrape.",
      "quantile",
      () => ["0.5", "0.99", "1"].map((quantile) => [[quantile], this.#seconds(Number(quantile))]),
    );
    this.#delay.enable();
  }

  render(): string {
    const text = this.#registry.render();
    this.#delay.reset();
    return text;
  }

  stop(): void {
    this.#delay.disable();
  }

  #seconds(quantile: number): number {
    return Math.max(0, this.#delay.percentile(quantile * 100) / 1e9 - resolutionMs / 1e3);
  }

  #add(
    name: string,
    help: string,
    label: string,
    read: () => Iterable<readonly [readonly string[], number]>,
  ): void {
    this.#registry.add(new Gauge({ name, help, labels: [label] }, read));
  }
}
