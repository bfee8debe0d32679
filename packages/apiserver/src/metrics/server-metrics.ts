/** The server's own metrics, under the names that dashboards for Kubernetes use. */
import {
  Counter,
  Gauge,
  Histogram,
  type HistogramSeries,
  MetricRegistry,
  type MetricSource,
} from "./metrics.ts";

export interface ServerGauges {
  readonly inFlight: () => { readonly readOnly: number; readonly mutating: number };
  readonly revision: () => number;
  readonly collections: {
    readonly size: number;
    readonly bytes: number;
    readonly bytesMax: number;
  };
  /** By resource, for those that are known. */
  /** Set to be notified of lists that are answered from memory. */
  readonly cachedLists: { onCachedList: ((group: string, resource: string) => void) | undefined };
  readonly storedObjects: () => Iterable<readonly [labels: readonly string[], count: number]>;
}

export interface RequestSample {
  readonly verb: string;
  readonly dryRun: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly code: number;
  readonly seconds: number;
  readonly isLongRunning: boolean;
}

/** The series of a request; undefined where there are too many. */
interface SampleSeries {
  readonly sample: RequestSample;
  readonly total: { value: number } | undefined;
  readonly duration: HistogramSeries | undefined;
  readonly sli: HistogramSeries | undefined;
  readonly sizes: HistogramSeries | undefined;
  /** Notified when a watch begins and ends, shared by all watches with the same labels. */
  readonly longRunningObserver:
    | { readonly onBegin: () => void; readonly onEnd: () => void }
    | undefined;
}

function isAlike(a: RequestSample, b: RequestSample): boolean {
  return (
    a.code === b.code &&
    a.verb === b.verb &&
    a.dryRun === b.dryRun &&
    a.resource === b.resource &&
    a.scope === b.scope &&
    a.isLongRunning === b.isLongRunning &&
    a.subresource === b.subresource &&
    a.version === b.version &&
    a.group === b.group
  );
}

const trackedMax = 256;
const shownMax = 10;
/** One request of so many is counted, as that many: a power of two. */
export const topTenantsSampling = 64;

interface TopTenantsOptions {
  readonly name: string;
  readonly help: string;
  /** A power of two; 1 counts each. */
  readonly sampling: number;
}

const topRequests: TopTenantsOptions = {
  name: "kcp_top_tenant_requests",
  help: `The ${shownMax} logical clusters with the most recent requests, sampled; halved at each scrape.`,
  sampling: topTenantsSampling,
};
const topThrottled: TopTenantsOptions = {
  name: "kcp_top_tenant_throttled_requests",
  help: `The ${shownMax} logical clusters with the most recent requests that were answered with 429; halved at each scrape.`,
  sampling: 1,
};
const topWatches: TopTenantsOptions = {
  name: "kcp_top_tenant_watches",
  help: `The ${shownMax} logical clusters with the most recently opened watches; halved at each scrape.`,
  sampling: 1,
};

/**
 * The logical clusters with the most requests, without a series for each of them: the Space-Saving
 * algorithm (Metwally and others, 2005) over a sample of the requests. Of the tracked clusters, the
 * one with the fewest requests makes place for a new one, which inherits its count; so the largest
 * are never missed, and a count is too large by at most that of the smallest.
 */
export class TopTenants implements MetricSource {
  readonly #counts = new Map<string, number>();
  readonly #options: TopTenantsOptions;
  #requests = 0;

  constructor(options: TopTenantsOptions = topRequests) {
    this.#options = options;
  }

