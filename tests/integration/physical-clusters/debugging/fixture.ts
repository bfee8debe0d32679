/**
 * For the tests of this folder: a control plane with a port, simulated clusters behind sockets, and
 * a Deployment whose Pods can be looked at.
 */
import assert from "node:assert/strict";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  connect,
  defineResource,
  isUpgraded,
  type KubernetesObject,
  parseKubeconfig,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { clientHandshake, WebSocketConnection } from "@kcp-ts/sdk/websocket";
import type { KubeconfigOptions, TestControlPlane } from "@kcp-ts/testing/internal";
import { deployment, deployments, eventually, register } from "../fixture.ts";

export interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly object[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly ephemeralContainerStatuses?: readonly { readonly name: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const pods = defineResource<Pod>(kinds.pods);

/**
 * A SyncTarget that lends what it lends if nobody says otherwise, and the wish to wait until
 * Deployments are served.
 */
export async function registerReady(
  client: Client,
  name: string,
  kubeconfig: string,
): Promise<void> {
  await register(client, name, { kubeconfig });
  await eventually(() => client.resource(pods).list({ namespace: "default" }));
  await eventually(() => client.resource(deployments).list({ namespace: "default" }));
}

/** As upstream shows them, when there are as many and all of them run. */
export async function runningPods(client: Client, app: string, count: number): Promise<Pod[]> {
  return await eventually(async () => {
    const options = { namespace: "default", labelSelector: `app=${app}` };
    const { items } = await client.resource(pods).list(options);
    const running = items.filter(
      ({ status, metadata }) =>
        status?.phase === "Running" && metadata.deletionTimestamp === undefined,
    );
    assert.equal(running.length, count, `${running.length} of ${items.length} Pods of ${app} run`);
    assert.equal(items.length, count);
    return [...items];
  });
}

export function webDeployment(
  name = "web",
  replicas = 2,
  annotations: Record<string, string> = {},
) {
  const made = deployment(name);
  const template = {
    metadata: { labels: { app: name }, annotations },
    spec: made.spec?.template?.spec ?? {},
  };
  return { ...made, spec: { ...made.spec, replicas, template } };
}

/** Over the network, as that user or as an administrator. */
export async function networkClient(
  t: Pick<TestContext, "after">,
  plane: TestControlPlane,
  options: KubeconfigOptions,
): Promise<Client> {
  const connection = connect(parseKubeconfig(await plane.kubeconfig(options), { trust: "inline" }));
  t.after(() => connection.close());
  return connection.client;
}

export interface Session {
  readonly status: number;
  /** What was printed, or what was said in place of a session. */
  readonly text: string;
}

const stdout = 1;

/**
 * Runs a command in a Pod by a WebSocket, as kubectl does. `path` is of the Pod, below the client's
 * cluster.
 */
export async function exec(
  client: Client,
  path: string,
  command: readonly string[] = ["hostname"],
  headers: Readonly<Record<string, string>> = {},
): Promise<Session> {
  const shake = clientHandshake(["v5.channel.k8s.io"]);
  const query = new URLSearchParams([
    ...command.map((word): [string, string] => ["command", word]),
    ["stdout", "true"],
  ]);
  const response = await client.upgrade({
    method: "GET",
    path: `${path}/exec?${query}`,
    headers: { ...shake.headers, ...headers },
  });
  if (!isUpgraded(response)) return { status: response.status, text: await response.body.text() };
  return await new Promise((resolve, reject) => {
    let text = "";
    new WebSocketConnection({
      stream: response.connection as Duplex,
      role: "client",
      messageBytesMax: 1 << 20,
      onMessage: (message) => {
        if (message[0] === stdout) text += message.toString("utf8", 1);
      },
      onClose: (error) => (error === undefined ? resolve({ status: 101, text }) : reject(error)),
    });
  });
}

export function podPath(name: string): string {
  return `/api/v1/namespaces/default/pods/${name}`;
}

/**
 * As `kubectl debug` does. `path` is of the Pod. Answers with the status and the names of its
 * ephemeral containers.
 */
export async function debug(
  client: Client,
  path: string,
  container: string,
  more: JsonObject = {},
): Promise<{ readonly status: number; readonly text: string; readonly containers: string[] }> {
  const patch = { spec: { ephemeralContainers: [{ name: container, image: "busybox:1.37" }] } };
  try {
    const pod = (await client.json({
      method: "PATCH",
      path: `${path}/ephemeralcontainers`,
      contentType: "application/strategic-merge-patch+json",
      body: { ...more, spec: { ...(more["spec"] as JsonObject | undefined), ...patch.spec } },
    })) as {
      readonly spec: { readonly ephemeralContainers: readonly { readonly name: string }[] };
    };
    const containers = pod.spec.ephemeralContainers.map(({ name }) => name);
    return { status: 200, text: "", containers };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return { status: error.code, text: error.message, containers: [] };
  }
}

export interface Usage {
  readonly status: number;
  readonly text: string;
  readonly warnings: string;
  /** Names of Pods with what their containers use, as in `web-1: web cpu=5m memory=8Mi`. */
  readonly pods: readonly string[];
}

interface PodMetrics {
  readonly metadata: { readonly name: string };
  readonly containers: readonly { readonly name: string; readonly usage: object }[];
}

/**
 * What `kubectl top pods` asks. `query` begins with a question mark, or is `/` and the name of a
 * Pod.
 */
export async function topPods(client: Client, query = "", namespace = "default"): Promise<Usage> {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods${query}`;
  try {
    const response = await client.send({ method: "GET", path, retriesMax: 0 });
    const text = await response.body.text();
    const said = JSON.parse(text) as PodMetrics & { items?: readonly PodMetrics[] };
    const pods = (said.items ?? [said]).map(({ metadata, containers }) => {
      const used = containers.map(({ name, usage }) =>
        [name, ...Object.entries(usage).map((pair) => pair.join("="))].join(" "),
      );
      return `${metadata.name}: ${used.join(", ")}`;
    });
    const warnings = String(response.headers["warning"] ?? "");
    return { status: response.status, text, warnings, pods };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return { status: error.code, text: error.message, warnings: "", pods: [] };
  }
}

/** The status, and what was said. */
export async function log(client: Client, path: string, query = ""): Promise<Session> {
  try {
    const response = await client.send({
      method: "GET",
      path: `${path}/log${query}`,
      retriesMax: 0,
    });
    return { status: response.status, text: await response.body.text() };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return { status: error.code, text: error.message };
  }
}
