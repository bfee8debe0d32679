/** What a workspace uses, and for operators which workspaces use the most of the server. */

import { resourceQuotas } from "@kcp-ts/sdk/kinds";
import { samplesOf } from "@kcp-ts/sdk/metrics";
import { useState } from "preact/hooks";
import {
  Empty,
  ErrorNotice,
  formatQuantity,
  KubectlLine,
  Loading,
  Part,
  parseQuantity,
  shellLine,
} from "../elements/index.ts";
import { useLiveObjects, useLoaded, useResources } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import type { ScreenProps } from "./console.tsx";
import { type Counted, countObjects } from "./count-objects.ts";

export function UsageScreen({ route: { cluster } }: ScreenProps) {
  return (
    <>
      <h1>Usage</h1>
      <KubectlLine line={shellLine`kubectl ws :${cluster} && kubectl describe resourcequotas -A`} />
      <Quotas cluster={cluster} />
      <Busiest />
      <Objects cluster={cluster} />
    </>
  );
}

interface PlaceProps {
  readonly cluster: string;
}

function Objects({ cluster }: PlaceProps) {
  const client = useSession().clientIn(cluster);
  const [asked, setAsked] = useState(0);
  const kinds = useResources(client).result;
  const { result, error } = useLoaded(
    (signal) => countObjects(client, kinds ?? [], signal),
    asked > 0 && kinds !== undefined ? `${cluster} ${asked}` : undefined,
  );
  const shown = (result ?? []).filter(({ count }) => count !== 0);
  const total = shown.reduce((sum, { count = 0 }) => sum + count, 0);
  const hidden = shown.filter(({ count }) => count === undefined).length;
  return (
    <section class="block" aria-labelledby="objects">
      <header class="title">
        <h2 id="objects">Objects of this workspace</h2>
        <button type="button" disabled={kinds === undefined} onClick={() => setAsked(asked + 1)}>
          {asked === 0 ? "Count" : "Count again"}
        </button>
      </header>
      {error !== undefined ? <ErrorNotice error={error} /> : null}
      {asked === 0 ? <p class="quiet">Counting asks the server once for each kind.</p> : null}
      {asked > 0 && result === undefined && error === undefined ? (
        <Loading what="the number of objects of each kind" />
      ) : null}
      {result === undefined ? null : (
        <>
          <p role="status">
            {`${total} objects${hidden > 0 ? `; of ${hidden} kinds you may not list any` : ""}.`}
          </p>
          <CountTable cluster={cluster} shown={shown} total={total} />
        </>
      )}
    </section>
  );
}

interface CountTableProps extends PlaceProps {
  readonly shown: readonly Counted[];
  readonly total: number;
}

