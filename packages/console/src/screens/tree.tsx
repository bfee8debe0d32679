/**
 * The tree of workspaces: children are loaded when a workspace is opened, and further pages of them
 * when their place is seen. Rows exist while they are seen. Keys as in every tree: up and down,
 * right opens, left closes, Enter goes there.
 */

import { isStatusError } from "@kcp-ts/machinery/status";
import { workspaces } from "@kcp-ts/sdk/kinds";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { messageOf, rowOfKey, scrollToRow, useVirtualRows } from "../elements/index.ts";
import { formatRoute, goTo, parentOf } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { namePage } from "./name-pages.ts";
import { type Level, type TreeRow, treeRows } from "./tree-levels.ts";

const firstPage = 200;
const nextPage = 1000;
/** As in the stylesheet. */
const rowPixels = 26;

function pathsTo(current: string): readonly string[] {
  const parent = parentOf(current);
  return parent === undefined ? [current] : [...pathsTo(parent), current];
}

/** What is loaded of the tree, and how to load more of it. */
function useLevels(current: string, open: ReadonlySet<string>) {
  const session = useSession();
  const [levels, setLevels] = useState<ReadonlyMap<string, Level>>(new Map());
  const loading = useRef(new Set<string>());
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const set = (path: string, change: (level: Level | undefined) => Level | undefined) => {
    if (leaving.current.signal.aborted) return;
    setLevels((now) => {
      const level = change(now.get(path));
      const others = [...now].filter(([one]) => one !== path);
      return new Map(level === undefined ? others : [...others, [path, level]]);
    });
  };
  const load = async (path: string, next?: string) => {
    if (loading.current.has(path)) return;
    loading.current.add(path);
    const options = { limit: next === undefined ? firstPage : nextPage, continue: next };
    try {
      const { signal } = leaving.current;
      const page = await namePage(session.clientIn(path), workspaces, { ...options, signal });
      const names = page.names.map(({ name }) => name);
      set(path, (level) => ({
        ...page,
        names: next === undefined ? names : [...(level?.names ?? []), ...names],
      }));
    } catch (error) {
      const isExpired = isStatusError(error, "Expired");
      set(path, (level) => (isExpired ? undefined : { names: [], remaining: 0, ...level, error }));
    } finally {
      loading.current.delete(path);
    }
  };
  const start = (path: string, next?: string) => {
    // Failures are rows of the tree.
    load(path, next).catch(() => undefined);
  };
  useEffect(() => {
    for (const path of open) if (!levels.has(path)) start(path);
  }, [open, levels]);
  useEffect(() => {
    // A workspace that was created or deleted here: its siblings are loaded again.
    for (const path of [current, parentOf(current)])
      if (path !== undefined && (levels.get(path)?.names.length ?? nextPage) <= firstPage)
        start(path);
  }, [current]);
  return { levels, start, retry: (path: string) => set(path, () => undefined) };
}

/** The rows of the tree, and the one that arrows have chosen: that of the page at first. */
function useTree(current: string) {
  const root = current === "*" ? "root" : (current.split(":")[0] as string);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const loaded = useLevels(current, open);
  const { levels } = loaded;
  useEffect(() => {
    setChosen(undefined);
    setOpen((now) => new Set([...now, ...pathsTo(current === "*" ? root : current)]));
  }, [current]);
  const rows = useMemo(
    () => treeRows({ root, current, open, levels }),
    [root, current, open, levels],
  );
  const currentAt = useMemo(() => rows.findIndex((row) => keyOf(row) === current), [rows, current]);
  const active = useMemo(
    () => (chosen === undefined ? currentAt : rows.findIndex((row) => keyOf(row) === chosen)),
    [rows, chosen, currentAt],
  );
  const toggle = (path: string) => {
    setOpen((now) => {
      const next = new Set(now);
      if (!next.delete(path)) next.add(path);
      return next;
    });
  };
  return { ...loaded, rows, chosen, setChosen, currentAt, active, toggle };
}

