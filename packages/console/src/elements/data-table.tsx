/**
 * DataTable: rows of which only those on the screen exist. A row has a fixed height, so that the
 * place of any row is known without drawing the others.
 */
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

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
const overscan = 12;

/** The part of the scroller that is seen. */
function useView(scroller: { readonly current: HTMLElement | null }) {
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  return view;
}

/** The row that a key leads to. */
function rowOfKey(key: string, active: number, count: number, page: number): number | undefined {
  const to = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}

function scrollTo(element: HTMLElement | null, row: number): void {
  if (element === null) return;
  const top = row * rowPixels;
  const bottom = top + 2 * rowPixels;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (bottom > element.scrollTop + element.clientHeight)
    element.scrollTop = bottom - element.clientHeight;
}

export function DataTable(props: DataTableProps) {
  const { columns, count, label } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const view = useView(scroller);
  const [active, setActive] = useState(-1);
  const first = Math.max(0, Math.floor(view.top / rowPixels) - overscan);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowPixels) + overscan);
  const isAtEnd = last >= count;
  useEffect(() => {
    if (isAtEnd) props.onEnd?.();
  }, [isAtEnd, count, props.loaded]);
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const page = Math.floor(view.height / rowPixels) - 2;
    const to = rowOfKey(event.key, active, count, page);
    if (to !== undefined) {
      setActive(to);
      scrollTo(scroller.current, to);
    } else if (event.key === "Enter" && active >= 0 && event.target === event.currentTarget) {
      const { address } = props.row(active);
      if (address !== undefined) props.onOpen?.(address);
    } else return;
    event.preventDefault();
  };
  return (
    <div
      class="scroller"
      ref={scroller}
      tabIndex={0}
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
          <Spacer rows={first} columns={columns.length} />
          {rows.map((index) => drawnRow(props.row(index), index, index === active))}
          <Spacer rows={count - last} columns={columns.length} />
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
    <tr key={key} aria-rowindex={index + 2} class={isActive ? "active" : ""} data-address={address}>
      {cells.map((cell, at) => (
        <td key={at} title={typeof cell === "string" ? cell.slice(0, 500) : undefined} dir="auto">
          {cell}
        </td>
      ))}
    </tr>
  );
}

function Spacer({ rows, columns }: { readonly rows: number; readonly columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * rowPixels}px` }} />
    </tr>
  );
}
