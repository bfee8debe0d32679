/** The server's own metrics, under the names that dashboards for Kubernetes know. */
import { Counter, Gauge, Histogram, MetricRegistry } from "./metrics.ts";

export interface ServerGauges {
  readonly watchers: () => number;
  readonly inFlight: () => { readonly readOnly: number; readonly mutating: number };
  readonly revision: () => number;
  readonly cachedCollections: () => number;
  readonly cachedBytes: () => number;
}

export interface RequestSample {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly code: number;
  readonly seconds: number;
  readonly isLongRunning: boolean;
}

const durationBounds = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 4, 6, 10, 30, 60];

export class ServerMetrics {
  readonly registry = new MetricRegistry();
  readonly #total = this.registry.add(
    new Counter({
      name: "apiserver_request_total",
      help: "Requests by verb, resource and answer.",
      labels: ["verb", "group", "version", "resource", "subresource", "scope", "code"],
    }),
  );
  readonly #duration = this.registry.add(
    new Histogram(
      {
        name: "apiserver_request_duration_seconds",
        help: "Time from the request's arrival to the end of its answer, watches left out.",
        labels: ["verb", "group", "version", "resource", "subresource", "scope"],
      },
      durationBounds,
    ),
  );

  constructor(gauges: ServerGauges) {
    const gauge = (name: string, help: string, read: () => number) =>
      this.registry.add(new Gauge({ name, help, labels: [] }, () => [[[], read()]]));
    gauge("apiserver_longrunning_requests", "Open watches.", gauges.watchers);
    gauge(
      "apiserver_storage_revision",
      "The newest revision this server has seen.",
      gauges.revision,
    );
    gauge(
      "apiserver_watch_cache_collections",
      "Collections held in memory.",
      gauges.cachedCollections,
    );
    gauge(
      "apiserver_watch_cache_bytes",
      "Bytes of the collections held in memory.",
      gauges.cachedBytes,
    );
    gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
    gauge("process_start_time_seconds", "When the process started.", () => startedAt);
    this.registry.add(
      new Gauge(
        {
          name: "apiserver_current_inflight_requests",
          help: "Requests being served now.",
          labels: ["request_kind"],
        },
        () => {
          const { readOnly, mutating } = gauges.inFlight();
          return [
            [["readOnly"], readOnly],
            [["mutating"], mutating],
          ];
        },
      ),
    );
  }

  observe(sample: RequestSample): void {
    const { verb, group, version, resource, subresource, scope } = sample;
    const key = `${verb}\0${group}\0${version}\0${resource}\0${subresource}\0${scope}`;
    this.#total.addAt(`${key}\0${sample.code}`);
    if (!sample.isLongRunning) this.#duration.observeAt(key, sample.seconds);
  }
}

const startedAt = Math.floor(performance.timeOrigin / 1000);
