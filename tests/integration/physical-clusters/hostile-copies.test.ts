/**
 * Goal: a physical cluster says nothing in namespaces that it was given nothing of: no Pods, no
 * Events, neither at home nor among its tenants.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { agentViewPath, clusterLabel, stateLabel } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { clusterRoleBindings, configMaps, pods } from "@kcp-ts/sdk/kinds";
import { type Agent, registerPullTarget, statusOf } from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startPhysicalCluster,
  untilImport,
} from "./fixture.ts";
import {
  bind,
  exportCompute,
  namespaces,
  sharedNameOf,
  startControlPlaneForTenants,
  untilComputeExported,
} from "./tenants.ts";

function pod(target: string, namespace: string, name = "spoofed") {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { [stateLabel(target)]: "Upsync" } },
    spec: { containers: [{ name: "c", image: "nginx" }] },
  };
}

/** As one that is copied up, and as one of the agent itself. */
function events(target: string, namespace: string) {
  const involvedObject = { apiVersion: "v1", kind: "Secret", name: "treasure", namespace };
  const of = (name: string, more: object, labels: object) => ({
    apiVersion: "v1",
    kind: "Event",
    involvedObject,
    type: "Warning",
    reason: "Spoofed",
    ...more,
    metadata: { name, namespace, labels },
  });
  return {
    copied: of("copied", { message: "x" }, { [stateLabel(target)]: "Upsync" }),
    own: of("own", { message: `SyncTarget ${target}: x`, reportingComponent: "kcp-syncer" }, {}),
  };
}

/** The response to a client with the agent's token, in a namespace of a logical cluster. */
async function said(agent: Agent, cluster: string, namespace: string, target: string) {
  const at = `${agentViewPath(agent.target)}/clusters/${cluster}/api/v1/namespaces/${namespace}`;
  const send = (method: "POST" | "PATCH", path: string, body: object, contentType?: string) =>
    statusOf(
      agent.client.json({
        method,
        path: `${at}${path}fieldManager=kcp-syncer`,
        body: body as never,
        ...(contentType === undefined ? {} : { contentType }),
      }),
    );
  const { copied, own } = events(target, namespace);
  const apply = "application/apply-patch+yaml";
  return {
    pod: await send("POST", "/pods?", pod(target, namespace)),
    podApplied: await send(
      "PATCH",
      "/pods/other?force=true&",
      pod(target, namespace, "other"),
      apply,
    ),
    event: await send("POST", "/events?", copied),
    eventApplied: await send("PATCH", "/events/copied?force=true&", copied, apply),
    ownEvent: await send("POST", "/events?", own),
  };
}

const nothing = { pod: 403, podApplied: 403, event: 403, eventApplied: 403, ownEvent: 403 };
const everything = { pod: 200, podApplied: 200, event: 200, eventApplied: 200, ownEvent: 200 };

async function assign(client: Client, namespace: string, target: string): Promise<void> {
  const { metadata, ...rest } = deployment("web");
  const labels = { ...metadata.labels, [clusterLabel]: target };
  await client
    .resource(deployments)
    .create({ metadata: { ...metadata, namespace, labels }, ...rest });
}

function assignedByName(client: Client, target: string): Promise<unknown> {
  const metadata = { namespace: "default", name: "given", labels: { [clusterLabel]: target } };
  return client.resource(configMaps).create({ metadata });
}

/**
 * A cluster that others serve well, so that there are Pods and Deployments, and the token of
 * another one in wrong hands.
 */
async function stage(t: TestContext, home: string) {
  const plane = await startControlPlaneForTenants(t);
  const east = await startPhysicalCluster(t, { name: "east" });
  const client = plane.clientFor(home);
  const resources = ["deployments.apps", "pods"];
  await register(client, "east", { kubeconfig: east.kubeconfig, resources });
  const available = { compatible: "True", available: "True" };
  await untilImport(client, "deployments.east.v1.apps", available);
  await untilImport(client, "pods.east.v1.core", available);
  return { plane, client, agent: await registerPullTarget(t, plane, "mine", home) };
}

describe("a physical cluster that was given something of one namespace", () => {
  it("says nothing in the others of its own workspace", async (t) => {
    const { client, agent } = await stage(t, "root");
    await client.resource(namespaces).create({ metadata: { name: "team" } });
    await assign(client, "team", "mine");
    // Of another cluster, which is nothing to this one.
    await assign(client, "default", "east");
    assert.deepEqual(await said(agent, "root", "default", "mine"), nothing);
    assert.deepEqual(await said(agent, "root", "team", "mine"), everything);
    // A copy of its own is nothing that was given to it.
    await client.resource(deployments).delete({ namespace: "team", name: "web" });
    await eventually(async () => {
      assert.equal((await said(agent, "root", "team", "mine")).ownEvent, 403);
    });
    // The syncer in the control plane, for clusters that it connects to, is asked the same.
    const spoofed = pod("mine", "default");
    const pushed = client.resource(pods).create(spoofed as never, { fieldManager: "kcp-syncer" });
    await assert.rejects(pushed, /nothing in the namespace default is assigned to mine/);
  });

  it("says nothing in the others of its tenants", async (t) => {
    const { plane, client, agent } = await stage(t, "compute");
    await exportCompute(client);
    await untilComputeExported(client, "deployments.apps", "pods");
    const tenant = plane.clientFor("tenant");
    await bind(tenant, "compute");
    await tenant.resource(namespaces).create({ metadata: { name: "team" } });
    const target = sharedNameOf("compute", "mine");
    assert.deepEqual(await said(agent, "tenant", "default", target), nothing);
    await eventually(() => assign(tenant, "team", target));
    await eventually(async () => {
      assert.equal((await said(agent, "tenant", "team", target)).ownEvent, 200);
    });
    assert.deepEqual(await said(agent, "tenant", "default", target), nothing);
  });
});

describe("the administrator of a workspace, who has every verb in it", () => {
  it("makes no object a copy of a cluster, whatever field manager the requests name", async (t) => {
    const { plane, client } = await stage(t, "root");
    await assign(client, "default", "mine");
    await assignedByName(client, "nowhere");
    const subject = { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ada" };
    await client
      .resource(clusterRoleBindings)
      .create({
        metadata: { name: "ada" },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "cluster-admin",
        },
        subjects: [subject],
      });
    const ada = plane.clientFor("root", { username: "ada", groups: ["system:authenticated"] });
    const managers = ["kcp-syncer", "kcp-cluster-controller"];
    // The second has no SyncTarget: it belongs to the workspace alone.
    for (const [target, fieldManager] of ["mine", "nowhere"].flatMap((one) =>
      managers.map((manager) => [one, manager] as const),
    )) {
      const forged = pod(target, "default", "forged") as never;
      const one = { namespace: "default", name: "forged" };
      const answers = [
        ada.resource(pods).create(forged, { fieldManager }),
        ada.resource(pods).create(forged, { fieldManager, dryRun: true }),
        ada.resource(pods).apply(forged, { fieldManager, force: true }),
      ];
      for (const answer of answers) assert.equal(await statusOf(answer), 403);
      assert.equal(await client.resource(pods).find(one), undefined);
    }
    // Nor does an object become one later, or cease to be one.
    const labels = { [stateLabel("mine")]: "Upsync" };
    const marked = { type: "merge", patch: { metadata: { labels } } } as const;
    const web = { namespace: "default", name: "web" };
    const patched = ada.resource(deployments).patch(web, marked, { fieldManager: "kcp-syncer" });
    assert.equal(await statusOf(patched), 403);
  });
});
