/** APIs that a workspace shares and uses: exports with consumers, bindings with claims. */

import { clusterAnnotation } from "@kcp-ts/sdk/client";
import {
  type APIBinding,
  type APIExport,
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
} from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import {
  type Condition,
  Empty,
  ErrorNotice,
  KubectlLine,
  Loading,
  Part,
  shellLine,
  Tone,
} from "../elements/index.ts";
import { useLiveObjects, useLoaded } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { Claims } from "./claims.tsx";
import type { ScreenProps } from "./console.tsx";

export function SharingScreen({ route: { cluster } }: ScreenProps) {
  return (
    <>
      <h1>Sharing</h1>
      <KubectlLine line={shellLine`kubectl ws :${cluster} && kubectl get apiexports,apibindings`} />
      <Bindings cluster={cluster} />
      <Exports cluster={cluster} />
    </>
  );
}

interface PlaceProps {
  readonly cluster: string;
}

function objectAddress(cluster: string, resource: string, name: string): string {
  return formatRoute({ screen: "object", cluster, resource: `${resource}.apis.kcp.io`, name });
}

/** The condition that is wrong, in one line. */
function problemOf(conditions: readonly Condition[] | undefined): string {
  const bad = conditions?.find(({ status }) => status !== "True");
  return bad === undefined ? "" : `${bad.reason ?? bad.type}: ${bad.message ?? ""}`;
}

function Bindings({ cluster }: PlaceProps) {
  const live = useLiveObjects<APIBinding>(useSession().clientIn(cluster), apiBindings);
  return (
    <section class="block" aria-labelledby="bindings">
      <h2 id="bindings">Bindings: APIs that this workspace uses</h2>
      <Part of={live} what="the bindings" />
      {live?.health.hasSynced === true && live.objects.length === 0 ? (
        <Empty
          what="This workspace binds no APIs."
          next="kubectl kcp bind apiexport root:provider:cowboys"
        />
      ) : null}
      {(live?.objects ?? []).map((binding) => (
        <Binding key={binding.metadata.uid} cluster={cluster} binding={binding} />
      ))}
    </section>
  );
}

function Binding({ cluster, binding }: PlaceProps & { readonly binding: APIBinding }) {
  const { metadata, spec, status = {} } = binding;
  const { path = "", name = "" } = spec.reference.export ?? {};
  const bound = (status.boundResources ?? []).map(({ group, resource }) =>
    group ? `${resource}.${group}` : resource,
  );
  const problem = problemOf(status.conditions as readonly Condition[] | undefined);
  return (
    <article class="shared">
      <header class="title">
        <h3>
          <a href={objectAddress(cluster, "apibindings", metadata.name)}>{metadata.name}</a>
        </h3>
        <Tone word={status.phase || "Pending"} />
      </header>
      <p>
        {"of "}
        <code>{`${path}${path === "" ? "" : ":"}${name}`}</code>
        {bound.length > 0 ? ": " : ""}
        {bound.map((one, at) => (
          <span key={one}>
            {at === 0 ? "" : ", "}
            <a href={formatRoute({ screen: "list", cluster, resource: one })}>{one}</a>
          </span>
        ))}
      </p>
      {problem === "" ? null : (
        <p>
          <Tone word={problem} tone="bad" />
        </p>
      )}
      <Claims cluster={cluster} binding={binding} />
    </article>
  );
}

function Exports({ cluster }: PlaceProps) {
  const live = useLiveObjects<APIExport>(useSession().clientIn(cluster), apiExports);
  return (
    <section class="block" aria-labelledby="exports">
      <h2 id="exports">Exports: APIs that this workspace shares</h2>
      <Part of={live} what="the exports" />
      {live?.health.hasSynced === true && live.objects.length === 0 ? (
        <Empty
          what="This workspace exports no APIs."
          next="kubectl kcp crd snapshot -f cowboys.crd.yaml --prefix v1 | kubectl apply -f -"
        />
      ) : null}
      {(live?.objects ?? []).map((exported) => (
        <Export key={exported.metadata.uid} cluster={cluster} exported={exported} />
      ))}
    </section>
  );
}

type ExportProps = PlaceProps & { readonly exported: APIExport };

