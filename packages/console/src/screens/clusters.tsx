/** The physical clusters of a workspace: how they are, and what is reserved of what they have. */
import { type SyncTarget, syncTargets } from "@kcp-ts/sdk/kinds";
import {
  ageText,
  Empty,
  formatQuantity,
  KubectlLine,
  Part,
  parseQuantity,
  shellLine,
  Tone,
} from "../elements/index.ts";
import { accessTo, now, useLiveObjects } from "../live/index.ts";
import { formatRoute, useDialog } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ScreenProps } from "./console.tsx";
import { lazily } from "./lazily.tsx";

const Register = lazily(async () => (await import("./register-cluster.tsx")).RegisterCluster);

export function ClustersScreen({ route: { cluster, query } }: ScreenProps) {
  const client = useSession().clientIn(cluster);
  const [isRegistering, setRegistering] = useDialog(query, "create");
  const live = useLiveObjects<SyncTarget>(client, syncTargets);
  return (
    <>
      <header class="title">
        <h1>Clusters</h1>
        <ActionButton
          client={client}
          access={accessTo(syncTargets, "create")}
          onClick={() => setRegistering(true)}
        >
          Register cluster
        </ActionButton>
      </header>
      <KubectlLine line={shellLine`kubectl ws :${cluster} && kubectl get synctargets`} />
      <Targets cluster={cluster} live={live} />
      {isRegistering ? <Register cluster={cluster} onClose={() => setRegistering(false)} /> : null}
    </>
  );
}

type Live = ReturnType<typeof useLiveObjects<SyncTarget>>;

function Targets({ cluster, live }: { readonly cluster: string; readonly live: Live }) {
  if (live?.health.hasSynced !== true) return <Part of={live} what="the clusters" />;
  if (live.objects.length === 0)
    return (
      <Empty
        what="No cluster is registered here."
        next="kubectl kcp workload sync us-east1 -o us-east1.yaml"
      />
    );
  return (
    <section class="block" aria-label="Clusters">
      <table class="small">
        <thead>
          <tr>
            {["Cluster", "Status", "Version", "Mode", "CPU", "Memory", "Pods", "Age", "Reason"].map(
              (title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{live.objects.map((target) => targetRow(cluster, target))}</tbody>
      </table>
    </section>
  );
}

function targetRow(cluster: string, { metadata, spec = {}, status = {} }: SyncTarget) {
  const { name, creationTimestamp } = metadata;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <tr key={name}>
      <th scope="row">
        <a href={formatRoute({ screen: "cluster", cluster, name })}>{name}</a>
      </th>
      <td>
        <Tone word={status.state ?? "Unknown"} />
      </td>
      <td>{status.version}</td>
      <td>{spec.mode ?? "Push"}</td>
      {(["cpu", "memory", "pods"] as const).map((resource) => (
        <td key={resource}>
          <Share target={{ spec, status }} resource={resource} />
        </td>
      ))}
      <td>{ageText(creationTimestamp, now.value)}</td>
      <td class="wide">
        {ready?.status === "True" ? "" : `${ready?.reason ?? ""} ${ready?.message ?? ""}`}
      </td>
    </tr>
  );
}

interface ShareProps {
  readonly target: Pick<SyncTarget, "spec" | "status">;
  readonly resource: string;
}

/** What is reserved of what may be used. */
export function Share({ target: { spec = {}, status = {} }, resource }: ShareProps) {
  const limits = (spec.resourceLimits ?? {}) as Readonly<Record<string, string>>;
  const all = parseQuantity(limits[resource] ?? status.allocatable?.[resource]);
  const reserved = parseQuantity(status.reserved?.[resource]) ?? 0;
  if (all === undefined) return <span class="quiet">not reported</span>;
  const isBytes = resource === "memory" || resource.endsWith("storage");
  const text = `${formatQuantity(reserved, isBytes)} / ${formatQuantity(all, isBytes)}`;
  return (
    <span class="share">
      <meter
        min={0}
        max={all}
        high={all * 0.9}
        value={reserved}
        aria-label={`${resource}: ${text} reserved`}
      />
      <span class="number">{text}</span>
    </span>
  );
}
