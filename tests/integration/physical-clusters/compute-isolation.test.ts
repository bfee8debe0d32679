/**
 * Goal: who uses, offers or serves shared clusters sees and changes their own, and nothing else.
 * Method: one table of requests for each mode, asked by everybody over the same objects; and
 * tenants that try to reach what they were not given.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonValue } from "@kcp-ts/machinery/json";
import {
  agentViewPath,
  clusterLabel,
  consumersPath,
  stateLabel,
  syncerFinalizer,
} from "@kcp-ts/multicluster";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import {
  clusterRoleBindings,
  customResourceDefinitions as definitions,
  syncTargets,
} from "@kcp-ts/sdk/kinds";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import { type Agent, registerPullTarget, startAgentWith, statusOf } from "./agents.ts";
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
  configMaps,
  exportCompute,
  labelled,
  namespacesByOwner,
  secrets,
  sharedNameOf,
  startControlPlaneForTenants,
  untilComputeExported,
  untilReady,
  untilReplicas,
} from "./tenants.ts";

const resources = ["deployments.apps", "configmaps"];
const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: false };

type Who = "one" | "two" | "compute" | "east" | "west";
type Row = readonly [
  who: Who,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  status: number,
  body?: object,
];

interface World {
  readonly plane: TestControlPlane;
  readonly physical: Client;
  /** Administrators of the workspaces of these names, and agents. Not in a cluster. */
  readonly as: (who: Who) => Client | undefined;
  readonly views: { readonly east: string; readonly west: string };
}

/** The administrator of a workspace, without rights in others. */
async function adminOf(plane: TestControlPlane, cluster: string): Promise<Client> {
  const username = `admin-of-${cluster}`;
  const apiGroup = rbac.group;
  await plane
    .clientFor(cluster)
    .resource(clusterRoleBindings)
    .create({
      metadata: { name: username },
      roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup, kind: "User", name: username }],
    });
  return plane.clientFor(cluster, { username, groups: ["system:authenticated"] }).withBasePath("");
}

/**
 * Two tenants with a Deployment and a ConfigMap of the same names, in a cluster `east` of either
 * mode; and an agent of `west`, which has nothing.
 */
async function world(t: TestContext, mode: "Push" | "Pull"): Promise<World> {
  const plane = await startControlPlaneForTenants(t);
  const compute = plane.clientFor("compute");
  const physical = await startPhysicalCluster(t, { name: "east" });
  let east: Agent | undefined;
  if (mode === "Push") {
    await register(compute, "east", { kubeconfig: physical.kubeconfig, resources });
  } else {
    east = await registerPullTarget(t, plane, "east", "compute", { resources });
    const { view: upstream, target } = east;
    t.after(startAgentWith({ upstream, downstream: physical.client, target, resources }));
  }
  const west = await registerPullTarget(t, plane, "west", "compute", { resources });
  await exportCompute(compute);
  await untilComputeExported(compute, "deployments.apps");
  await untilReady(compute, "east");
  for (const name of ["one", "two"]) {
    const client = plane.clientFor(name);
    await bind(client, "compute", ["configmaps"]);
    const labels = { [clusterLabel]: sharedNameOf("compute", "east") };
    const metadata = { namespace: "default", name: "settings", labels };
    await client.resource(configMaps).create({ metadata, data: { of: name } });
    await client.resource(secrets).create({ metadata: { ...metadata, name: "key" } });
    await client.resource(deployments).create(labelled("placed", labels));
    await client.resource(deployments).create(deployment("web"));
    await untilReplicas(client, "web", 2);
    await untilReplicas(client, "placed", 2);
  }
  const { metadata } = await plane
    .clientFor("compute")
    .resource(targetsResource)
    .get({ name: "east" });
  const uid = metadata.uid ?? "";
  const views = {
    east: agentViewPath({ cluster: "compute", name: "east", uid }),
    west: agentViewPath(west.target),
  };
  const clients = new Map<Who, Client | undefined>([
    ["one", await adminOf(plane, "one")],
    ["two", await adminOf(plane, "two")],
    ["compute", await adminOf(plane, "compute")],
    ["east", east?.client],
    ["west", west.client],
  ]);
  return { plane, physical: physical.client, as: (who) => clients.get(who), views };
}

