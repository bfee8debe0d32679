/** Values of a server's metrics, from Prometheus' text format. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function samplesOf(text: string, metric: string): readonly Sample[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .map((line) => ({
      labels: Object.fromEntries(
        [...line.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [
          name,
          value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped)),
        ]),
      ),
      value: Number(line.slice(line.lastIndexOf(" ") + 1)),
    }));
}

export function sumOf(text: string, metric: string): number | undefined {
  const samples = samplesOf(text, metric);
  if (samples.length === 0) return undefined;
  return samples.reduce((sum, { value }) => sum + value, 0);
}
