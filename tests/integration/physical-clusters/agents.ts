/**
 * For the tests of this folder: agents of physical clusters, in this process, with their own tokens
 * and over the network.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError } from "@kcp-ts/machinery/status";
import {
  type AgentOptions,
  agentId,
  agentKubeconfig,
  agentManifest,
  requestToken,
  runAgent,
  type SyncTargetSpec,
} from "@kcp-ts/multicluster";
import {
  type Client,
  connect,
  type DynamicObject,
  defineResource,
  type KubernetesObject,
  parseKubeconfig,
} from "@kcp-ts/sdk";
import { serviceAccounts as accounts, secrets } from "@kcp-ts/sdk/kinds";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually, register } from "./fixture.ts";

export interface Agent {
  readonly target: { readonly cluster: ClusterName; readonly name: string; readonly uid: string };
  readonly token: string;
  /** With the agent's token and nothing else, over the network; not in a cluster. */
  readonly client: Client;
  readonly view: Client;
}

/** A SyncTarget in Pull mode, and a client with its agent's token. */
export async function registerPullTarget(
  t: TestContext,
  plane: TestControlPlane,
  name: string,
  cluster = "root",
  spec: SyncTargetSpec = {},
): Promise<Agent> {
  const client = plane.clientFor(cluster);
  const { metadata } = await register(client, name, { mode: "Pull", ...spec });
  const { uid = "" } = metadata;
  const target = { cluster: cluster as ClusterName, name, uid };
  const account = agentId(target);
  await eventually(() => client.resource(accounts).get({ namespace: "default", name: account }));
  const token = await requestToken(client, { name: account }, { expirationSeconds: 600 });
  const view = await clientWith(t, plane, target, token);
  return { target, token, client: view.withBasePath(""), view };
}

/** A client with this token, in the virtual workspace of the SyncTarget. */
export async function clientWith(
  t: TestContext,
  plane: TestControlPlane,
  target: Agent["target"],
  token: string,
): Promise<Client> {
  const { url, caPem } = await plane.listen();
  const kubeconfig = agentKubeconfig({ url, caPem }, target);
  const text = kubeconfig.replace('"tokenFile": "token"', `"token": "${token}"`);
  const connection = connect(parseKubeconfig(text, { trust: "inline" }));
  t.after(() => connection.close());
  return connection.client;
}

export async function statusOf(answer: Promise<unknown>): Promise<number> {
  try {
    await answer;
    return 200;
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error.code;
  }
}

export async function secretFiles(client: Client, id: string): Promise<Record<string, string>> {
  const { data = {} } = await client.resource(secrets).get({ namespace: id, name: id });
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value, "base64").toString()]),
  );
}

/** The agent in this process, with the token that was installed for it. Returns what ends it. */
export async function startInstalledAgent(
  t: TestContext,
  at: {
    readonly plane: TestControlPlane;
    readonly target: Agent["target"];
    readonly downstream: Client;
  },
): Promise<() => Promise<void>> {
  const { kubeconfig = "", token = "" } = await secretFiles(at.downstream, agentId(at.target));
  const text = kubeconfig.replace('"tokenFile": "token"', `"token": "${token}"`);
  const connection = connect(parseKubeconfig(text, { trust: "inline" }));
  const stop = startAgentWith({
    upstream: connection.client,
    downstream: at.downstream,
    target: at.target,
    resources: ["deployments.apps"],
  });
  const stopAll = async () => {
    await stop();
    await connection.close();
  };
  t.after(stopAll);
  return stopAll;
}

/** Returns what ends it. */
export function startAgentWith(
  options: Pick<AgentOptions, "upstream" | "downstream" | "target" | "resources">,
): () => Promise<void> {
  const stopping = new AbortController();
  const often = { importPollMs: 500, reportMs: 500 };
  const running = runAgent({ ...options, ...often, onError: () => {} }, stopping.signal);
  return async () => {
    stopping.abort();
    await running;
  };
}

/**
 * Of the account that an agent has in its cluster, with the rights of the manifest that is made for
 * it and no others. The cluster is one of our own control planes, which has roles; simulated
 * clusters have none.
 */
export async function agentAccountClient(
  physical: TestControlPlane,
  { target, token }: Agent,
  resources: readonly string[],
): Promise<Client> {
  const manifest = agentManifest({ target, resources, image: "none", kubeconfig: "", token });
  for (const object of manifest) {
    const { apiVersion, kind, metadata } = object as unknown as KubernetesObject;
    if (kind === "Deployment") continue;
    const [version = "", group = ""] = (apiVersion ?? "").split("/").reverse();
    const namespaced = metadata.namespace !== undefined;
    const resource = `${(kind ?? "").toLowerCase()}s`;
    const of = defineResource<DynamicObject>({
      group,
      version,
      kind: kind ?? "",
      resource,
      namespaced,
    });
    await physical.client.resource(of).create(object as never);
  }
  const id = agentId(target);
  const username = `system:serviceaccount:${id}:${id}`;
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${id}`, "system:authenticated"];
  return physical.clientFor("root", { username, groups });
}
