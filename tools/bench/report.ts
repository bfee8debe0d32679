/** Rows of figures, and how they are printed. */
import { loadavg } from "node:os";

export interface Row {
  readonly work: string;
  /** Whose figure it is: `kcp`, or a target of the command line. */
  readonly server: string;
  readonly figure: number;
  readonly unit: Unit;
  /** Processor time of the server for each request, all its threads together. */
  readonly cpuMicros?: number | undefined;
  /** What was measured beside it in the same rounds. */
  readonly against?: Against | undefined;
  readonly wanted?: Wanted | undefined;
}

export type Unit =
  | "/s"
  | "packages"
  | "ms"
  | "µs"
  | "MB"
  | "bytes"
  | "errors"
  | "series"
  | "requests"
  | "MB/s"
  | "replicas"
  | "watches"
  | "%";

export interface Against {
  readonly name: string;
  readonly figure: number;
  readonly cpuMicros?: number | undefined;
  /** Our figure divided by that one. */
  readonly ratio: number;
}

/** A bound of the row's ratio or of its figure. */
export interface Wanted {
  readonly what: "ratio" | "figure";
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface ReportedRow extends Row {
  readonly verdict: "ok" | "short" | undefined;
  /**
   * The machine's load over the last minute when the row was done; the benchmark's own is part of
   * it.
   */
  readonly loadAverage: number;
}

export class Report {
  readonly rows: ReportedRow[] = [];
  readonly #onRow: (row: ReportedRow) => void;

  constructor(onRow: (row: ReportedRow) => void = () => undefined) {
    this.#onRow = onRow;
  }

  add(row: Row): void {
    const reported = { ...row, verdict: verdictOf(row), loadAverage: loadavg()[0] ?? 0 };
    this.rows.push(reported);
    this.#onRow(reported);
  }
}

export function against(
  name: string,
  ours: number,
  theirs: number,
  cpuMicros?: number | undefined,
): Against {
  return { name, figure: theirs, cpuMicros, ratio: ours / theirs };
}

function verdictOf({ figure, against, wanted }: Row): ReportedRow["verdict"] {
  if (wanted === undefined) return undefined;
  const value = wanted.what === "ratio" ? (against?.ratio ?? Number.NaN) : figure;
  const isMet =
    value >= (wanted.atLeast ?? Number.NEGATIVE_INFINITY) &&
    value <= (wanted.atMost ?? Number.POSITIVE_INFINITY);
  return isMet ? "ok" : "short";
}

const widths = [46, 8, 15, 10, 54, 8, 14, 6, 6];
const titles = ["work", "server", "figure", "CPU each", "beside it", "ratio", "wanted", "", "load"];

export function tableHeader(): string {
  return line(titles);
}

export function tableLine(row: ReportedRow): string {
  const { work, server, figure, unit, cpuMicros, against, wanted, verdict, loadAverage } = row;
  return line([
    work,
    server,
    shown(figure, unit),
    cpuMicros === undefined ? "" : shown(cpuMicros, "µs"),
    against === undefined ? "" : shownAgainst(against, unit),
    against === undefined ? "" : against.ratio.toFixed(2),
    wanted === undefined ? "" : shownWanted(wanted, unit),
    verdict ?? "",
    loadAverage.toFixed(1),
  ]);
}

function shownAgainst({ name, figure, cpuMicros }: Against, unit: Unit): string {
  const cpu = cpuMicros === undefined ? "" : ` (CPU ${shown(cpuMicros, "µs")})`;
  return `${name} ${shown(figure, unit)}${cpu}`;
}

function shownWanted({ what, atLeast, atMost }: Wanted, unit: Unit): string {
  const value = atLeast ?? atMost ?? 0;
  const text = what === "ratio" ? String(value) : shown(value, unit);
  return `${atLeast === undefined ? "<=" : ">="} ${text}`;
}

function shown(figure: number, unit: Unit): string {
  const digits = Math.abs(figure) >= 100 ? 0 : Math.abs(figure) >= 10 ? 1 : 2;
  const text = figure.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}

function line(cells: readonly string[]): string {
  return cells
    .map((cell, at) => cell.padEnd(widths[at] ?? 0))
    .join(" ")
    .trimEnd();
}
