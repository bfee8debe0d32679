import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  clusterLabel,
  type DrainHook,
  orphanAnnotation,
  runMulticluster,
  syncerFinalizer,
  syncTargets,
  Targets,
} from "@kcp-ts/multicluster";
import { SealingKey } from "@kcp-ts/multicluster-server/internal";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilImport,
} from "./fixture.ts";

/** Controllers beside a control plane, with a controller that works in the clusters. */
async function started(t: TestContext, drain: DrainHook, drainTimeoutMs?: number) {
  const plane = await startTestControlPlane({ physicalClusters: false });
  const key = new SealingKey(() => plane.client);
  const targets = new Targets();
  targets.onDrain(drain);
  const told: string[] = [];
  targets.subscribe({
    connected: ({ name }) => told.push(`connected ${name}`),
    disconnected: ({ name }) => told.push(`gone ${name}`),
  });
  const stopping = new AbortController();
  const running = runMulticluster(
    {
      client: plane.client,
      targets,
      drainTimeoutMs,
      link: { probeMs: 200 },
      resources: [],
      unseal: (sealed, place) => key.unseal(sealed, place),
      onError: () => {},
    },
    stopping.signal,
  );
  t.after(async () => {
    stopping.abort();
    await running;
    await plane.close();
  });
  return { client: plane.client, told };
}

describe("a SyncTarget that is deleted", () => {
  it("is removed when the controllers of its cluster have finished, and they have the connection until then", async (t) => {
    let isDone = false;
    let asked = 0;
    const { client, told } = await started(t, async (_target, { connection }) => {
      asked += 1;
      assert.ok(connection !== undefined);
      return isDone ? "done" : "pending";
    });
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(client, "east", { kubeconfig: east.kubeconfig });
    await untilCondition(client, "east", { type: "HeartbeatHealthy", status: "True" });
    await client.resource(syncTargets).delete({ name: "east" });
    await untilCondition(client, "east", { status: "False", reason: "Terminating" });
    assert.ok(asked > 0);
    assert.deepEqual(told, ["connected east"]);
    isDone = true;
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    assert.deepEqual(told, ["connected east", "gone east"]);
  });

  it("is removed at once with the annotation that orphans its content", async (t) => {
    const { client } = await started(t, async () => "pending");
    await register(client, "east", { mode: "None" });
    await untilCondition(client, "east", { status: "Unknown" });
    await client.resource(syncTargets).delete({ name: "east" });
    await untilCondition(client, "east", { status: "False", reason: "Terminating" });
    const patch = { metadata: { annotations: { [orphanAnnotation]: "true" } } };
    await client.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
  });

  it("goes when the cluster cannot be emptied in time", async (t) => {
    const { client } = await started(t, async () => "pending", 1);
    await register(client, "east", { mode: "None" });
    await untilCondition(client, "east", { status: "Unknown" });
    await client.resource(syncTargets).delete({ name: "east" });
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
  });

  it("lets go of what it held in a cluster that is gone for good, so that it can be deleted", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "east", { kubeconfig: east.kubeconfig });
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "deployments.east.v1.apps", available);
    const { metadata, ...rest } = deployment("web");
    const labels = { app: "web", [clusterLabel]: "east" };
    const all = plane.client.resource(deployments);
    const at = { namespace: "default", name: "web" };
    await all.create({ ...rest, metadata: { ...metadata, labels } });
    await eventually(async () => {
      const held = await all.get(at);
      assert.ok(held.metadata.finalizers?.includes(syncerFinalizer("east")));
    });
    await east.faults.cut();
    await plane.client.resource(syncTargets).delete({ name: "east" });
    const waiting = { status: "False", reason: "Terminating" };
    await untilCondition(plane.client, "east", waiting);
    const patch = { metadata: { annotations: { [orphanAnnotation]: "true" } } };
    await plane.client.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    await eventually(async () =>
      assert.equal(await plane.client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    assert.deepEqual((await all.get(at)).metadata.finalizers ?? [], []);
    await all.delete(at);
    await eventually(async () => assert.equal(await all.find(at), undefined));
  });
});
