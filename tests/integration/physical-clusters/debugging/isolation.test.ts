/**
 * Goal: no user reaches another tenant's Pod, by any path, forged object or header; and only roles
 * grant access.
 *
 * Method: two tenants share one cluster. Both have a Pod; alice owns one of the logical clusters
 * and knows everything about the other's Pod.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  clusterLabel,
  type SyncTarget,
  stateLabel,
  stateUpsync,
  syncerFieldManager,
  syncTargets,
  upsyncedFromAnnotation,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { configMaps, namespaces } from "@kcp-ts/sdk/kinds";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { deployments, eventually, fastProbes } from "../fixture.ts";
import {
  exec,
  log,
  networkClient,
  type Pod,
  podPath,
  pods,
  registerReady,
  runningPods,
  webDeployment,
} from "./fixture.ts";

const alice = { username: "alice", groups: [] };
const bob = { username: "bob", groups: [] };
const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: false };
const clusterRoles = defineResource<KubernetesObject & { rules: object[] }>(kinds.clusterRoles);
const clusterRoleBindings = defineResource<
  KubernetesObject & { subjects: object[]; roleRef: object }
>(kinds.clusterRoleBindings);

let plane: TestControlPlane;
let east: SimulatedCluster;
let ofA: Pod;
let ofB: Pod;
/** alice's, over the network. */
let a: Client;
const ending: (() => unknown)[] = [];
const scope = { after: (end: () => unknown) => void ending.push(end) };

async function grant(cluster: string, username: string, name: string, rules: object[]) {
  const client = plane.clientFor(cluster);
  await client.resource(clusterRoles).create({ metadata: { name }, rules });
  await client
    .resource(clusterRoleBindings)
    .create({
      metadata: { name },
      subjects: [{ kind: "User", name: username, apiGroup: rbac.group }],
      roleRef: { apiGroup: rbac.group, kind: "ClusterRole", name },
    });
}

async function tenant(cluster: string): Promise<Pod> {
  const client = plane.clientFor(cluster);
  await client.resource(namespaces).create({ metadata: { name: "default" } });
  await registerReady(client, "east", east.kubeconfig ?? "");
  const said = { "sim.kcp.io/log": `treasure of ${cluster}` };
  await client.resource(deployments).create(webDeployment("web", 1, said));
  const [pod] = await runningPods(client, "web", 1);
  assert.ok(pod !== undefined);
  return pod;
}

