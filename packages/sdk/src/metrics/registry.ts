/**
 * A small registry of metrics with Prometheus' text output.
 *
 * Series are bounded: a label whose values come from tenants would otherwise be a leak. Series
 * beyond the limit are counted together under the label value `overflow`.
 */
import { assert } from "@kcp-ts/machinery/base";
import { formatSeries, type SeriesText } from "./text-format.ts";

export interface MetricOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

export interface HistogramOptions<Label extends string> extends MetricOptions<Label> {
  /** Upper bounds in ascending order; one for infinity is added. */
  readonly buckets: readonly number[];
}

export type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

/** The maximum number of series per metric. */
export const seriesPerMetricMax = 1000;

export class MetricsRegistry {
  readonly #metrics = new Map<string, Metric>();

  counter<Label extends string = never>(options: MetricOptions<Label>): Family<Counter, Label> {
    return this.#family("counter", options, () => new Counter());
  }

  gauge<Label extends string = never>(options: MetricOptions<Label>): Family<Gauge, Label> {
    return this.#family("gauge", options, () => new Gauge());
  }

  histogram<Label extends string = never>(
    options: HistogramOptions<Label>,
  ): Family<Histogram, Label> {
    return this.#family("histogram", options, () => new Histogram(options.buckets));
  }

  /** Prometheus' text format 0.0.4. */
  text(): string {
    let text = "";
    for (const metric of this.#metrics.values()) text += metric.text();
    return text;
  }

  /**
   * Requesting the same metric twice returns the identical one, so that two controllers share
   * `workqueue_depth`.
   */
  #family<Series extends SeriesText, Label extends string>(
    type: string,
    options: MetricOptions<Label>,
    make: () => Series,
  ): Family<Series, Label> {
    const labels = options.labels ?? [];
    const known = this.#metrics.get(options.name);
    if (known !== undefined) {
      const isSame = known.type === type && known.labels.join() === labels.join();
      assert(isSame, `metric ${options.name} exists with another type or other labels`);
      return known as unknown as Family<Series, Label>;
    }
    const family = new Family<Series, Label>(type, options, make);
    this.#metrics.set(options.name, family);
    return family;
  }
}

interface Metric {
  readonly type: string;
  readonly labels: readonly string[];
  text(): string;
}

/** All series of one metric. */
export class Family<Series extends SeriesText, Label extends string> implements Metric {
  readonly type: string;
  readonly labels: readonly Label[];
  readonly #options: MetricOptions<Label>;
  readonly #make: () => Series;
  readonly #series = new Map<
    string,
    { readonly values: readonly string[]; readonly one: Series }
  >();

  constructor(type: string, options: MetricOptions<Label>, make: () => Series) {
    this.type = type;
    this.labels = options.labels ?? [];
    this.#options = options;
    this.#make = make;
  }

  /** The series with these label values. Callers on hot paths keep it. */
  with(labels: LabelValues<Label>): Series {
    const values = this.labels.map((label) => labels[label]);
    return this.#find(values) ?? this.#add(values);
  }

  remove(labels: LabelValues<Label>): void {
    this.#series.delete(seriesKey(this.labels.map((label) => labels[label])));
  }

  text(): string {
    const { name, help } = this.#options;
    let text = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n`;
    text += `# TYPE ${name} ${this.type}\n`;
    for (const { values, one } of this.#series.values()) {
      for (const sample of one.samples()) text += formatSeries(name, this.labels, values, sample);
    }
    return text;
  }

  #find(values: readonly string[]): Series | undefined {
    return this.#series.get(seriesKey(values))?.one;
  }

  #add(values: readonly string[]): Series {
    if (this.#series.size >= seriesPerMetricMax) {
      const overflow = values.map(() => "overflow");
      const found = this.#find(overflow);
      if (found !== undefined) return found;
      values = overflow;
    }
    const one = this.#make();
    this.#series.set(seriesKey(values), { values, one });
    return one;
  }
}

export class Counter implements SeriesText {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  increment(by = 1): void {
    assert(by >= 0, "a counter only goes up");
    this.#value += by;
  }

  samples() {
    return [{ suffix: "", value: this.#value }];
  }
}

export class Gauge implements SeriesText {
  #value = 0;
  #read: (() => number) | undefined;
  readonly #readers = new Set<() => number>();

  get value(): number {
    return this.#read === undefined ? this.#value : this.#read();
  }

  set(value: number): void {
    this.#value = value;
  }

  add(by: number): void {
    this.#value += by;
  }

  /** Called when the metrics are read, for values that change by themselves, such as ages. */
  readBy(read: () => number): void {
    this.#read = read;
  }

  /**
   * The same for one of several that share a series, such as queues of one name: their values are
   * added, or combined. The result removes the reader.
   */
  addReader(read: () => number, combine = (a: number, b: number) => a + b): () => void {
    this.#readers.add(read);
    this.#read = () => [...this.#readers].reduce((value, each) => combine(value, each()), 0);
    return () => this.#readers.delete(read);
  }

  samples() {
    return [{ suffix: "", value: this.value }];
  }
}

export class Histogram implements SeriesText {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  get count(): number {
    return this.#count;
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count++;
    for (let i = 0; i < this.#bounds.length; i++) {
      if (value <= (this.#bounds[i] as number)) {
        this.#counts[i] = (this.#counts[i] as number) + 1;
        return;
      }
    }
  }

  samples() {
    let total = 0;
    const buckets = this.#bounds.map((bound, i) => {
      total += this.#counts[i] as number;
      return { suffix: "_bucket", le: String(bound), value: total };
    });
    return [
      ...buckets,
      { suffix: "_bucket", le: "+Inf", value: this.#count },
      { suffix: "_sum", value: this.#sum },
      { suffix: "_count", value: this.#count },
    ];
  }
}

function seriesKey(values: readonly string[]): string {
  return values.join("\u0000");
}