  /** On the way of every request: one addition for most of them. */
  record(cluster: string): void {
    const { sampling } = this.#options;
    if ((++this.#requests & (sampling - 1)) !== 0) return;
    const known = this.#counts.get(cluster);
    if (known !== undefined || this.#counts.size < trackedMax) {
      this.#counts.set(cluster, (known ?? 0) + sampling);
      return;
    }
    const [smallest, count] = this.#smallest();
    this.#counts.delete(smallest);
    this.#counts.set(cluster, count + sampling);
  }

  #smallest(): readonly [string, number] {
    let found: readonly [string, number] = ["", Number.POSITIVE_INFINITY];
    for (const entry of this.#counts) if (entry[1] < found[1]) found = entry;
    return found;
  }

  /** Halves all counts after it is read: the list shows recent requests, and forgets old ones. */
  render(): string {
    const { name, help, sampling } = this.#options;
    const top = [...this.#counts].sort(([, a], [, b]) => b - a).slice(0, shownMax);
    for (const [cluster, count] of this.#counts) {
      if (count <= sampling) this.#counts.delete(cluster);
      else this.#counts.set(cluster, count / 2);
    }
    const lines = top.map(([cluster, count]) => `${name}{cluster="${cluster}"} ${count}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
  }
}

/** The buckets of kube-apiserver, on which dashboards and alerts are built. */
const sliBounds = [
  ...[0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
];
const durationBounds = [0.005, 0.025, ...sliBounds];
const sizeBounds = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

const place = ["group", "version", "resource", "subresource", "scope", "component"];
/** The value of the label `component`, as in kube-apiserver. */
const component = "apiserver";

export class ServerMetrics {
  readonly registry = new MetricRegistry();
  readonly #total = this.registry.add(
    new Counter({
      name: "apiserver_request_total",
      help: "Requests by verb, resource and answer.",
      labels: ["verb", "dry_run", ...place, "code"],
    }),
  );
  readonly #duration = this.registry.add(
    new Histogram(
      {
        name: "apiserver_request_duration_seconds",
        help: "Time from the request's arrival to the end of its answer, watches left out.",
        labels: ["verb", "dry_run", ...place],
      },
      durationBounds,
    ),
  );
  readonly #sli = this.registry.add(
    new Histogram(
      {
        name: "apiserver_request_sli_duration_seconds",
        help: "The same; what a request waits for others, or for webhooks, is not left out.",
        labels: ["verb", ...place],
      },
      sliBounds,
    ),
  );
  readonly #sizes = this.registry.add(
    new Histogram(
      {
        name: "apiserver_response_sizes",
        help: "Bytes of the answers to reads.",
        labels: ["verb", ...place],
      },
      sizeBounds,
    ),
  );
  readonly #longRunning = this.registry.add(
    new Counter(
      { name: "apiserver_longrunning_requests", help: "Open watches.", labels: ["verb", ...place] },
      "gauge",
    ),
  );

  readonly #memoryLists = this.registry.add(
    new Counter({
      name: "apiserver_cache_list_total",
      help: "Lists that were answered from memory.",
      labels: ["group", "index", "resource"],
    }),
  );

  readonly topTenants = this.registry.add(new TopTenants());
  readonly topThrottled = this.registry.add(new TopTenants(topThrottled));
  readonly topWatches = this.registry.add(new TopTenants(topWatches));

  #last: SampleSeries | undefined;

  constructor(gauges: ServerGauges) {
    gauges.cachedLists.onCachedList = (group, resource) =>
      this.#memoryLists.add([group, "", resource]);
    const gauge = (name: string, help: string, read: () => number) =>
      this.registry.add(new Gauge({ name, help, labels: [] }, () => [[[], read()]]));
    gauge("kcp_storage_revision", "The newest revision this server has seen.", gauges.revision);
    gauge(
      "kcp_watch_cache_collections",
      "Key ranges of collections in memory.",
      () => gauges.collections.size,
    );
    gauge(
      "kcp_watch_cache_bytes",
      "Bytes of the collections in memory.",
      () => gauges.collections.bytes,
    );
    gauge(
      "kcp_watch_cache_limit_bytes",
      "The limit of bytes of collections in memory.",
      () => gauges.collections.bytesMax,
    );
    this.registry.add(
      new Gauge(
        {
          name: "apiserver_storage_objects",
          help: "Stored objects of built-in kinds, in all logical clusters.",
          labels: ["resource"],
        },
        gauges.storedObjects,
      ),
    );
    this.registry.add(
      new Gauge(
        { name: "process_cpu_seconds_total", help: "Time of the processors.", labels: [] },
        () => [[[], cpuSeconds()]],
        "counter",
      ),
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

  /** Records a request, and the size of its response where it is known. */
  observe(sample: RequestSample, bytes?: number): void {
    const series = this.#seriesOf(sample);
    if (series.total !== undefined) series.total.value++;
    if (series.duration !== undefined) this.#duration.observeIn(series.duration, sample.seconds);
    if (series.sli !== undefined) this.#sli.observeIn(series.sli, sample.seconds);
    if (bytes !== undefined && series.sizes !== undefined)
      this.#sizes.observeIn(series.sizes, bytes);
  }

  /** Records the size of a response that was streamed. */
  observeSize(sample: RequestSample, bytes: number): void {
    const { sizes } = this.#seriesOf(sample);
    if (sizes !== undefined) this.#sizes.observeIn(sizes, bytes);
  }

  /** The observer of a watch from its beginning to its end. */
  longRunningObserverOf(sample: RequestSample): SampleSeries["longRunningObserver"] {
    return this.#seriesOf(sample).longRunningObserver;
  }

  /**
   * Requests of one kind are often consecutive: the series of the last one are found without
   * joining their labels.
   */
  #seriesOf(sample: RequestSample): SampleSeries {
    if (this.#last !== undefined && isAlike(this.#last.sample, sample)) return this.#last;
    const { verb, dryRun, group, version, resource, subresource, scope, code } = sample;
    const { isLongRunning } = sample;
    const at = `${group}\0${version}\0${resource}\0${subresource}\0${scope}\0${component}`;
    const ofVerb = `${verb}\0${at}`;
    const ofRun = `${verb}\0${dryRun}\0${at}`;
    const isRead = verb === "GET" || verb === "LIST";
    this.#last = {
      sample,
      total: this.#total.seriesAt(`${ofRun}\0${code}`),
      duration: isLongRunning ? undefined : this.#duration.seriesAt(ofRun),
      sli: isLongRunning ? undefined : this.#sli.seriesAt(ofVerb),
      sizes: isRead && !isLongRunning ? this.#sizes.seriesAt(ofVerb) : undefined,
      longRunningObserver: isLongRunning
        ? longRunningObserver(this.#longRunning.seriesAt(ofVerb))
        : undefined,
    };
    return this.#last;
  }
}

function longRunningObserver(
  series: { value: number } | undefined,
): SampleSeries["longRunningObserver"] {
  if (series === undefined) return undefined;
  return { onBegin: () => series.value++, onEnd: () => series.value-- };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const startedAt = Math.floor(performance.timeOrigin / 1000);