function CountTable({ cluster, shown, total }: CountTableProps) {
  return (
    <table class="small">
      <thead>
        <tr>
          <th scope="col">Kind</th>
          <th scope="col">Objects</th>
          <th scope="col">
            <span class="hidden">Share</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {shown.map(({ name, count }) => (
          <tr key={name}>
            <th scope="row">
              <a href={formatRoute({ screen: "list", cluster, resource: name })}>{name}</a>
            </th>
            <td class="number">{count ?? "you may not list these"}</td>
            <td class="wide">
              {count === undefined ? null : (
                <meter
                  min={0}
                  max={Math.max(1, total)}
                  value={count}
                  aria-label={`${count} of ${total} objects`}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Quotas({ cluster }: PlaceProps) {
  const live = useLiveObjects(useSession().clientIn(cluster), resourceQuotas);
  const rows = (live?.objects ?? []).flatMap(({ metadata, status = {} }) =>
    Object.entries(status.hard ?? {}).map(([resource, hard]) => ({
      key: `${metadata.namespace}/${metadata.name} ${resource}`,
      namespace: metadata.namespace ?? "",
      resource,
      used: String(status.used?.[resource] ?? "0"),
      hard: String(hard),
    })),
  );
  return (
    <section class="block" aria-labelledby="quotas">
      <h2 id="quotas">Quotas</h2>
      <Part of={live} what="the quotas">
        {rows.length === 0 ? (
          <Empty
            what="No ResourceQuota limits this workspace."
            next="kubectl create quota objects --hard=count/configmaps=100"
          />
        ) : null}
      </Part>
      {rows.length === 0 ? null : (
        <table class="small">
          <thead>
            <tr>
              <th scope="col">Namespace</th>
              <th scope="col">Resource</th>
              <th scope="col">Used</th>
              <th scope="col">
                <span class="hidden">Share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, namespace, resource, used, hard }) => (
              <tr key={key}>
                <td>{namespace}</td>
                <th scope="row">{resource}</th>
                <td class="number">{`${used} of ${hard}`}</td>
                <td class="wide">
                  <meter
                    min={0}
                    max={parseQuantity(hard) || 1}
                    value={parseQuantity(used) ?? 0}
                    aria-label={`${resource}: ${used} of ${hard}`}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const metricsBytesMax = 8 << 20;
const tops = [
  ["kcp_top_tenant_requests", "Requests"],
  ["kcp_top_tenant_throttled_requests", "Throttled (429)"],
  ["kcp_top_tenant_watches", "Watches opened"],
  ["kcp_top_tenant_stored_objects", "Objects"],
  ["kcp_top_tenant_stored_bytes", "Bytes"],
] as const;

function isBytes(column: number): boolean {
  return tops[column]?.[1] === "Bytes";
}

/** Of the whole server: reading it halves the recent counts, so it is read on request. */
function Busiest() {
  const { server } = useSession();
  const [asked, setAsked] = useState(0);
  const { result, error } = useLoaded(
    async (signal) => {
      const request = { method: "GET", path: "/metrics", headers: {}, signal } as const;
      const { status, body } = await server.transport.send(request);
      const text = await body.text(metricsBytesMax);
      if (status === 403) throw new Error(missingText);
      if (status !== 200) throw new Error(`/metrics answered ${status}`);
      return rowsOf(text);
    },
    asked > 0 ? String(asked) : undefined,
  );
  return (
    <section class="block" aria-labelledby="busiest">
      <header class="title">
        <h2 id="busiest">The busiest workspaces of this server</h2>
        <button type="button" onClick={() => setAsked(asked + 1)}>
          {asked === 0 ? "Look" : "Look again"}
        </button>
      </header>
      <p class="quiet">
        The ten largest of each column. Requests, throttled requests and watches are recent counts:
        the server halves them each time somebody reads its metrics, and requests are a sample of
        one in 64. Objects and bytes are those that are stored.
      </p>
      {error !== undefined ? <ErrorNotice error={error} /> : null}
      {asked > 0 && result === undefined && error === undefined ? (
        <Loading what="the metrics" />
      ) : null}
      {result === undefined || result.some(({ values }) => (values.at(-1) ?? 0) > 0) ? null : (
        <>
          <p>
            The server has counted no bytes: it counts those of workspaces with a limit, from their
            first write on.
          </p>
          <KubectlLine line="kcp start --logical-cluster-total-bytes-limit 1000000000" />
        </>
      )}
      {result === undefined ? null : <BusiestTable rows={result} />}
    </section>
  );
}

function BusiestTable({ rows }: { readonly rows: readonly BusyRow[] }) {
  return (
    <table class="small">
      <thead>
        <tr>
          <th scope="col">Logical cluster</th>
          {tops.map(([name, title]) => (
            <th key={name} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ cluster, values }) => (
          <tr key={cluster}>
            <th scope="row">
              <a href={formatRoute({ screen: "usage", cluster })}>{cluster}</a>
            </th>
            {values.map((value, at) => (
              <td key={at} class="number">
                {value === 0 ? "–" : formatQuantity(Math.round(value), isBytes(at))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const missingText =
  "Metrics are of the server, and of all its tenants. To read them, a user needs the verb get on the path /metrics in the workspace root.";

interface BusyRow {
  readonly cluster: string;
  /** In the order of the columns; 0 for those that are not among the largest. */
  readonly values: readonly number[];
}

function rowsOf(text: string): readonly BusyRow[] {
  const columns = tops.map(
    ([metric]) =>
      new Map(samplesOf(text, metric).map(({ labels, value }) => [labels["cluster"] ?? "", value])),
  );
  const clusters = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  return clusters
    .map((cluster) => ({ cluster, values: columns.map((column) => column.get(cluster) ?? 0) }))
    .sort((a, b) => (b.values[0] ?? 0) - (a.values[0] ?? 0));
}
