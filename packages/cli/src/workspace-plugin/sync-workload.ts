/**
 * `kubectl kcp workload sync <name>`: registers a cluster in Pull mode, and prints the agent's
 * manifest to apply in it. The control plane gets no credential of the cluster, and the cluster
 * gets a credential for its own view of the workspace and nothing else.
 */
import { writeFile } from "node:fs/promises";
import { agentImageDefault, toYaml } from "@kcp-ts/controlplane";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type AgentServer,
  accountNamespace,
  agentId,
  agentKubeconfig,
  agentManifest,
  agentTokenSecondsDefault,
  computeExportAnnotation,
  computeExportName,
  apiExports as computeExports,
  requestToken,
  serviceAccounts,
  syncedResourcesDefault,
  syncTargets,
} from "@kcp-ts/multicluster";
import type { Client, KubernetesObject } from "@kcp-ts/sdk";
import { durationMs } from "./durations.ts";
import type { Session } from "./session.ts";

export interface SyncOptions {
  readonly syncerImage?: string;
  readonly output?: string;
  /** Prints the values of the chart kcp-agent instead of a manifest. */
  readonly helmValues?: boolean;
  readonly resources?: readonly string[];
  readonly labels?: readonly string[];
  readonly server?: string;
  readonly tokenLifetime?: string;
  /**
   * Whether other workspaces may bind the APIs of this workspace's clusters, if they have the
   * permission.
   */
  readonly export?: boolean;
}

type SyncTarget = Awaited<ReturnType<typeof makeTarget>>;

const waitMs = 30_000;
const pollMs = 200;

export async function syncWorkload(
  session: Session,
  name: string,
  options: SyncOptions,
): Promise<void> {
  const client = session.clientIn(session.address.workspace);
  const target = await makeTarget(client, name, options);
  if (options.export !== false) await createComputeExport(client, session);
  const { uid = "" } = target.metadata;
  const cluster = clusterOf(target, session);
  const account = agentId({ name, uid });
  await untilAccount(client, account);
  const expirationSeconds =
    options.tokenLifetime === undefined
      ? agentTokenSecondsDefault
      : durationMs(options.tokenLifetime, "--token-lifetime") / 1000;
  const token = await requestToken(client, { name: account }, { expirationSeconds });
  const identity = { cluster, name, uid };
  const agent = {
    target: identity,
    resources: target.spec?.resources ?? syncedResourcesDefault,
    image: options.syncerImage ?? agentImageDefault,
    kubeconfig: agentKubeconfig(await serverOf(session, options.server), identity),
    token,
  };
  const manifest = agentManifest(agent);
  const text =
    options.helmValues === true
      ? toYaml({ account, ...agent, rules: clusterRulesOf(manifest) })
      : manifest.map((object) => `---\n${toYaml(object)}`).join("");
  const { output = "-" } = options;
  if (output === "-") {
    session.print(text.trimEnd());
    return;
  }
  await writeFile(output, text, { mode: 0o600 });
  session.note(`Wrote what the agent of ${name} needs to ${output}. In the physical cluster:`);
  session.note(
    options.helmValues === true
      ? `  helm install --kubeconfig <of the cluster> --namespace ${account} --create-namespace ${account} deploy/charts/kcp-agent --values ${output}`
      : `  kubectl --kubeconfig <of the cluster> apply -f ${output}`,
  );
  session.note(`  kubectl --kubeconfig <of the cluster> --namespace ${account} get deployments`);
  session.note(`Then here: kubectl wait synctarget/${name} --for condition=Ready`);
  session.note(`${output} holds a token: keep it to yourself, and delete it when it is applied.`);
}

/** The rules of the agent's ClusterRole, which follow from what it syncs. */
function clusterRulesOf(manifest: readonly JsonObject[]): JsonValue {
  return manifest.find(({ kind }) => kind === "ClusterRole")?.["rules"] ?? [];
}

/** An existing object is kept: it is as good, or a decision of its owner. */
async function createComputeExport(client: Client, session: Session): Promise<void> {
  const annotations = { [computeExportAnnotation]: "true" };
  try {
    await client
      .resource(computeExports)
      .create({ metadata: { name: computeExportName, annotations } });
  } catch (error) {
    if (isStatusError(error, "AlreadyExists")) return;
    if (!isStatusError(error, "Forbidden")) throw error;
    session.note(`Others cannot use the clusters of this workspace: ${error.message}`);
  }
}

async function makeTarget(client: Client, name: string, options: SyncOptions) {
  const resource = client.resource(syncTargets);
  const { resources } = options;
  const labels = labelsOf(options.labels ?? []);
  const known = await resource.find({ name });
  if (known === undefined)
    return await resource.create({
      metadata: { name, labels },
      spec: { mode: "Pull", ...(resources === undefined ? {} : { resources }) },
    });
  if ((known.spec?.mode ?? "Push") !== "Pull")
    throw new Error(
      `SyncTarget ${name} exists and is in mode ${known.spec?.mode ?? "Push"}: set spec.mode to Pull first`,
    );
  if (resources === undefined && Object.keys(labels).length === 0) return known;
  const spec = resources === undefined ? {} : { spec: { resources: [...resources] } };
  const patch = { metadata: { labels }, ...spec };
  return await resource.patch({ name }, { type: "merge", patch });
}

/** Created by the control plane, once it has reconciled the SyncTarget. */
async function untilAccount(client: Client, name: string): Promise<KubernetesObject> {
  const startedAtMs = systemClock.monotonic();
  for (;;) {
    const found = await client
      .resource(serviceAccounts)
      .find({ namespace: accountNamespace, name });
    if (found !== undefined) return found;
    if (systemClock.monotonic() - startedAtMs > waitMs)
      throw new Error(
        `there is no ServiceAccount ${name} after ${waitMs / 1000} s: does the control plane run its cluster-controller?`,
      );
    await sleep(systemClock, pollMs);
  }
}

/** By cluster name: users may address a workspace by its path, agents may not. */
function clusterOf({ metadata }: SyncTarget, session: Session): string {
  return metadata.annotations?.["kcp.io/cluster"] ?? session.address.workspace;
}

/** The kubeconfig's server, or another address of it. */
async function serverOf(session: Session, url: string | undefined): Promise<AgentServer> {
  const { cluster } = session.contextTarget;
  const [data, file] = ["certificate-authority-data", "certificate-authority"].map(
    (member) => cluster[member],
  );
  const caPem =
    typeof data === "string"
      ? Buffer.from(data, "base64").toString("utf8")
      : typeof file === "string"
        ? await session.readKubeconfigFile(file)
        : undefined;
  return { url: url ?? new URL(session.serverUrl).origin, caPem };
}

function labelsOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [key = "", value] = pair.split("=");
      if (key === "" || value === undefined) throw new Error(`invalid --labels ${pair}: key=value`);
      return [key, value];
    }),
  );
}