const targetsResource = defineResource<DynamicObject>(syncTargets);

const apps = "/apis/apps/v1";
const placed = `${apps}/namespaces/default/deployments/placed`;
const web = `${apps}/namespaces/default/deployments/web`;
const settings = "/api/v1/namespaces/default/configmaps/settings";
/** Assigned to the cluster, and not agreed to. */
const key = "/api/v1/namespaces/default/secrets/key";
const targets = "/apis/workload.kcp.io/v1alpha1/synctargets";
const imports = "/apis/apiresource.kcp.io/v1alpha1/apiresourceimports";
const exports = "/apis/apis.kcp.io/v1alpha2/apiexports";
const bindings = "/apis/apis.kcp.io/v1alpha2/apibindings";

function tableOfPeople({ east }: World["views"]): readonly Row[] {
  const consumers = consumersPath("compute");
  return [
    // A tenant has its own workspace.
    ["one", "GET", `/clusters/one${web}`, 200],
    ["one", "GET", `/clusters/one${settings}`, 200],
    // Neither clusters, nor what is known of them, nor the offer, nor who else uses it.
    ["one", "GET", `/clusters/one${targets}/east`, 404],
    ["one", "GET", `/clusters/compute${targets}`, 403],
    ["one", "GET", `/clusters/compute${targets}/east`, 403],
    ["one", "GET", `/clusters/compute${imports}`, 403],
    ["one", "GET", `/clusters/compute${exports}`, 403],
    ["one", "GET", `/clusters/compute/api/v1/secrets`, 403],
    ["one", "GET", `/clusters/*${apps}/deployments`, 403],
    ["one", "GET", `/clusters/*${bindings}`, 403],
    ["one", "GET", `${consumers}/clusters/*${apps}/deployments`, 403],
    ["one", "GET", `${consumers}/clusters/one${web}`, 403],
    ["one", "GET", `${east}/clusters/*${apps}/deployments`, 403],
    ["one", "GET", `${east}/clusters/one${placed}`, 403],
    ["one", "GET", `${east}/clusters/compute${targets}/east`, 403],
    // Another tenant.
    ["one", "GET", `/clusters/two${web}`, 403],
    ["one", "GET", `/clusters/two${settings}`, 403],
    ["one", "PATCH", `/clusters/two${web}`, 403, { spec: { replicas: 0 } }],
    ["one", "DELETE", `/clusters/two${web}`, 403],
    ["two", "GET", `/clusters/one${web}`, 403],
    ["two", "DELETE", `/clusters/one${placed}`, 403],
    // Who offers the clusters has them, and sees what is asked of them; claimed objects as far as
    // they are agreed to; not the workspaces.
    ["compute", "GET", `/clusters/compute${targets}/east`, 200],
    ["compute", "GET", `${consumers}/clusters/one${web}`, 200],
    ["compute", "GET", `${consumers}/clusters/one${settings}`, 200],
    ["compute", "GET", `/clusters/one${web}`, 403],
    ["compute", "GET", `/clusters/one${settings}`, 403],
    ["compute", "GET", `/clusters/one${key}`, 403],
    ["compute", "GET", `${consumers}/clusters/one${key}`, 403],
    ["compute", "GET", `${consumers}/clusters/elsewhere${web}`, 403],
    ["compute", "DELETE", `${consumers}/clusters/one${settings}`, 403],
  ];
}

