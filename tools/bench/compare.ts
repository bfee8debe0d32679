/**
 * From what was measured side by side to rows: ours against each ceiling, every other server
 * against ours.
 */
import type { Measured } from "./measure.ts";
import { against, type Report, type Unit, type Wanted } from "./report.ts";

export interface Comparison {
  readonly work: string;
  /** Rates as they are; times are of one request when one is in flight. */
  readonly unit: Extract<Unit, "/s" | "ms" | "µs">;
  /** Ours first, then the other servers, then the ceilings. */
  readonly measured: readonly Measured[];
  /** How many of them are servers. */
  readonly servers: number;
  /** What is wanted of ours against the ceiling of that name. */
  readonly wanted?: Readonly<Record<string, Wanted>>;
}

export function compare(report: Report, comparison: Comparison): void {
  const { work, unit, measured, servers, wanted = {} } = comparison;
  const [ours, ...others] = measured;
  if (ours === undefined) throw new Error(`${work}: nothing was measured`);
  const figure = figureOf(ours, unit);
  const row = { work, server: ours.name, figure, unit, cpuMicros: ours.cpuMicros };
  const ceilings = others.slice(servers - 1);
  if (ceilings.length === 0) report.add(row);
  for (const ceiling of ceilings) {
    report.add({
      ...row,
      against: against(ceiling.name, figure, figureOf(ceiling, unit), ceiling.cpuMicros),
      wanted: wanted[ceiling.name],
    });
  }
  for (const other of others.slice(0, servers - 1)) {
    const theirs = figureOf(other, unit);
    const compared = against(ours.name, theirs, figure);
    report.add({ work, server: other.name, figure: theirs, unit, against: compared });
  }
}

function figureOf({ perSecond }: Measured, unit: Comparison["unit"]): number {
  if (unit === "/s") return perSecond;
  return (unit === "ms" ? 1000 : 1_000_000) / perSecond;
}
