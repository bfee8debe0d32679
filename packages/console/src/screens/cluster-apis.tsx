/** The APIs of a cluster with the result of their negotiation, and the leases of its syncers. */
import { apiResourceImports, leases, negotiatedAPIResources } from "@kcp-ts/sdk/kinds";
import { ageText, type Condition, KubectlLine, Part, Tone } from "../elements/index.ts";
import { now, useLiveObjects } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { type Negotiation, negotiationState } from "./decisions.ts";

interface OfClusterProps {
  readonly cluster: string;
  readonly name: string;
}

interface NegotiatedRow extends Negotiation {
  readonly name: string;
  readonly kind: string;
  readonly isPublished: boolean;
}

export function ClusterApis({ cluster, name }: OfClusterProps) {
  const client = useSession().clientIn(cluster);
  const imports = useLiveObjects(client, apiResourceImports);
  const negotiated = useLiveObjects(client, negotiatedAPIResources);
  const published = new Set(
    (negotiated?.objects ?? [])
      .filter(({ status = {} }) =>
        status.conditions?.some((one) => one.type === "Published" && one.status === "True"),
      )
      .map(({ spec }) => `${spec.plural}.${spec.groupVersion.group ?? ""}`),
  );
  const rows = (imports?.objects ?? [])
    .filter(({ spec }) => spec.location === name)
    .map(({ metadata, spec, status = {} }) => {
      const { group = "", version } = spec.groupVersion;
      const conditions = (status.conditions ?? []) as readonly Condition[];
      return {
        name: metadata.name,
        kind: `${spec.plural}${group === "" ? "" : `.${group}`} ${version}`,
        isPublished: published.has(`${spec.plural}.${group}`),
        ...negotiationState(conditions),
      };
    })
    .sort((a, b) => Number(a.isWell) - Number(b.isWell) || (a.kind < b.kind ? -1 : 1));
  return (
    <section class="block" aria-labelledby="apis">
      <h2 id="apis">APIs and their negotiation</h2>
      <KubectlLine line={`kubectl ws :${cluster} && kubectl get apiresourceimports`} />
      <Part of={imports} what="the imports of its APIs">
        {rows.length === 0 ? <p class="quiet">No API of this cluster is imported yet.</p> : null}
      </Part>
      <Part of={negotiated} what="which APIs are served" />
      {rows.length === 0 ? null : (
        <table class="small">
          <thead>
            <tr>
              <th scope="col">API</th>
              <th scope="col">Negotiation</th>
              <th scope="col">Served</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>{rows.map((row) => negotiatedRow(cluster, row))}</tbody>
        </table>
      )}
    </section>
  );
}

function negotiatedRow(cluster: string, row: NegotiatedRow) {
  return (
    <tr key={row.name}>
      <th scope="row">
        <a
          href={formatRoute({
            screen: "object",
            cluster,
            resource: "apiresourceimports.apiresource.kcp.io",
            name: row.name,
          })}
        >
          {row.kind}
        </a>
      </th>
      <td>
        <Tone word={row.state} tone={row.isWell ? "good" : "bad"} />
      </td>
      <td>{row.isPublished ? "yes" : "no"}</td>
      <td class="wide" dir="auto">
        {row.message}
      </td>
    </tr>
  );
}

const syncerLeases = { labelSelector: "workload.kcp.io/syncer-lease=true" };

/** Syncers renew a lease: in the server for Push, in the agent for Pull. */
export function ClusterLeases({
  cluster,
  uid,
}: {
  readonly cluster: string;
  readonly uid: string;
}) {
  const live = useLiveObjects(useSession().clientIn(cluster), leases, syncerLeases);
  const found = (live?.objects ?? []).filter(({ metadata }) =>
    metadata.ownerReferences?.some((one) => one.uid === uid),
  );
  return (
    <section class="block" aria-labelledby="leases">
      <h2 id="leases">Syncer</h2>
      <Part of={live} what="the leases of its syncer">
        {found.length === 0 ? <p class="quiet">No syncer has a lease for this cluster.</p> : null}
      </Part>
      <ul class="names">
        {found.map(({ metadata, spec = {} }) => {
          const { holderIdentity = "", renewTime, leaseDurationSeconds = 0 } = spec;
          const isLate = now.value - Date.parse(renewTime ?? "") > leaseDurationSeconds * 1000;
          return (
            <li key={metadata.uid}>
              <Tone word={isLate ? "late" : "in time"} tone={isLate ? "bad" : "good"} />
              <span>{`${holderIdentity || metadata.name}: renewed ${ageText(renewTime, now.value)} ago, every ${leaseDurationSeconds} s at most`}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
