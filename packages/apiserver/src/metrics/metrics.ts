/**
 * Counters, gauges and histograms with fixed label sets, in Prometheus' text format, without a
 * library.
 *
 * Labels never name a tenant, so the number of series does not grow with the number of logical
 * clusters.
 */
export interface MetricSource {
  render(): string;
}

export class MetricRegistry {
  readonly #sources: MetricSource[] = [];

  add<Source extends MetricSource>(source: Source): Source {
    this.#sources.push(source);
    return source;
  }

  render(): string {
    return this.#sources.map((source) => source.render()).join("");
  }
}

interface Description {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** The separator of label values in a key; no label value contains it. */
const separator = "\0";

/** The series per metric; invented methods and resources must not grow it. */
const seriesMax = 5000;

export class Counter implements MetricSource {
  readonly #description: Description;
  readonly #values = new Map<string, { value: number }>();
  readonly #type: "gauge" | "counter";

  /** `type` is gauge for values that also decrease. */
  constructor(description: Description, type: "gauge" | "counter" = "counter") {
    this.#description = description;
    this.#type = type;
  }

  add(labels: readonly string[], by = 1): void {
    const series = this.seriesAt(labels.join(separator));
    if (series !== undefined) series.value += by;
  }

  /**
   * The series of already joined label values, for the caller to increment; undefined when there
   * are too many.
   */
  seriesAt(key: string): { value: number } | undefined {
    const known = this.#values.get(key);
    if (known !== undefined || this.#values.size >= seriesMax) return known;
    const series = { value: 0 };
    this.#values.set(key, series);
    return series;
  }

  render(): string {
    const { name } = this.#description;
    const lines = [...this.#values].map(
      ([key, { value }]) =>
        `${name}${format(this.#description.labels, key.split(separator))} ${value}\n`,
    );
    return heading(this.#description, this.#type) + lines.join("");
  }
}

/** A value of another component, read on each scrape. */
export class Gauge implements MetricSource {
  readonly #description: Description;
  readonly #read: () => Iterable<readonly [labels: readonly string[], value: number]>;
  readonly #type: "gauge" | "counter";

  /** `type` is counter for values that only grow. */
  constructor(
    description: Description,
    read: () => Iterable<readonly [readonly string[], number]>,
    type: "gauge" | "counter" = "gauge",
  ) {
    this.#description = description;
    this.#read = read;
    this.#type = type;
  }

  render(): string {
    const lines = [...this.#read()].map(
      ([labels, value]) =>
        `${this.#description.name}${format(this.#description.labels, labels)} ${value}\n`,
    );
    return heading(this.#description, this.#type) + lines.join("");
  }
}

export interface HistogramSeries {
  readonly counts: number[];
  sum: number;
}

export class Histogram implements MetricSource {
  readonly #description: Description;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, HistogramSeries>();

  constructor(description: Description, bounds: readonly number[]) {
    this.#description = description;
    this.#bounds = bounds;
  }

  observe(labels: readonly string[], value: number): void {
    const series = this.seriesAt(labels.join(separator));
    if (series !== undefined) this.observeIn(series, value);
  }

  /**
   * Creates a series before the first observation: dashboards expect a zero, and the number of
   * series stays constant.
   */
  initialize(labels: readonly string[]): void {
    this.seriesAt(labels.join(separator));
  }

  /** The series of already joined label values; undefined when there are too many. */
  seriesAt(key: string): HistogramSeries | undefined {
    const known = this.#series.get(key);
    if (known !== undefined || this.#series.size >= seriesMax) return known;
    const series = { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 };
    this.#series.set(key, series);
    return series;
  }

  observeIn(series: HistogramSeries, value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    series.counts[at] = (series.counts[at] as number) + 1;
    series.sum += value;
  }

  render(): string {
    const { name, labels: names } = this.#description;
    let out = heading(this.#description, "histogram");
    for (const [key, { counts, sum }] of this.#series) {
      const labels = key.split(separator);
      let total = 0;
      for (const [i, count] of counts.entries()) {
        total += count;
        const bound = i < this.#bounds.length ? String(this.#bounds[i]) : "+Inf";
        out += `${name}_bucket${format([...names, "le"], [...labels, bound])} ${total}\n`;
      }
      out += `${name}_sum${format(names, labels)} ${sum}\n${name}_count${format(names, labels)} ${total}\n`;
    }
    return out;
  }
}

function heading({ name, help }: Description, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function format(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  const pairs = names.map((name, i) => `${name}="${escapeLabel(values[i] ?? "")}"`);
  return `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
