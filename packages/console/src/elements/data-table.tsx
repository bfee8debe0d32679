/**
 * DataTable: rows of which only those on the screen exist. Arrows move the focus from row to row,
 * Enter opens a row, and Space selects it.
 */
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { rowOfKey, scrollToRow, useVirtualRows } from "./virtual-rows.ts";

export interface TableColumn {
  readonly name: string;
  readonly description?: string | undefined;
  /** Characters. */
  readonly width: number;
}

export interface DataRow {
  readonly key: string;
  /** Where the row leads. */
  readonly address?: string | undefined;
  readonly cells: readonly ComponentChildren[];
}

interface DataTableProps {
  readonly label: string;
  readonly columns: readonly TableColumn[];
  readonly count: number;
  /** Called for rows on the screen only. */
  readonly row: (index: number) => DataRow;
  readonly sort?: { readonly column: string; readonly isDescending: boolean } | undefined;
  readonly onSort?: ((column: string) => void) | undefined;
  /** Called when the last rows are on the screen, and again when more were loaded. */
  readonly onEnd?: (() => void) | undefined;
  /** How many rows were loaded for those that are shown. */
  readonly loaded?: number | undefined;
  readonly onOpen?: ((address: string) => void) | undefined;
}

const rowPixels = 28;

export function DataTable(props: DataTableProps) {
  const { columns, count, label } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState(-1);
  const active = Math.min(chosen, count - 1);
  const { drawn, isAtEnd, pageRows } = useVirtualRows(scroller, count, rowPixels, active);
  useEffect(() => {
    if (isAtEnd) props.onEnd?.();
  }, [isAtEnd, count, props.loaded]);
  useLayoutEffect(() => {
    const row = scroller.current?.querySelector<HTMLElement>("tr[tabindex='0']");
    if (scroller.current?.contains(document.activeElement)) row?.focus({ preventScroll: true });
  }, [active]);
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    // Rows change under the focus: where it is says the row, and not where it was.
    const row = (event.target as Element).closest<HTMLElement>("tbody tr");
    const from = row === null ? active : Number(row.ariaRowIndex) - 2;
    const to = rowOfKey(event, from, count, pageRows);
    if (to !== undefined) {
      setChosen(to);
      scrollToRow(scroller, to, rowPixels, rowPixels);
    } else if (row === null || event.target !== row) return;
    else if (event.key === "Enter") {
      const { address } = props.row(from);
      if (address !== undefined) props.onOpen?.(address);
    } else if (event.key === " ") row.querySelector<HTMLElement>("input")?.click();
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="scroller"
      ref={scroller}
      tabIndex={active < 0 ? 0 : -1}
      role="region"
      aria-label={`${label}: rows`}
      onKeyDown={onKey}
    >
      <table class="data" aria-label={label} aria-rowcount={count + 1}>
        <colgroup>
          {columns.map(({ name, width }) => (
            <col key={name} style={{ width: `${width}ch` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>{columns.map((column) => heading(column, props))}</tr>
        </thead>
        <tbody>
          {drawn.flatMap((index, at) => [
            ...spacer(at === 0 ? "above" : "between", index - 1 - (drawn[at - 1] ?? -1), columns),
            drawnRow(props.row(index), index, index === active),
          ])}
          {spacer("below", count - 1 - (drawn.at(-1) ?? -1), columns)}
        </tbody>
      </table>
    </div>
  );
}

function heading({ name, description }: TableColumn, { sort, onSort }: DataTableProps) {
  const isSorted = sort?.column === name;
  const direction = isSorted ? (sort?.isDescending ? "descending" : "ascending") : "none";
  return (
    <th key={name} scope="col" aria-sort={direction} title={description}>
      {onSort === undefined || name === "" ? (
        name
      ) : (
        <button type="button" class="plain" onClick={() => onSort(name)}>
          {name}
          {isSorted ? <span aria-hidden="true">{sort?.isDescending ? " ↓" : " ↑"}</span> : null}
        </button>
      )}
    </th>
  );
}

function drawnRow({ key, cells, address }: DataRow, index: number, isActive: boolean) {
  return (
    <tr
      key={key}
      aria-rowindex={index + 2}
      tabIndex={isActive ? 0 : -1}
      class={isActive ? "active" : ""}
      data-address={address}
    >
      {cells.map((cell, at) => (
        <td key={at} title={typeof cell === "string" ? cell.slice(0, 500) : undefined} dir="auto">
          {cell}
        </td>
      ))}
    </tr>
  );
}

function spacer(key: string, rows: number, columns: readonly TableColumn[]) {
  if (rows <= 0) return [];
  return [
    <tr key={key} class="spacer" aria-hidden="true">
      <td colSpan={columns.length} style={{ height: `${rows * rowPixels}px` }} />
    </tr>,
  ];
}
