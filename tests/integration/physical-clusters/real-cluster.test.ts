/**
 * Goal: a real Kubernetes cluster is registered in both modes, has its APIs imported, and runs its
 * workloads, with the permissions of the agent's manifest.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  agentId,
  agentKubeconfig,
  agentManifest,
  clusterLabel,
  downstreamLabel,
  requestToken,
  runAgent,
  serviceAccounts,
  syncTargets,
} from "@kcp-ts/multicluster";
import {
  type Client,
  type Connection,
  connect,
  type DynamicObject,
  defineResource,
  type KubernetesObject,
  parseKubeconfig,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { namespaces, nodes, pods, secrets } from "@kcp-ts/sdk/kinds";
import {
  type KubeApiserver,
  type KubeControllerManager,
  kubeControllerManagerMissing,
  kubeconfigOf,
  startKubeApiserver,
  startKubeControllerManager,
} from "@kcp-ts/testkit";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  untilCondition,
  untilImport,
} from "./fixture.ts";

interface Counted extends KubernetesObject {
  readonly status?: { readonly readyReplicas?: number; readonly observedGeneration?: number };
}

const replicaSets = defineResource<Counted>(kinds.replicaSets);

describe("a real cluster", { skip: kubeControllerManagerMissing() ?? false }, () => {
  let real: KubeApiserver;
  let manager: KubeControllerManager;
  let admin: Connection;
  before(async () => {
    real = await startKubeApiserver();
    manager = await startKubeControllerManager(real);
    admin = connect(parseKubeconfig(kubeconfigOf(real), { trust: "inline" }));
    await admin.client.resource(nodes).create({ metadata: { name: "one" } });
    const status = { capacity: { cpu: "4", memory: "8Gi" }, allocatable: { cpu: "3500m" } };
    const patch = { type: "merge" as const, patch: { status } };
    await admin.client.resource(nodes).patchStatus({ name: "one" }, patch);
  });
  after(async () => {
    await admin?.close();
    await manager?.dispose();
    await real?.dispose();
  });

  /** What kubelets would do: every Pod of the namespace is ready. */
  const runPods = async (namespace: string) => {
    const found = await admin.client.resource(pods).list({ namespace });
    for (const { metadata } of found.items) {
      const conditions = [{ type: "Ready", status: "True" }];
      const patch = { status: { phase: "Running", conditions } };
      await admin.client
        .resource(pods)
        .patchStatus({ namespace, name: metadata.name }, { type: "merge", patch });
    }
    return found.items.length;
  };
  const runsThrough = async (client: Client, target: string) => {
    const name = `web-${target}`;
    const { metadata, ...rest } = deployment(name);
    const labels = { app: name, [clusterLabel]: target };
    await client.resource(deployments).create({ ...rest, metadata: { ...metadata, labels } });
    const namespace = await eventually(async () => {
      const all = await admin.client.resource(deployments).list({ labelSelector: downstreamLabel });
      const found = all.items.find((one) => one.metadata.name === name);
      assert.ok(found?.metadata.namespace !== undefined);
      return found.metadata.namespace;
    });
    await eventually(async () => {
      const sets = await admin.client.resource(replicaSets).list({ namespace });
      assert.equal(sets.items.length, 1);
      assert.equal(await runPods(namespace), 2);
    });
    await eventually(async () => {
      const web = await client.resource(deployments).get({ namespace: "default", name });
      assert.equal((web as Counted).status?.readyReplicas, 2);
    });
    await client.resource(deployments).delete({ namespace: "default", name });
    await eventually(async () => {
      const left = await admin.client.resource(deployments).list({ namespace });
      assert.deepEqual(left.items, []);
      assert.equal(
        await client.resource(deployments).find({ namespace: "default", name }),
        undefined,
      );
    });
  };

  it("in Push mode has its APIs imported, reports its capacity, and runs a Deployment", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    await register(plane.client, "pushed", { kubeconfig: kubeconfigOf(real) });
    const target = await untilCondition(plane.client, "pushed", { status: "True" });
    assert.match(target.status?.version ?? "", /^v1\.\d+/);
    await eventually(async () => {
      const { status } = await plane.client.resource(syncTargets).get({ name: "pushed" });
      assert.deepEqual(status?.capacity, { cpu: "4", memory: "8Gi" });
      assert.equal(status?.allocatable?.["cpu"], "3500m");
    });
    const available = { compatible: "True", available: "True" };
    for (const api of ["deployments.pushed.v1.apps", "services.pushed.v1.core"])
      await untilImport(plane.client, api, available);
    await runsThrough(plane.client, "pushed");
  });

  it("in Pull mode does the same with the rights of the manifest and no more", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const { url, caPem } = await plane.listen();
    const resources = ["deployments.apps"];
    const { metadata } = await register(plane.client, "pulled", { mode: "Pull", resources });
    const target = { cluster: "root" as ClusterName, name: "pulled", uid: metadata.uid ?? "" };
    const id = agentId(target);
    await eventually(() =>
      plane.client.resource(serviceAccounts).get({ namespace: "default", name: id }),
    );
    const expirationSeconds = 600;
    const token = await requestToken(plane.client, { name: id }, { expirationSeconds });
    const kubeconfig = agentKubeconfig({ url, caPem }, target);
    const options = { target, resources, image: "kcp-syncer:0.1.0", kubeconfig, token };
    for (const object of agentManifest(options)) {
      await applyAny(admin.client, object as unknown as DynamicObject);
    }
    const account = { namespace: id, name: id };
    const inCluster = await requestToken(admin.client, account, { expirationSeconds });
    const own = kubeconfigOf({ ...real, token: inCluster });
    const downstream = connect(parseKubeconfig(own, { trust: "inline" }));
    t.after(() => downstream.close());
    const text = kubeconfig.replace('"tokenFile": "token"', `"token": "${token}"`);
    const upstream = connect(parseKubeconfig(text, { trust: "inline" }));
    t.after(() => upstream.close());
    const stopping = new AbortController();
    const errors: unknown[] = [];
    const sides = { upstream: upstream.client, downstream: downstream.client };
    const running = runAgent(
      { ...sides, target, resources, onError: (error) => errors.push(error) },
      stopping.signal,
    );
    t.after(async () => {
      stopping.abort();
      await running;
    });
    const ready = { type: "SyncerAuthorized", status: "True" };
    await untilCondition(plane.client, "pulled", ready);
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "deployments.pulled.v1.apps", available);
    await untilCondition(plane.client, "pulled", { status: "True" });
    await runsThrough(plane.client, "pulled");
    const { status } = await plane.client.resource(syncTargets).get({ name: "pulled" });
    assert.equal(status?.capacity?.["cpu"], "4");
    const forbidden = errors.filter((error) => /forbidden/i.test(String(error)));
    assert.deepEqual(forbidden.map(String), []);
    // Its own Secret it may write, and no other one.
    const secret = secrets;
    await downstream.client.resource(secret).get(account);
    await assert.rejects(downstream.client.resource(secret).list({ namespace: id }), /forbidden/);
    await assert.rejects(downstream.client.resource(pods).list(), /forbidden/);
    await downstream.client.resource(namespaces).list();
  });

  it("gets its agent from the control plane, and is rid of it when the SyncTarget goes", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { agentImage: "kcp-syncer:1" });
    await plane.listen();
    const spec = { mode: "Pull" as const, kubeconfig: kubeconfigOf(real) };
    const { metadata } = await register(plane.client, "installed", spec);
    const id = agentId({ name: "installed", uid: metadata.uid ?? "" });
    const type = "SyncerInstalled";
    const starting = { type, status: "Unknown", reason: "SyncerInstalling" };
    await untilCondition(plane.client, "installed", starting);
    await eventually(async () => {
      assert.equal(await runPods(id), 1);
      const at = { namespace: id, name: id };
      const found = (await admin.client.resource(deployments).get(at)) as Counted;
      assert.equal(found.status?.readyReplicas, 1);
    });
    await untilCondition(plane.client, "installed", { type, status: "True" });
    await plane.client.resource(syncTargets).delete({ name: "installed" });
    await eventually(async () => {
      const left = await plane.client.resource(syncTargets).find({ name: "installed" });
      assert.equal(left, undefined);
      const { items } = await admin.client.resource(deployments).list({ namespace: id });
      assert.deepEqual(items, []);
    });
    assert.ok((await admin.client.resource(namespaces).find({ name: "default" })) !== undefined);
  });
});

const plurals = new Map([
  ["Namespace", "namespaces"],
  ["ServiceAccount", "serviceaccounts"],
  ["Secret", "secrets"],
  ["Deployment", "deployments"],
  ["Role", "roles"],
  ["RoleBinding", "rolebindings"],
  ["ClusterRole", "clusterroles"],
  ["ClusterRoleBinding", "clusterrolebindings"],
]);

/** As `kubectl apply --server-side` would. */
async function applyAny(client: Client, object: DynamicObject): Promise<void> {
  const [version = "", group = ""] = object.apiVersion.split("/").reverse();
  const resource = defineResource<DynamicObject>({
    ...{ group, version, kind: object.kind, resource: plurals.get(object.kind) ?? "" },
    namespaced: object.metadata.namespace !== undefined,
  });
  await client.resource(resource).apply(object, { fieldManager: "kubectl", force: true });
}