function Export({ cluster, exported }: ExportProps) {
  const { metadata, spec = {}, status = {} } = exported;
  const { resources = [], permissionClaims = [], maximalPermissionPolicy } = spec;
  const problem = problemOf(status.conditions as readonly Condition[] | undefined);
  const claims = permissionClaims.map(
    ({ group, resource, verbs }) =>
      `${group ? `${resource}.${group}` : resource} (${verbs.join(", ")})`,
  );
  return (
    <article class="shared">
      <header class="title">
        <h3>
          <a href={objectAddress(cluster, "apiexports", metadata.name)}>{metadata.name}</a>
        </h3>
        {problem === "" ? <Tone word="Ready" /> : <Tone word={problem} tone="bad" />}
      </header>
      <ul class="names">
        {resources.map(({ name, group, schema }) => (
          <li key={`${name} ${group}`}>
            <span>{group ? `${name}.${group}` : name}</span>
            <a class="quiet" href={objectAddress(cluster, "apiresourceschemas", schema)}>
              {schema}
            </a>
          </li>
        ))}
      </ul>
      {claims.length === 0 ? null : <p>{`It claims of its consumers: ${claims.join("; ")}.`}</p>}
      {maximalPermissionPolicy === undefined ? null : (
        <p class="quiet">Roles of this workspace limit what consumers may do with it.</p>
      )}
      <Consumers cluster={cluster} exported={exported} />
    </article>
  );
}

interface Consumer {
  readonly cluster: string;
  readonly binding: string;
  readonly phase: string;
  readonly accepted: number;
  readonly claims: number;
}

const consumersAtOnce = 500;

/** The export's own view of the workspaces that bind it, on request. */
function Consumers({ cluster, exported: { metadata } }: ExportProps) {
  const session = useSession();
  const client = session.clientIn(cluster);
  const [isAsked, setAsked] = useState(false);
  const [limit, setLimit] = useState(consumersAtOnce);
  const { result, error } = useLoaded(
    async (signal) => {
      const slice = await client
        .resource(apiExportEndpointSlices)
        .get({ name: metadata.name }, { signal });
      const [endpoint] = slice.status?.endpoints ?? [];
      if (endpoint === undefined) return { consumers: [], remaining: 0 };
      // The address of this server: a page reaches no other.
      const view = session.server.withBasePath(`${new URL(endpoint.url).pathname}/clusters/*`);
      const list = await view.resource(apiBindings).list({ limit, signal });
      const { remainingItemCount = 0, continue: more } = list.metadata;
      const remaining = more ? Math.max(1, remainingItemCount) : 0;
      return { consumers: list.items.map(consumerOf), remaining };
    },
    isAsked ? `${cluster} ${metadata.uid} ${limit}` : undefined,
  );
  if (!isAsked)
    return (
      <button type="button" onClick={() => setAsked(true)}>
        {`Who consumes ${metadata.name}`}
      </button>
    );
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (result === undefined) return <Loading what="the consumers" />;
  if (result.consumers.length === 0)
    return (
      <Empty
        what="No workspace binds it."
        next={shellLine`kubectl kcp bind apiexport ${cluster}:${metadata.name}`}
      />
    );
  const { consumers, remaining } = result;
  return (
    <>
      <ConsumerTable name={metadata.name} consumers={consumers} />
      {remaining === 0 ? null : (
        <p>
          {`${consumers.length} of about ${consumers.length + remaining}. `}
          <button type="button" onClick={() => setLimit(limit + consumersAtOnce)}>
            Show more
          </button>
        </p>
      )}
    </>
  );
}

interface ConsumerTableProps {
  readonly name: string;
  readonly consumers: readonly Consumer[];
}

function ConsumerTable({ name, consumers }: ConsumerTableProps) {
  return (
    <table class="small">
      <caption class="hidden">{`Consumers of ${name}`}</caption>
      <thead>
        <tr>
          <th scope="col">Logical cluster</th>
          <th scope="col">Binding</th>
          <th scope="col">Phase</th>
          <th scope="col">Claims accepted</th>
        </tr>
      </thead>
      <tbody>
        {consumers.map((one) => (
          <tr key={`${one.cluster} ${one.binding}`}>
            <th scope="row">
              <a href={formatRoute({ screen: "sharing", cluster: one.cluster })}>{one.cluster}</a>
            </th>
            <td>{one.binding}</td>
            <td>
              <Tone word={one.phase} />
            </td>
            <td class="number">{`${one.accepted} of ${one.claims}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function consumerOf({ metadata, spec, status = {} }: APIBinding): Consumer {
  const accepted = (spec.permissionClaims ?? []).filter(({ state }) => state === "Accepted");
  return {
    cluster: metadata.annotations?.[clusterAnnotation] ?? "",
    binding: metadata.name,
    phase: status.phase || "Pending",
    accepted: accepted.length,
    claims: (status.exportPermissionClaims ?? []).length,
  };
}