before(async () => {
  plane = await startTestControlPlane({
    physicalClusters: { ...fastProbes, gracePeriods: { recoveryMs: 0 } },
  });
  east = await startListeningCluster({ name: "east", nodes: 1 });
  [ofA, ofB] = await Promise.all([tenant("a"), tenant("b")]);
  await grant("a", "alice", "owner", [
    { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
    { nonResourceURLs: ["*"], verbs: ["*"] },
  ]);
  a = await networkClient(scope, plane, { cluster: "a", user: alice });
});

after(async () => {
  for (const end of ending.reverse()) await end();
  await plane?.close();
  await east?.close();
});

describe("a tenant", () => {
  it("reaches its own Pods, and only those are there", async () => {
    const own = await exec(a, podPath(ofA.metadata.name));
    assert.deepEqual(own, { status: 101, text: `${ofA.metadata.name}\n` });
    assert.deepEqual(await log(a, podPath(ofA.metadata.name)), {
      status: 200,
      text: "treasure of a\n",
    });
    for (const ask of [exec, log]) {
      assert.equal((await ask(a, podPath(ofB.metadata.name))).status, 404);
    }
  });

  it("does not enter another's logical cluster by path or header", async () => {
    const other = a.withBasePath("/clusters/b");
    const plain = a.withBasePath("");
    for (const ask of [exec, log]) {
      assert.equal((await ask(other, podPath(ofB.metadata.name))).status, 403);
      assert.equal((await ask(plain, podPath(ofB.metadata.name))).status, 403);
    }
    const header = { "x-kubernetes-cluster": "b" };
    const by = await exec(plain, podPath(ofB.metadata.name), ["hostname"], header);
    assert.equal(by.status, 403);
    const both = await exec(a, podPath(ofB.metadata.name), ["hostname"], header);
    assert.equal(both.status, 400);
    const everywhere = a.withBasePath("/clusters/*");
    assert.notEqual((await exec(everywhere, podPath(ofB.metadata.name))).status, 101);
  });

  it("gets nowhere by spellings of the path", async () => {
    const [namespace] = await namespacesOf("b");
    const name = ofB.metadata.name;
    const tricks = [
      `/api/v1/namespaces/${namespace}/pods/${name}`,
      `/api/v1/namespaces/default/pods/..%2f..%2f${namespace}%2fpods%2f${name}`,
      `/api/v1/namespaces/default/pods/${ofA.metadata.name}%2f..%2f${name}`,
      `/api/v1/namespaces/default/pods/${ofA.metadata.name}/exec/..`,
      `/api/v1/namespaces/default/pods/%2e%2e/${namespace}`,
      `/api/v1/namespaces/default%2f..%2f${namespace}/pods/${name}`,
      `/clusters/b/api/v1/namespaces/default/pods/${name}`,
      `/api/v1/watch/namespaces/default/pods/${name}`,
      `/api/v1/pods/${name}`,
    ];
    for (const path of tricks) {
      const { status, text } = await exec(a, path);
      assert.ok(status >= 400 && status < 500, `${status} for ${path}`);
      assert.ok(!text.includes("treasure"));
    }
    // Parameters that clusters know and we do not pass on change nothing.
    const { text } = await log(a, `${podPath(ofA.metadata.name)}/log?namespace=${namespace}#`);
    assert.ok(!text.includes("treasure of b"));
  });

  it("reaches nothing by a Pod that was made by hand", async () => {
    const targets = await Promise.all(
      ["a", "b"].map((cluster) =>
        plane.clientFor(cluster).resource(syncTargets).get({ name: "east" }),
      ),
    );
    const theirs = ofB.metadata.annotations?.[upsyncedFromAnnotation] ?? "";
    const { uid } = JSON.parse(theirs) as { uid: string };
    const client = plane.clientFor("a", alice);
    const forged = (name: string, target: SyncTarget | undefined) => ({
      metadata: {
        name,
        namespace: "default",
        labels: { [stateLabel("east")]: stateUpsync },
        annotations: {
          [upsyncedFromAnnotation]: JSON.stringify({ uid, target: target?.metadata.uid }),
        },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "Deployment", name: "web--east", uid: "1-2-3" },
        ],
      },
      spec: { containers: [{ name: "a", image: "a" }] },
    });
    const { name } = ofB.metadata;
    const options = { fieldManager: syncerFieldManager };
    // The owner of a cluster is not its syncer, whatever field manager a request names.
    for (const manager of [{}, options])
      await assert.rejects(
        client.resource(pods).create(forged(name, targets[1]), manager),
        /only the syncer of east can say/,
      );
    // A syncer that is deceived gets the tenant no further.
    // The syncer itself takes away what is in no cluster: then it is just not there.
    for (const target of targets) {
      await plane.clientFor("a").resource(pods).create(forged(name, target), options);
      for (const ask of [exec, log]) {
        const { status } = await ask(a, podPath(name));
        assert.ok(status === 404 || (status === 503 && target === targets[1]), String(status));
      }
      const at = { namespace: "default", name };
      await eventually(async () =>
        assert.equal(await client.resource(pods).find(at), undefined, "the syncer takes it away"),
      );
    }
    const { labels: _, ownerReferences: __, ...bare } = forged("bare", targets[0]).metadata;
    const plain = { ...forged("bare", targets[0]), metadata: bare };
    await client.resource(pods).create(plain);
    // It is one of his own, and leads to that, whatever it says of somebody else's.
    await eventually(async () => {
      const { status, text } = await exec(a, podPath("bare"));
      assert.deepEqual([status, text.trim()], [101, "bare--east"]);
    });
  });

  it("reaches nothing from a namespace that is called like another's in the cluster", async () => {
    const [namespace = ""] = await namespacesOf("b");
    const client = plane.clientFor("a", alice);
    await client.resource(namespaces).create({ metadata: { name: namespace } });
    const [target] = await Promise.all([
      plane.clientFor("a").resource(syncTargets).get({ name: "east" }),
    ]);
    const { uid } = JSON.parse(ofB.metadata.annotations?.[upsyncedFromAnnotation] ?? "{}");
    const copy = JSON.stringify({ uid, target: target.metadata.uid });
    const forge = (by = plane.clientFor("a")) =>
      by
        .resource(pods)
        .create(
          {
            metadata: {
              name: ofB.metadata.name,
              namespace,
              labels: { [stateLabel("east")]: stateUpsync },
              annotations: { [upsyncedFromAnnotation]: copy },
            },
            spec: { containers: [{ name: "a", image: "a" }] },
          },
          { fieldManager: syncerFieldManager },
        );
    await assert.rejects(forge(client), /only the syncer of east can say/);
    await assert.rejects(forge(), /nothing in the namespace .* is assigned to east/);
    // Nor when something is assigned there, by which the cluster may say something.
    const given = { name: "given", namespace, labels: { [clusterLabel]: "east" } };
    await client.resource(configMaps).create({ metadata: given });
    await eventually(() => forge());
    const path = `/api/v1/namespaces/${namespace}/pods/${ofB.metadata.name}`;
    for (const ask of [exec, log]) assert.equal((await ask(a, path)).status, 404);
  });
});

