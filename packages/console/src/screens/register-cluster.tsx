/**
 * Registers a cluster: Push, with its kubeconfig, or Pull, with the manifest of an agent to apply
 * there. The manifest is made in the page with the user's permissions, as
 * `kubectl kcp workload sync` makes it.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  agentKubeconfig,
  manifestOfAgent,
  syncedResourcesDefault,
} from "@kcp-ts/multicluster/agent-manifest";
import type { Client } from "@kcp-ts/sdk/client";
import {
  configMaps,
  logicalClusters,
  type ServiceAccount,
  type SyncTarget,
  serviceAccounts,
  syncTargets,
} from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { Dialog, ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { accessTo, useLiveObjects, useLoaded } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import { formatYaml } from "../yaml-help/index.ts";
import { ActionButton } from "./action-button.tsx";

/** Of the agents' ServiceAccounts. */
const namespace = "default";
const tokenSeconds = 86_400;

interface RegisterProps {
  readonly cluster: string;
  readonly onClose: () => void;
}

export function RegisterCluster({ cluster, onClose }: RegisterProps) {
  const client = useSession().clientIn(cluster);
  const [name, setName] = useState("");
  const [kubeconfig, setKubeconfig] = useState("");
  const [target, setTarget] = useState<SyncTarget>();
  const [error, setError] = useState<unknown>(undefined);
  if (target !== undefined)
    return (
      <Dialog title={`Agent of ${target.metadata.name}`} onClose={onClose}>
        <Agent client={client} target={target} />
      </Dialog>
    );
  const isPull = kubeconfig.trim() === "";
  const submit = (event: Event) => {
    event.preventDefault();
    if (isPull) pullTarget(client, name).then(setTarget, setError);
    else {
      const spec = { mode: "Push" as const, kubeconfig };
      client.resource(syncTargets).create({ metadata: { name }, spec }).then(onClose, setError);
    }
  };
  return (
    <Dialog title="Register cluster" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          Name
          <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <h3>The control plane connects to it (Push)</h3>
        <label>
          Kubeconfig
          <textarea
            spellcheck={false}
            rows={8}
            value={kubeconfig}
            onInput={(event) => setKubeconfig(event.currentTarget.value)}
          />
        </label>
        <h3>Or an agent in it connects to the control plane (Pull)</h3>
        <p class="quiet">
          Without a kubeconfig, the next step shows the manifest of an agent with a token of its
          own: apply it in the cluster.
        </p>
        {error === undefined ? null : <ErrorNotice error={error} />}
        <footer>
          <ActionButton
            client={client}
            access={accessTo(syncTargets, "create")}
            type="submit"
            class="primary"
          >
            {isPull ? "Register for an agent" : "Register"}
          </ActionButton>
        </footer>
      </form>
      <KubectlLine line={syncLine(name || "us-east1")} />
    </Dialog>
  );
}

function syncLine(name: string): string {
  return shellLine`kubectl kcp workload sync ${name} -o ${`${name}.yaml`}`;
}

/** A SyncTarget that waits for its agent may be registered again, to see its manifest. */
async function pullTarget(client: Client, name: string): Promise<SyncTarget> {
  const resource = client.resource(syncTargets);
  try {
    return await resource.create({ metadata: { name }, spec: { mode: "Pull" } });
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
    const known = await resource.get({ name });
    if (known.spec?.mode !== "Pull") throw error;
    return known;
  }
}

interface AgentProps {
  readonly client: Client;
  readonly target: SyncTarget;
}

/** The control plane makes an account for the agent, as soon as it has seen the SyncTarget. */
function Agent({ client, target }: AgentProps) {
  const { name, uid } = target.metadata;
  const live = useLiveObjects<ServiceAccount>(client, serviceAccounts, { namespace });
  const account = live?.objects.find(({ metadata }) =>
    metadata.ownerReferences?.some((owner) => owner.uid === uid),
  )?.metadata.name;
  const { result, error } = useLoaded(
    (signal) => manifestText({ client, target }, account ?? "", signal),
    account,
  );
  const [isCopied, setCopied] = useState(false);
  const failure = error ?? live?.health.lastError;
  if (failure !== undefined) return <ErrorNotice error={failure} />;
  if (result === undefined) return <Loading what="the agent's account" />;
  return (
    <>
      <p>
        Apply this in the cluster. It holds a token: keep it to yourself. The agent renews the token
        within a day.
      </p>
      <pre class="yaml" role="group" tabIndex={0} aria-label={`Manifest of the agent of ${name}`}>
        {result}
      </pre>
      <footer>
        <button
          type="button"
          class="primary"
          onClick={() => {
            navigator.clipboard.writeText(result).then(
              () => setCopied(true),
              () => setCopied(false),
            );
          }}
        >
          {isCopied ? "Copied" : "Copy the manifest"}
        </button>
      </footer>
      <KubectlLine line={syncLine(name)} />
    </>
  );
}

async function manifestText(
  { client, target }: AgentProps,
  account: string,
  signal: AbortSignal,
): Promise<string> {
  const { metadata, spec } = target;
  const at = { namespace, name: account };
  const [ca, home, version, token] = await Promise.all([
    client.resource(configMaps).find({ namespace, name: "kube-root-ca.crt" }, { signal }),
    client.resource(logicalClusters).get({ name: "cluster" }, { signal }),
    client.json({ method: "GET", path: "/version", signal }),
    client
      .resource(serviceAccounts)
      .subresource<{ spec: object; status?: { token?: string } }>("token")
      .create(at, { spec: { expirationSeconds: tokenSeconds } }, { signal }),
  ]);
  const identity = {
    cluster: metadata.annotations?.["kcp.io/cluster"] ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
  };
  // Behind `kcp console` the page's own address is that of the user's machine.
  const url = new URL(String(home.status?.URL ?? location.href)).origin;
  const caPem = ca?.data?.["ca.crt"];
  const objects = manifestOfAgent(account, {
    target: identity,
    resources: spec?.resources ?? syncedResourcesDefault,
    image: `kcp-syncer:${versionOf(version as { readonly gitVersion?: string })}`,
    kubeconfig: agentKubeconfig({ url, caPem }, identity),
    token: token.status?.token ?? "",
  });
  return objects.map((object) => `---\n${formatYaml(object)}`).join("");
}

/** `v1.34.0+kcp-ts-v0.1.0`: the agent is of the version of the server. */
function versionOf({ gitVersion = "" }: { readonly gitVersion?: string }): string {
  return gitVersion.slice(gitVersion.lastIndexOf("-v") + 2);
}