export function Tree({ current }: { readonly current: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const tree = useTree(current);
  const { rows, levels, chosen, currentAt, active, toggle, start, retry } = tree;
  const { drawn, pageRows } = useVirtualRows(scroller, rows.length, rowPixels, active);
  useEffect(() => {
    if (currentAt >= 0) scrollToRow(scroller, currentAt, rowPixels);
  }, [current, currentAt >= 0]);
  useLayoutEffect(() => {
    const stop = scroller.current?.querySelector<HTMLElement>("[tabindex='0']");
    if (scroller.current?.contains(document.activeElement)) stop?.focus({ preventScroll: true });
  }, [chosen]);
  const seenMore = drawn.map((at) => rows[at]).find((row) => row?.kind === "more");
  useEffect(() => {
    if (seenMore !== undefined) start(seenMore.path, levels.get(seenMore.path)?.next);
  }, [seenMore?.path, rows]);
  const move = (to: number) => {
    const row = rows[to];
    if (row === undefined) return;
    tree.setChosen(keyOf(row));
    scrollToRow(scroller, to, rowPixels);
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const at = Math.max(0, active);
    const row = rows[at];
    const to = rowOfKey(event, at, rows.length, pageRows);
    const isWorkspace = row?.kind === "workspace";
    if (to !== undefined) move(to);
    else if (event.key === "ArrowRight" && isWorkspace)
      row.isOpen ? move(at + 1) : toggle(row.path);
    else if (event.key === "ArrowLeft" && isWorkspace && row.isOpen) toggle(row.path);
    else if (event.key === "ArrowLeft" && row !== undefined) move(above(rows, row));
    else if (event.key === "Enter" && row?.kind === "failed") retry(row.path);
    else if (event.key === "Enter" && row !== undefined) goTo(addressOf(row));
    else return;
    event.preventDefault();
  };
  const stop = drawn.includes(active) ? active : drawn[0];
  const props = { current, onToggle: toggle, onRetry: retry };
  return (
    <div class="tree" role="tree" aria-label="Workspaces" ref={scroller} onKeyDown={onKey}>
      {drawn.flatMap((at, index) => [
        ...gap(index === 0 ? "above" : "between", at - 1 - (drawn[index - 1] ?? -1)),
        <Row
          key={keyOf(rows[at] as TreeRow)}
          row={rows[at] as TreeRow}
          isStop={at === stop}
          {...props}
        />,
      ])}
      {gap("below", rows.length - 1 - (drawn.at(-1) ?? -1))}
    </div>
  );
}

function gap(key: string, rows: number) {
  return rows <= 0
    ? []
    : [<div key={key} role="none" style={{ height: `${rows * rowPixels}px` }} />];
}

function keyOf(row: TreeRow): string {
  return row.kind === "workspace" ? row.path : `${row.path} ${row.kind}`;
}

/** The row of the parent. */
function above(rows: readonly TreeRow[], row: TreeRow): number {
  const parent = row.kind === "workspace" ? parentOf(row.path) : row.path;
  return rows.findIndex((one) => one.kind === "workspace" && one.path === parent);
}

function addressOf({ kind, path }: TreeRow): string {
  return kind === "workspace"
    ? formatRoute({ screen: "workspace", cluster: path })
    : formatRoute({ screen: "list", cluster: path, resource: "workspaces.tenancy.kcp.io" });
}

interface RowProps {
  readonly row: TreeRow;
  readonly current: string;
  /** Whether the Tab key stops here. */
  readonly isStop: boolean;
  readonly onToggle: (path: string) => void;
  readonly onRetry: (path: string) => void;
}

function Row({ row, current, isStop, onToggle, onRetry }: RowProps) {
  const { path, depth } = row;
  const place = {
    class: "node",
    tabIndex: isStop ? 0 : -1,
    "aria-level": depth,
    style: { paddingLeft: `${(depth - 1) * 14}px` },
  };
  if (row.kind === "loading")
    return (
      <div role="treeitem" {...place} aria-label={`Loading the children of ${path}`}>
        <span class="quiet note">Loading…</span>
      </div>
    );
  if (row.kind === "failed")
    return (
      <div role="treeitem" {...place} aria-label={`${messageOf(row.error)} Enter tries again.`}>
        <button type="button" class="plain note" tabIndex={-1} onClick={() => onRetry(path)}>
          Try again
        </button>
        <span class="quiet note" title={messageOf(row.error)}>
          {messageOf(row.error)}
        </span>
      </div>
    );
  if (row.kind === "more")
    return (
      <div role="treeitem" {...place} aria-label={`${row.remaining} more in ${path}`}>
        <a class="quiet note" tabIndex={-1} href={addressOf(row)}>{`${row.remaining} more`}</a>
      </div>
    );
  const { name, isOpen, position, size } = row;
  return (
    <div
      role="treeitem"
      {...place}
      aria-label={name}
      aria-expanded={isOpen}
      aria-selected={current === path}
      aria-posinset={position}
      aria-setsize={size}
    >
      <button
        type="button"
        class="plain twist"
        tabIndex={-1}
        aria-expanded={isOpen}
        aria-label={`Children of ${path}`}
        onClick={() => onToggle(path)}
      >
        {isOpen ? "▾" : "▸"}
      </button>
      <a
        href={addressOf(row)}
        tabIndex={-1}
        title={name}
        aria-current={current === path ? "location" : undefined}
      >
        {name}
      </a>
    </div>
  );
}