describe("a user with roles", () => {
  it("may look at logs and not run commands, if that is what they say", async (t) => {
    const look = [
      { nonResourceURLs: ["/"], verbs: ["access"] },
      { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list"] },
    ];
    await grant("a", "bob", "looker", look);
    const client = await networkClient(t, plane, { cluster: "a", user: bob });
    const path = podPath(ofA.metadata.name);
    await eventually(async () => assert.equal((await log(client, path)).status, 200));
    const { status, text } = await exec(client, path);
    assert.equal(status, 403);
    assert.match(text, /pods/);
    // A WebSocket begins with a GET: reading alone is not enough.
    await grant("a", "bob", "reader", [
      { apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] },
    ]);
    await eventually(async () => {
      const refused = await exec(client, path);
      assert.equal(refused.status, 403);
      assert.match(refused.text, /cannot create pods\/exec/);
    });
    await grant("a", "bob", "runner", [
      { apiGroups: [""], resources: ["pods/exec"], verbs: ["create"] },
    ]);
    await eventually(async () => assert.equal((await exec(client, path)).status, 101));
  });

  it("without any role is rejected, and unauthenticated clients get 401 Unauthorized", async (t) => {
    const mallory = await networkClient(t, plane, {
      cluster: "a",
      user: { username: "mallory", groups: [] },
    });
    const path = podPath(ofA.metadata.name);
    for (const ask of [exec, log]) assert.equal((await ask(mallory, path)).status, 403);
    const wrong = { authorization: "Bearer nonsense" };
    const { url } = await plane.listen();
    assert.ok(url.startsWith("https://"));
    const { status } = await exec(mallory, path, ["hostname"], wrong);
    assert.ok(status === 401 || status === 403, String(status));
  });
});

/** In the cluster, of a tenant. */
async function namespacesOf(cluster: string): Promise<string[]> {
  const { items } = await east.client.resource(namespaces).list();
  return items
    .filter(({ metadata }) =>
      metadata.annotations?.["kcp.io/namespace-locator"]?.includes(`"cluster":"${cluster}"`),
    )
    .map(({ metadata }) => metadata.name);
}
