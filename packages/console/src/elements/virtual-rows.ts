/** Rows of a fixed height, of which those on the screen exist: the place of each row is known. */
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useState } from "preact/hooks";

interface Place {
  readonly current: HTMLElement | null;
}

export interface VirtualRows {
  /** Indexes of the rows that are drawn, in order: those that are seen, and the active one. */
  readonly drawn: readonly number[];
  /** Whether the last row is near. */
  readonly isAtEnd: boolean;
  readonly pageRows: number;
}

const overscan = 12;

/** The active row keeps the focus, so that it is drawn wherever it is. */
export function useVirtualRows(
  scroller: Place,
  count: number,
  rowPixels: number,
  active: number,
): VirtualRows {
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
  const first = Math.min(count, Math.max(0, Math.floor(view.top / rowPixels) - overscan));
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowPixels) + overscan);
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  if (active >= 0 && active < first) drawn.unshift(active);
  if (active >= last && active < count) drawn.push(active);
  const pageRows = Math.max(1, Math.floor(view.height / rowPixels) - 2);
  return { drawn, isAtEnd: last >= count, pageRows };
}

/** The row that a key leads to. */
export function rowOfKey(
  { key }: TargetedKeyboardEvent<HTMLElement>,
  active: number,
  count: number,
  pageRows: number,
): number | undefined {
  const to = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + pageRows,
    PageUp: active - pageRows,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined || count === 0 ? undefined : Math.max(0, Math.min(count - 1, to));
}

/** Below `head` pixels that stay, and a row from the end. */
export function scrollToRow({ current }: Place, row: number, rowPixels: number, head = 0): void {
  if (current === null) return;
  const top = row * rowPixels;
  const bottom = top + rowPixels + head;
  if (top < current.scrollTop) current.scrollTop = top;
  else if (bottom > current.scrollTop + current.clientHeight)
    current.scrollTop = bottom - current.clientHeight;
}
