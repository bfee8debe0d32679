/** For the tests of this folder: a control plane with a port, simulated clusters behind sockets, and a Deployment whose Pods can be looked at. */
import assert from "node:assert/strict";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { deployment, deployments, eventually, register } from "../fixture.ts";

export interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly object[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const pods = defineResource<Pod>({
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});

/** A SyncTarget that lends what it lends if nobody says otherwise, and the wish to wait until Deployments are served. */
export async function registered(client: Client, name: string, kubeconfig: string): Promise<void> {
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

export function web(name = "web", replicas = 2, annotations: Record<string, string> = {}) {
  const made = deployment(name);
  const template = {
    metadata: { labels: { app: name }, annotations },
    spec: made.spec?.template?.spec ?? {},
  };
  return { ...made, spec: { ...made.spec, replicas, template } };
}
