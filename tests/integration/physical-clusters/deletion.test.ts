import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  clusterLabel,
  type DrainHook,
  downstreamLabel,
  orphanAnnotation,
  runMulticluster,
  syncerFinalizer,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncTargets,
  Targets,
} from "@kcp-ts/multicluster";
import { SealingKey } from "@kcp-ts/multicluster-server/internal";
import { Client, microTime } from "@kcp-ts/sdk";
import { configMaps, leases, namespaces, persistentVolumeClaims } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { flushEventLoop } from "@kcp-ts/testkit";
import { registerPullTarget, startAgentWith } from "./agents.ts";
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
import { WatchReplays } from "./watch-replays.ts";

/** Controllers beside a control plane, with a controller that works in the clusters. */
async function started(t: TestContext, drain: DrainHook, drainTimeoutMs?: number) {
  const plane = await startTestControlPlane({ physicalClusters: false });
  const replays = new WatchReplays(plane.client.transport, "synctargets");
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
      client: new Client({ transport: replays, basePath: plane.client.basePath }),
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
  return { client: plane.client, told, replays };
}

/** The controller of SyncTargets on a clock that the test moves, and agents that the test plays. */
async function startedOnFakeClock(t: TestContext, drain: DrainHook) {
  const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
  const { client, clock } = plane;
  const targets = new Targets();
  targets.onDrain(drain);
  const stop = new AbortController();
  const controllers = new Set(["cluster-controller"] as const);
  let isOver = false;
  const running = runMulticluster(
    { client: plane.clientFor("*"), clock, targets, controllers, onError: () => {} },
    stop.signal,
  ).finally(() => {
    isOver = true;
  });
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1000) {
      await clock.advanceAndFlush(Math.min(left, 1000));
      await flushEventLoop(4);
    }
  };
  t.after(async () => {
    stop.abort();
    while (!isOver) await pass(1000);
    await running;
    await plane.close();
  });
  const renew = async (name: string) => {
    const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName(name) };
    const spec = { renewTime: microTime(clock.now()), leaseDurationSeconds: 60 };
    await client.resource(leases).patch(at, { type: "merge", patch: { spec } });
  };
  return { client, clock, pass, renew };
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

  it("is not connected again when its removal is followed by older states of it", async (t) => {
    const { client, told, replays } = await started(t, async () => "done");
    const [east, next] = await Promise.all(
      ["east", "next"].map((name) => startPhysicalCluster(t, { name })),
    );
    assert.ok(east !== undefined && next !== undefined);
    await register(client, "east", { kubeconfig: east.kubeconfig });
    const connected = { type: "HeartbeatHealthy", status: "True" };
    await untilCondition(client, "east", connected);
    const live = replays.last;
    await client.resource(syncTargets).delete({ name: "east" });
    await eventually(() => assert.deepEqual(told, ["connected east", "gone east"]));
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    for (const state of [replays.last, live]) {
      await eventually(() => assert.equal(replays.lastType, "DELETED"));
      replays.replay("ADDED", state);
      // A connection to the one would be made before one to the other, which is asked for later.
      const { length } = told;
      await register(client, "next", { kubeconfig: next.kubeconfig });
      await untilCondition(client, "next", connected);
      assert.deepEqual(told.slice(length), ["connected next"]);
      await client.resource(syncTargets).delete({ name: "next" });
      await eventually(() => assert.equal(told.at(-1), "gone next"));
      replays.replay("DELETED", state);
    }
    assert.equal(told.filter((what) => what === "connected east").length, 1);
  });

  it("keeps its connection while a list of SyncTargets from a server that is behind lacks it", async (t) => {
    const { client, told, replays } = await started(t, async () => "done");
    const [east, next] = await Promise.all(
      ["east", "next"].map((name) => startPhysicalCluster(t, { name })),
    );
    assert.ok(east !== undefined && next !== undefined);
    await register(client, "east", { kubeconfig: east.kubeconfig });
    const connected = { type: "HeartbeatHealthy", status: "True" };
    await untilCondition(client, "east", connected);
    const state = replays.last;
    replays.replay("DELETED", state);
    await register(client, "next", { kubeconfig: next.kubeconfig });
    await untilCondition(client, "next", connected);
    assert.deepEqual(told, ["connected east", "connected next"]);
    replays.replay("ADDED", state);
    await client.resource(syncTargets).delete({ name: "east" });
    await eventually(() => assert.equal(told.at(-1), "gone east"));
    assert.deepEqual(told, ["connected east", "connected next", "gone east"]);
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

  for (const how of ["a deletion", "a drain that ends with a deletion"] as const)
    it(`leaves nothing behind of resources that it no longer syncs, by ${how}`, async (t) => {
      const plane = await startControlPlaneWithClusters(t);
      const { client } = plane;
      const resources = ["deployments.apps", "pods"];
      const [east, west] = await Promise.all(
        ["east", "west"].map((name) => startPhysicalCluster(t, { name })),
      );
      assert.ok(east !== undefined && west !== undefined);
      await register(client, "east", { kubeconfig: east.kubeconfig, resources });
      await register(client, "west", { kubeconfig: west.kubeconfig, resources });
      for (const name of ["east", "west"]) await untilCondition(client, name, { status: "True" });
      const all = client.resource(deployments);
      await all.create(deployment("web"));
      const copies = async () => {
        const { items } = await east.client.resource(deployments).list({});
        return items.map(({ metadata }) => metadata.name);
      };
      await eventually(async () => assert.deepEqual(await copies(), ["web--east"]));
      const targets = client.resource(syncTargets);
      const narrowed = { spec: { resources: ["pods"] } };
      await targets.patch({ name: "east" }, { type: "merge", patch: narrowed });
      await eventually(async () => {
        const { status } = await targets.get({ name: "east" });
        assert.deepEqual(status?.syncedResources, ["pods"]);
        assert.deepEqual(status?.formerResources, ["deployments.apps"]);
      });
      assert.deepEqual(await copies(), ["web--east"]);
      if (how === "a deletion") await targets.delete({ name: "east" });
      else {
        const patch = { spec: { unschedulable: true, drain: { deleteAfterDrain: true } } };
        await targets.patch({ name: "east" }, { type: "merge", patch });
      }
      await eventually(async () => {
        assert.equal(await targets.find({ name: "east" }), undefined);
        const { items } = await all.list({});
        assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), ["web", "web--west"]);
      });
      assert.deepEqual(await copies(), []);
    });

  for (const mode of ["Push", "Pull"] as const)
    it(`leaves no namespace in its cluster in ${mode} mode, and the next one has the cluster alone`, async (t) => {
      const plane = await startControlPlaneWithClusters(t);
      const { client } = plane;
      const east = await startPhysicalCluster(t, { name: "east" });
      const resources = ["deployments.apps"];
      const registered = async () => {
        if (mode === "Push") await register(client, "east", { kubeconfig: east.kubeconfig });
        else {
          const { target, view } = await registerPullTarget(t, plane, "east", "root", {
            resources,
          });
          t.after(startAgentWith({ upstream: view, downstream: east.client, target, resources }));
        }
        await untilCondition(client, "east", { status: "True" });
      };
      const ours = async () => {
        const { items } = await east.client
          .resource(namespaces)
          .list({ labelSelector: downstreamLabel });
        return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      };
      await registered();
      const all = client.resource(deployments);
      await all.create(deployment("web"));
      await eventually(async () => assert.equal((await ours()).length, 1));
      await all.delete({ namespace: "default", name: "web" });
      await eventually(async () => assert.equal((await all.list({})).items.length, 0));
      await client.resource(syncTargets).delete({ name: "east" });
      await eventually(async () => {
        assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined);
        assert.deepEqual(await ours(), []);
      });
      await registered();
      const alone = { type: "SharedOwnership", status: "False" };
      if (mode === "Push") await untilCondition(client, "east", alone);
      await all.create(deployment("web"));
      await eventually(async () => assert.equal((await ours()).length, 1));
    });

  it("leaves a namespace with a volume claim in its cluster, although no synced object is left in it", async (t) => {
    const { client } = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(client, "east", { kubeconfig: east.kubeconfig });
    await untilCondition(client, "east", { status: "True" });
    const all = client.resource(deployments);
    await all.create(deployment("web"));
    const ours = async () =>
      (await east.client.resource(namespaces).list({ labelSelector: downstreamLabel })).items;
    await eventually(async () => assert.equal((await ours()).length, 1));
    const namespace = (await ours()).at(0)?.metadata.name ?? "";
    const resources = { requests: { storage: "1Gi" } };
    const data = {
      metadata: { name: "data-db-0", namespace },
      spec: { accessModes: ["ReadWriteOnce"], resources },
    };
    await east.client.resource(persistentVolumeClaims).create(data);
    await all.delete({ namespace: "default", name: "web" });
    await eventually(async () => assert.equal((await all.list({})).items.length, 0));
    await client.resource(syncTargets).delete({ name: "east" });
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    const [left] = await ours();
    assert.equal(left?.metadata.name, namespace);
    assert.equal(left.metadata.deletionTimestamp, undefined);
  });

  it("is not removed while its cluster answers and reports what it runs, however long that takes", async (t) => {
    const { client, clock, pass, renew } = await startedOnFakeClock(t, async () => "pending");
    const targets = client.resource(syncTargets);
    await targets.create({ metadata: { name: "east" }, spec: { mode: "Pull" } });
    await pass(1000);
    await renew("east");
    await pass(1000);
    await targets.delete({ name: "east" });
    for (let minutes = 0; minutes < 60; minutes += 0.5) {
      await renew("east");
      await pass(30_000);
    }
    const { metadata, status } = await targets.get({ name: "east" });
    assert.ok(Date.parse(metadata.deletionTimestamp ?? "") < clock.now() - 3_500_000);
    const healthy = status?.conditions?.find(({ type }) => type === "HeartbeatHealthy");
    assert.equal(healthy?.status, "True");
    // The agent is lost, and nothing is known to run there that may run once at most.
    await pass(60_000 + 270_000);
    assert.ok((await targets.find({ name: "east" })) !== undefined);
    await pass(120_000);
    assert.equal(await targets.find({ name: "east" }), undefined);
  });

  it("is not removed while a lost cluster may run what may run once at most, until it is forced", async (t) => {
    const { client, pass, renew } = await startedOnFakeClock(t, async () => "done");
    const targets = client.resource(syncTargets);
    await targets.create({ metadata: { name: "east" }, spec: { mode: "Pull" } });
    await pass(1000);
    await renew("east");
    const labels = { [clusterLabel]: "east", "workload.kcp.io/stop-before-start": "true" };
    const at = { namespace: "default", name: "once" };
    const finalizers = [syncerFinalizer("east")];
    const objects = client.resource(configMaps);
    await objects.create({ metadata: { ...at, labels, finalizers }, data: {} });
    await pass(1000);
    await targets.delete({ name: "east" });
    await pass(3_600_000);
    const { status } = await targets.get({ name: "east" });
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    assert.match(
      ready?.message ?? "",
      /ConfigMap default\/once is still in the cluster; to leave it/,
    );
    const patch = { metadata: { annotations: { [orphanAnnotation]: "true" } } };
    await targets.patch({ name: "east" }, { type: "merge", patch });
    await pass(60_000);
    assert.equal(await targets.find({ name: "east" }), undefined);
    assert.deepEqual((await objects.get(at)).metadata.finalizers ?? [], []);
  });
});
