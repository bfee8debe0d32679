/**
 * Goal: the Pods of a workspace's workloads are shown upstream as they are in the clusters, are
 * read-only, and are restarted by deleting them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { syncPolicies, syncTargets } from "@kcp-ts/multicluster";
import { statefulSets } from "@kcp-ts/sdk/kinds";
import {
  deployments,
  eventually,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "../fixture.ts";
import {
  exec,
  networkClient,
  podPath,
  pods,
  registerReady,
  runningPods,
  webDeployment,
} from "./fixture.ts";

describe("Pods of a workspace's workloads", () => {
  it("are seen upstream, found by the labels of their Deployment, and named by their cluster", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const client = plane.client;
    await registerReady(client, "us-east1", east.kubeconfig);
    await client.resource(deployments).create(webDeployment());
    const found = await runningPods(client, "web", 2);
    for (const { metadata, spec } of found) {
      assert.match(metadata.name, /^web--us-east1-/);
      assert.equal(metadata.labels?.["state.workload.kcp.io/us-east1"], "Upsync");
      assert.equal(spec?.nodeName, "us-east1-node-1");
    }
    await client.resource(deployments).delete({ namespace: "default", name: "web" });
    await runningPods(client, "web", 0);
  });

  it("are not changed by anybody but the syncer, an administrator included", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const client = plane.client;
    await registerReady(client, "us-east1", east.kubeconfig);
    await client.resource(deployments).create(webDeployment("web", 1));
    const [pod] = await runningPods(client, "web", 1);
    assert.ok(pod !== undefined);
    const at = { namespace: "default", name: pod.metadata.name };
    const patch = { type: "merge", patch: { metadata: { labels: { mine: "yes" } } } } as const;
    await assert.rejects(client.resource(pods).patch(at, patch), (error) => {
      assert.ok(isStatusError(error, "Forbidden"));
      assert.match(error.message, /is a copy of a Pod in us-east1 and cannot be changed here: /);
      return true;
    });
    const status = { type: "merge", patch: { status: { phase: "Failed" } } } as const;
    await assert.rejects(client.resource(pods).patchStatus(at, status), /cannot be changed here/);
    const forged = {
      metadata: {
        name: "forged",
        namespace: "default",
        labels: { "state.workload.kcp.io/us-east1": "Upsync" },
      },
      spec: { containers: [{ name: "a", image: "a" }] },
    };
    await assert.rejects(client.resource(pods).create(forged), /only the syncer of us-east1/);
  });

  it("do not replace a Pod of the same name that a user has created", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const client = plane.client;
    await registerReady(client, "us-east1", east.kubeconfig);
    const containers = [{ name: "mine", image: "mine" }];
    const metadata = { name: "db-0", namespace: "default" };
    const mine = { metadata, spec: { containers } };
    const before = await eventually(() => client.resource(pods).create(mine));
    const labels = { app: "db" };
    const set = {
      metadata: {
        name: "db",
        namespace: "default",
        labels: { "workload.kcp.io/cluster": "us-east1" },
      },
      spec: {
        serviceName: "db",
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "db", image: "postgres:17" }] },
        },
      },
    };
    await eventually(() => client.resource(statefulSets).create(set));
    await eventually(async () => {
      const { items } = await east.client.resource(pods).list();
      const found = items.find(({ metadata: { name } }) => name === "db-0");
      assert.equal(found?.status?.phase, "Running");
    });
    // Long enough to come up.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const after = await client.resource(pods).get(metadata);
    assert.deepEqual([after.metadata.uid, after.spec], [before.metadata.uid, before.spec]);
    assert.equal(after.metadata.labels, undefined);
  });

  it("are restarted by deleting them, and the one who deletes waits for their end", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const client = plane.client;
    await registerReady(client, "us-east1", east.kubeconfig);
    await client.resource(deployments).create(webDeployment("web", 1));
    const [pod] = await runningPods(client, "web", 1);
    assert.ok(pod !== undefined);
    const at = { namespace: "default", name: pod.metadata.name };
    await client.resource(pods).delete(at);
    await eventually(async () => assert.equal(await client.resource(pods).find(at), undefined));
    const { items } = await east.client.resource(pods).list({ labelSelector: "app=web" });
    assert.ok(items.every(({ metadata }) => metadata.name !== at.name));
    const [next] = await runningPods(client, "web", 1);
    assert.notEqual(next?.metadata.name, at.name);
  });

  it("are Terminating while they end in their cluster", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const kubelet = { stopDelayMs: 3000 };
    const east = await startPhysicalCluster(t, { name: "us-east1", kubelet });
    const client = plane.client;
    await registerReady(client, "us-east1", east.kubeconfig);
    await client.resource(deployments).create(webDeployment("web", 1));
    const [pod] = await runningPods(client, "web", 1);
    assert.ok(pod !== undefined);
    const { items } = await east.client.resource(pods).list();
    const original = items.find(({ metadata }) => metadata.name === pod.metadata.name);
    assert.ok(original !== undefined);
    await east.client.resource(pods).delete(original.metadata as { name: string });
    const at = { namespace: "default", name: pod.metadata.name };
    await eventually(async () => {
      const found = await client.resource(pods).find(at);
      assert.equal(found?.metadata.uid, pod.metadata.uid);
      assert.notEqual(found?.metadata.deletionTimestamp, undefined);
    });
    await eventually(async () => assert.equal(await client.resource(pods).find(at), undefined));
  });

  it("are shown as lost when their cluster is, and as they are when it is back", async (t) => {
    const plane = await startControlPlaneWithClusters(t, {
      gracePeriods: { unreachableAfterMs: 100, recoveryMs: 0 },
    });
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const { client } = plane;
    await registerReady(client, "us-east1", east.kubeconfig);
    await client.resource(deployments).create(webDeployment("web", 2));
    await runningPods(client, "web", 2);
    await east.faults.cut();
    await eventually(async () => {
      const { items } = await client.resource(pods).list({ labelSelector: "app=web" });
      assert.equal(items.length, 2);
      for (const { status } of items) {
        assert.deepEqual([status?.phase, status?.reason], ["Unknown", "ClusterUnreachable"]);
        assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "Unknown");
      }
    });
    await east.faults.heal();
    const back = await runningPods(client, "web", 2);
    assert.ok(back.every(({ status }) => status?.reason === undefined));
  });

  it("are removed with a SyncTarget that can no longer be drained", async (t) => {
    const plane = await startControlPlaneWithClusters(t, {
      drainTimeoutMs: 100,
      gracePeriods: { unreachableAfterMs: 100, recoveryMs: 0 },
    });
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const { client } = plane;
    await registerReady(client, "us-east1", east.kubeconfig);
    await client.resource(deployments).create(webDeployment("web", 2));
    await runningPods(client, "web", 2);
    await east.faults.cut();
    await client.resource(syncTargets).delete({ name: "us-east1" });
    await runningPods(client, "web", 0);
  });

  it("are called by their cluster where a policy says so, and are reached by that name", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    const { client } = plane;
    await client
      .resource(syncPolicies)
      .create({
        metadata: { name: "pods" },
        spec: { resources: [{ resource: "pods", upsyncedNames: "BySyncTarget" }] },
      });
    await registerReady(client, "us-east1", east.kubeconfig);
    const { metadata, ...rest } = webDeployment("api", 1);
    const labels = { ...metadata.labels, "workload.kcp.io/cluster": "us-east1" };
    await client.resource(deployments).create({ ...rest, metadata: { ...metadata, labels } });
    const [pod] = await runningPods(client, "api", 1);
    const { name = "" } = pod?.metadata ?? {};
    assert.match(name, /^api-.*--us-east1$/);
    const user = await networkClient(t, plane, { cluster: "root" });
    const inside = name.slice(0, -"--us-east1".length);
    assert.deepEqual(await exec(user, podPath(name)), { status: 101, text: `${inside}\n` });
  });
});
