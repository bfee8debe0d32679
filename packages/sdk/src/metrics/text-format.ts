/** One line of Prometheus' text format. */
export interface Sample {
  /** `_bucket`, `_sum`, `_count`, or nothing. */
  readonly suffix: string;
  readonly le?: string;
  readonly value: number;
}

export interface SeriesText {
  samples(): readonly Sample[];
}

export function formatSeries(
  name: string,
  labels: readonly string[],
  values: readonly string[],
  { suffix, le, value }: Sample,
): string {
  const pairs = labels.map((label, i) => `${label}="${escapeValue(values[i] ?? "")}"`);
  if (le !== undefined) pairs.push(`le="${le}"`);
  const braces = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `${name}${suffix}${braces} ${formatNumber(value)}\n`;
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