function tableOfAgents({ east, west }: World["views"]): readonly Row[] {
  const consumers = consumersPath("compute");
  const relabelled = { metadata: { labels: { [clusterLabel]: sharedNameOf("compute", "west") } } };
  const planted = deployment("planted");
  return [
    // The agent of the cluster that has the objects.
    ["east", "GET", `${east}/clusters/one${placed}`, 200],
    ["east", "GET", `${east}/clusters/two${placed}`, 200],
    ["east", "GET", `${east}/clusters/one${settings}`, 200],
    ["east", "GET", `${east}/clusters/one/api/v1/namespaces/default`, 200],
    ["east", "GET", `${east}/clusters/one${web}`, 404],
    ["east", "GET", `${east}/clusters/one${key}`, 404],
    ["east", "PATCH", `${east}/clusters/one${key}`, 404, { data: {} }],
    ["east", "GET", `${east}/clusters/one${bindings}`, 404],
    ["east", "GET", `${east}/clusters/one${targets}`, 404],
    ["east", "GET", `${east}/clusters/*/api/v1/namespaces`, 404],
    ["east", "GET", `${east}/clusters/*${bindings}`, 404],
    ["east", "GET", `${east}/clusters/*${targets}`, 404],
    ["east", "GET", `${east}/clusters/elsewhere${placed}`, 403],
    ["east", "GET", `/clusters/one${placed}`, 403],
    ["east", "GET", `${consumers}/clusters/one${placed}`, 403],
    ["east", "GET", `${west}/clusters/*${apps}/deployments`, 403],
    ["east", "PATCH", `${east}/clusters/one${placed}`, 403, relabelled],
    ["east", "PATCH", `${east}/clusters/one${settings}`, 403, { data: { of: "me" } }],
    ["east", "DELETE", `${east}/clusters/one${settings}`, 405],
    ["east", "POST", `${east}/clusters/one${apps}/namespaces/default/deployments`, 405, planted],
    ["east", "POST", `${east}/clusters/one/api/v1/namespaces/default/configmaps`, 405, {}],
    ["east", "GET", `${east}/clusters/compute${exports}/kubernetes`, 200],
    ["east", "PATCH", `${east}/clusters/compute${exports}/kubernetes`, 405, { spec: {} }],
    // The agent of another cluster of the same workspace.
    ["west", "GET", `${west}/clusters/*${apps}/deployments`, 200],
    ["west", "GET", `${west}/clusters/one${placed}`, 404],
    ["west", "GET", `${west}/clusters/one${settings}`, 404],
    ["west", "PATCH", `${west}/clusters/one${placed}`, 404, relabelled],
    ["west", "PATCH", `${west}/clusters/one${placed}/status`, 404, { status: { replicas: 0 } }],
    ["west", "DELETE", `${west}/clusters/one${placed}`, 404],
    ["west", "GET", `${east}/clusters/one${placed}`, 403],
  ];
}

for (const mode of ["Push", "Pull"] as const) {
  describe(`clusters that are shared, in ${mode} mode`, () => {
    it("show everybody their own, and give nothing to who sets labels of clusters that it has no part in", async (t) => {
      const scene = await world(t, mode);
      await showOwn(scene);
      await giveNothing(t, scene);
    });
  });
}

async function showOwn({ as, views, physical }: World): Promise<void> {
  let asked = 0;
  for (const [who, method, path, wanted, body] of [
    ...tableOfPeople(views),
    ...tableOfAgents(views),
  ]) {
    const client = as(who);
    // In Push mode the control plane itself works in the cluster: it has no agent.
    if (client === undefined) continue;
    asked++;
    const answer = client.json({
      method,
      path,
      ...(body === undefined ? {} : { body: body as JsonValue }),
      ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
    });
    assert.equal(await statusOf(answer), wanted, `${who}: ${method} ${path}`);
  }
  assert.ok(asked > 30);
  await sameInLists(as, views);
  const owners = await namespacesByOwner(physical);
  assert.deepEqual([...owners.keys()].sort(), ["one", "two"]);
  for (const [owner, [namespace = "", ...more]] of owners) {
    assert.deepEqual(more, []);
    const { items } = await physical.resource(configMaps).list({ namespace });
    const found = items.find(({ metadata }) => metadata.name === "settings");
    assert.deepEqual(found?.["data"], { of: owner });
  }
}

