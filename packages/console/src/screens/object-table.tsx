/** The live table of a kind: the server's columns, a link for each row, pages as one scrolls. */
import type { Resource, TableColumn as ServerColumn } from "@kcp-ts/sdk/client";
import { clusterAnnotation } from "@kcp-ts/sdk/client";
import type { LiveTable, LiveTableRow } from "@kcp-ts/sdk/informer";
import { useRef, useState } from "preact/hooks";
import {
  ageText,
  DataTable,
  Empty,
  ErrorNotice,
  Loading,
  statusTone,
  Tone,
} from "../elements/index.ts";
import { now, useLiveTable } from "../live/index.ts";
import { formatRoute, goTo, setQuery } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { columnWidth, selectRows } from "./table-rows.ts";

interface ObjectTableProps {
  readonly cluster: string;
  readonly resource: Resource & { readonly singular: string };
  readonly query: Readonly<Record<string, string>>;
  readonly empty: { readonly what: string; readonly next: string };
  readonly selection?:
    | { readonly keys: ReadonlySet<string>; readonly toggle: (row: LiveTableRow) => void }
    | undefined;
}

const stateColumn = /^(?:status|phase|ready|reason|state)$/i;

export function ObjectTable(props: ObjectTableProps) {
  const { cluster, resource, query, empty, selection } = props;
  const client = useSession().clientIn(cluster);
  const { labels, fields, ns } = query;
  const live = useLiveTable(client, resource, {
    labelSelector: labels,
    fieldSelector: fields,
    namespace: resource.namespaced ? ns : undefined,
  });
  const [pageError, setPageError] = useState<unknown>(undefined);
  const rows = useRows(live, query);
  const { lastError, hasSynced } = live?.health ?? {};
  if (live === undefined || (!hasSynced && live.rows.length === 0))
    return lastError === undefined ? (
      <Loading what={resource.resource} />
    ) : (
      <ErrorNotice error={lastError} />
    );
  const shown = live.columns
    .map((column, at) => ({ ...column, at }))
    .filter(({ priority = 0 }) => priority === 0);
  const columns = columnsOf(shown, live.rows, props);
  const { sort = "" } = query;
  const onSort = (column: string) => setQuery({ sort: sort === column ? `-${column}` : column });
  const loadMore = () => {
    live.loadMore().then(() => setPageError(undefined), setPageError);
  };
  const row = (index: number) => {
    const one = rows[index] as LiveTableRow;
    return {
      key: one.key,
      address: addressOf(one, props),
      cells: [
        ...(selection === undefined ? [] : [checkbox(one, selection)]),
        ...(cluster === "*" ? [one.metadata.annotations?.[clusterAnnotation] ?? ""] : []),
        ...(resource.namespaced && !ns ? [one.metadata.namespace ?? ""] : []),
        ...shown.map((column) => cell(one, column, props)),
      ],
    };
  };
  if (live.rows.length === 0) return <Empty {...empty} />;
  // A filter of the page looks through all rows: pages are loaded until the screen is full.
  return (
    <>
      <DataTable
        label={resource.resource}
        columns={columns}
        count={rows.length}
        row={row}
        sort={sortOf(sort)}
        onSort={onSort}
        loaded={live.rows.length}
        onEnd={loadMore}
        onOpen={goTo}
      />
      <p class="count" role="status">
        {rows.length === live.rows.length ? "" : `${rows.length} shown of `}
        {countText(live)}
      </p>
      {pageError === undefined ? null : (
        <>
          <ErrorNotice error={pageError} />
          <button type="button" onClick={loadMore}>
            Load more
          </button>
        </>
      )}
    </>
  );
}

function useRows(
  live: LiveTable | undefined,
  query: ObjectTableProps["query"],
): readonly LiveTableRow[] {
  const shown = useRef<readonly LiveTableRow[]>([]);
  shown.current = selectRows(live?.columns ?? [], live?.rows ?? [], query, shown.current);
  return shown.current;
}

/** A minus in front of the column sorts downwards. */
function sortOf(sort: string) {
  if (sort === "") return undefined;
  return { column: sort.replace(/^-/, ""), isDescending: sort.startsWith("-") };
}

function countText({ rows, remaining }: LiveTable): string {
  const all = rows.length + remaining;
  return remaining === 0
    ? `${all} object${all === 1 ? "" : "s"}`
    : `${rows.length} loaded of about ${all}`;
}

/** The server's columns, behind those that say where the object is. */
function columnsOf(
  shown: readonly (ServerColumn & { readonly at: number })[],
  rows: readonly LiveTableRow[],
  { cluster, resource, query, selection }: ObjectTableProps,
) {
  return [
    ...(selection === undefined ? [] : [{ name: "", width: 4 }]),
    ...(cluster === "*" ? [{ name: "Cluster", width: 20 }] : []),
    ...(resource.namespaced && !query["ns"] ? [{ name: "Namespace", width: 18 }] : []),
    ...shown.map(({ name, description, at }) => {
      return { name, description, width: columnWidth(name, at, rows) };
    }),
  ];
}

function checkbox(row: LiveTableRow, { keys, toggle }: NonNullable<ObjectTableProps["selection"]>) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${row.metadata.name}`}
      checked={keys.has(row.key)}
      onChange={() => toggle(row)}
    />
  );
}

/** More than a cell shows: the object itself shows all. */
const cellCharactersMax = 300;

function cell(
  row: LiveTableRow,
  { name, at }: ServerColumn & { at: number },
  props: ObjectTableProps,
) {
  if (name === "Age") return ageText(row.metadata.creationTimestamp, now.value);
  const value = row.cells[at];
  const whole =
    typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  const text = whole.length > cellCharactersMax ? `${whole.slice(0, cellCharactersMax)}…` : whole;
  if (at === 0) return <a href={addressOf(row, props)}>{text}</a>;
  if (stateColumn.test(name) && statusTone(text) !== "none") return <Tone word={text} />;
  return text;
}

/** Workspaces, clusters and placements have pages of their own. */
function addressOf({ metadata }: LiveTableRow, { cluster, resource }: ObjectTableProps): string {
  const { name, namespace } = metadata;
  const own = cluster === "*" ? (metadata.annotations?.[clusterAnnotation] ?? "root") : cluster;
  const kind = resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`;
  if (kind === "workspaces.tenancy.kcp.io")
    return formatRoute({ screen: "workspace", cluster: `${own}:${name}` });
  if (kind === "synctargets.workload.kcp.io")
    return formatRoute({ screen: "cluster", cluster: own, name });
  if (kind === "workloadplacements.scheduling.kcp.io")
    return formatRoute({ screen: "placement", cluster: own, namespace, name });
  return formatRoute({ screen: "object", cluster: own, resource: kind, namespace, name });
}
