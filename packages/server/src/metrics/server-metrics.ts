/** The server's own metrics, under the names that dashboards for Kubernetes know. */
import { Counter, Gauge, Histogram, type HistogramSeries, MetricRegistry } from "./metrics.ts";

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

/** What a request is counted in; undefined where there are too many series. */
interface SampleSeries {
  readonly sample: RequestSample;
  readonly total: { value: number } | undefined;
  readonly duration: HistogramSeries | undefined;
}

function isAlike(a: RequestSample, b: RequestSample): boolean {
  return (
    a.code === b.code &&
    a.verb === b.verb &&
    a.resource === b.resource &&
    a.scope === b.scope &&
    a.isLongRunning === b.isLongRunning &&
    a.subresource === b.subresource &&
    a.version === b.version &&
    a.group === b.group
  );
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

  #last: SampleSeries | undefined;

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
    const series = this.#seriesOf(sample);
    if (series.total !== undefined) series.total.value++;
    if (series.duration !== undefined && !sample.isLongRunning)
      this.#duration.observeIn(series.duration, sample.seconds);
  }

  /** Requests of one kind come in rows: the series of the one before are found without putting their labels together. */
  #seriesOf(sample: RequestSample): SampleSeries {
    if (this.#last !== undefined && isAlike(this.#last.sample, sample)) return this.#last;
    const { verb, group, version, resource, subresource, scope, code, isLongRunning } = sample;
    const key = `${verb}\0${group}\0${version}\0${resource}\0${subresource}\0${scope}`;
    this.#last = {
      sample,
      total: this.#total.seriesAt(`${key}\0${code}`),
      duration: isLongRunning ? undefined : this.#duration.seriesAt(key),
    };
    return this.#last;
  }
}

const startedAt = Math.floor(performance.timeOrigin / 1000);