async function giveNothing(t: TestContext, { plane, physical }: World): Promise<void> {
  const rival = plane.clientFor("rival");
  const other = await startPhysicalCluster(t, { name: "other" });
  await register(rival, "east", { kubeconfig: other.kubeconfig, resources });
  await exportCompute(rival);
  await untilComputeExported(rival, "deployments.apps");
  await untilReady(rival, "east");
  const [three, stranger] = [plane.clientFor("three"), plane.clientFor("stranger")];
  await bind(three, "rival");
  await ownDefinition(plane.clientFor("compute"), stranger);
  // By every label that could mean the cluster of the others, and held as if it were there.
  const ours = [sharedNameOf("compute", "east"), "east"];
  for (const client of [three, stranger]) {
    for (const [index, name] of ours.entries()) {
      const { metadata, ...rest } = labelled(`hostile-${index}`, { [clusterLabel]: name });
      const finalizers = [syncerFinalizer(name)];
      const workload = { ...rest, metadata: { ...metadata, finalizers } };
      await client.resource(deployments).create(workload);
      const state = labelled(`hostile-state-${index}`, { [stateLabel(name)]: "Sync" });
      await client.resource(deployments).create(state);
      const at = { namespace: "default", name: `hostile-${index}` };
      const labels = { [clusterLabel]: name };
      await client.resource(configMaps).create({ metadata: { ...at, labels }, data: {} });
    }
  }
  const theirs = labelled("hostile-there", { [clusterLabel]: sharedNameOf("rival", "east") });
  await plane.clientFor("one").resource(deployments).create(theirs);
  // What came later by the same ways has arrived: what came before would have, too.
  for (const [client, name] of [
    [plane.clientFor("one"), sharedNameOf("compute", "east")],
    [three, sharedNameOf("rival", "east")],
  ] as const) {
    await client.resource(deployments).create(labelled("later", { [clusterLabel]: name }));
    await untilReplicas(client, "later", 2);
  }
  for (const [cluster, owners] of [
    [physical, ["one", "two"]],
    [other.client, ["three"]],
  ] as const) {
    assert.deepEqual([...(await namespacesByOwner(cluster)).keys()].sort(), owners);
    for (const kind of [deployments, configMaps] as const) {
      const { items } = await cluster.resource<DynamicObject>(kind as never).list();
      const names = items.map(({ metadata }) => metadata.name);
      assert.deepEqual(
        names.filter((name) => name.startsWith("hostile")),
        [],
      );
    }
  }
}

/** What lists and watches over all workspaces hold, is what gets would. */
async function sameInLists(as: World["as"], views: World["views"]): Promise<void> {
  const seen = async (client: Client, view: string) => {
    const all = client.withBasePath(view).inCluster("*");
    const { items } = await all.resource(deployments).list();
    return items.map(
      ({ metadata }) => `${metadata.annotations?.["kcp.io/cluster"]}/${metadata.name}`,
    );
  };
  const [east, west] = [as("east"), as("west")];
  assert.ok(west !== undefined);
  assert.deepEqual(await seen(west, views.west), []);
  if (east === undefined) return;
  const lent = east.withBasePath(views.east).inCluster("*");
  assert.deepEqual((await lent.resource(secrets).list()).items, []);
  assert.equal((await lent.resource(configMaps).list()).items.length, 2);
  const part = `web--${sharedNameOf("compute", "east").replace(".", "-")}`;
  const wanted = ["one", "two"].flatMap((name) => [`${name}/placed`, `${name}/${part}`]);
  assert.deepEqual((await seen(east, views.east)).sort(), wanted.sort());
}

/** A workspace that defines Deployments by itself, as they are elsewhere. */
async function ownDefinition(from: Client, to: Client): Promise<void> {
  await untilImport(from, "deployments.east.v1.apps", { compatible: "True", available: "True" });
  const { spec } = await from.resource(definitions).get({ name: "deployments.apps" });
  await to.resource(definitions).create({ metadata: { name: "deployments.apps" }, spec } as never);
  await eventually(() => to.resource(deployments).list());
}
