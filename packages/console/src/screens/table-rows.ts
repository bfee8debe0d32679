/** Which rows of a table are shown, and in which order. Pure. */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { TableColumn } from "@kcp-ts/sdk/client";
import type { LiveTableRow } from "@kcp-ts/sdk/informer";

export interface RowQuery {
  /** A part of the name. */
  readonly name?: string | undefined;
  readonly wrong?: string | undefined;
  /** A column; a minus in front sorts downwards. */
  readonly sort?: string | undefined;
}

const fine =
  /^(?:true|ready|running|active|bound|completed?|succeeded|stable|available|normal|allreplicasscheduled|\s*)$/i;
const stateColumn = /^(?:ready|status|phase|available|synced|scheduled)$/i;
/** Columns that count what the column `Desired` wants. */
const countColumn = /^(?:scheduled|current|ready|available)$/i;

/** A row whose columns of state say that something is not as it should be. */
export function looksWrong(columns: readonly TableColumn[], cells: readonly JsonValue[]): boolean {
  const desired = cells[columns.findIndex(({ name }) => name === "Desired")];
  return columns.some(({ name }, at) => {
    const text = String(cells[at] ?? "");
    const ratio = /^(\d+)\/(\d+)$/.exec(text);
    if (ratio !== null) return ratio[1] !== ratio[2];
    if (countColumn.test(name) && typeof desired === "number") return Number(text) < desired;
    if (name === "Type") return text === "Warning";
    return stateColumn.test(name) && !/^\d+$/.test(text) && !fine.test(text);
  });
}

/**
 * `before` is what was shown before: a row that changes seldom moves, and rows that are almost in
 * order are sorted in one walk over them.
 */
export function selectRows(
  columns: readonly TableColumn[],
  rows: readonly LiveTableRow[],
  { name = "", wrong, sort = "" }: RowQuery,
  before: readonly LiveTableRow[] = [],
): readonly LiveTableRow[] {
  const shown =
    name === "" && wrong !== "true"
      ? rows
      : rows.filter(
          (row) =>
            row.metadata.name.includes(name) &&
            (wrong !== "true" || looksWrong(columns, row.cells)),
        );
  const column = columns.findIndex((one) => one.name === sort.replace(/^-/, ""));
  if (column === -1) return shown;
  const isAge = columns[column]?.name === "Age";
  const value = (row: LiveTableRow): JsonValue =>
    isAge ? -Date.parse(row.metadata.creationTimestamp ?? "") : (row.cells[column] ?? "");
  const factor = sort.startsWith("-") ? -1 : 1;
  return inOrderOf(before, shown)
    .map((row) => ({ row, value: value(row) }))
    .sort((a, b) => factor * compare(a.value, b.value) || (a.row.key < b.row.key ? -1 : 1))
    .map(({ row }) => row);
}

/** The rows, as far as they were there before in that order. */
function inOrderOf(
  before: readonly LiveTableRow[],
  rows: readonly LiveTableRow[],
): readonly LiveTableRow[] {
  if (before.length === 0) return rows;
  const left = new Map(rows.map((row) => [row.key, row]));
  const known = before.flatMap(({ key }) => {
    const row = left.get(key);
    left.delete(key);
    return row === undefined ? [] : [row];
  });
  return [...known, ...left.values()];
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(a: JsonValue, b: JsonValue): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

const widthMax = 48;

/** The characters of a column, by its name and some of its cells. */
export function columnWidth(name: string, at: number, rows: readonly LiveTableRow[]): number {
  const step = Math.max(1, Math.floor(rows.length / 200));
  let longest = name.length + 2;
  for (let row = 0; row < rows.length; row += step)
    longest = Math.max(longest, String(rows[row]?.cells[at] ?? "").length);
  return Math.min(widthMax, longest) + 2;
}
