/**
 * Goal: a cluster is drained on a budget, tells how far it is, can be taken back and
 * decommissioned. Method: simulated clusters that start Pods.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  placementReviews,
  type ReviewedPlan,
  type SyncTarget,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, events, findCondition, isConditionTrue } from "@kcp-ts/sdk";
import { endpointSlices, persistentVolumeClaims, services, statefulSets } from "@kcp-ts/sdk/kinds";
import { eventually as eventuallyWithin } from "@kcp-ts/testkit";
import {
  deployment,
  deployments,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilSynced,
} from "./fixture.ts";

const kubelet = { startDelayMs: { min: 5, max: 50 }, stopDelayMs: 10, runMs: 100 };
const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
/** A machine may be slow: a cluster that answers late is not lost. */
const link = { probeMs: 500, probeTimeoutMs: 20_000, failuresMax: 10, inventoryMs: 1000 };
const namespace = "default";

function eventually<Value>(check: () => Value | Promise<Value>): Promise<Value> {
  return eventuallyWithin(check, { timeoutMs: 180_000, intervalMs: 50 });
}

class Stage {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  static async open(
    t: TestContext,
    clusters: readonly string[],
    resources: readonly string[] = ["deployments.apps"],
  ): Promise<Stage> {
    const plane = await startControlPlaneWithClusters(t, { gracePeriods, link });
    for (const name of clusters) {
      const { kubeconfig } = await startPhysicalCluster(t, { name, kubelet });
      const all = resources.length > 1 ? { resources } : {};
      await register(plane.client, name, { kubeconfig, ...all });
      await untilCondition(plane.client, name, { status: "True" });
      await untilSynced(plane.client, name, resources);
    }
    return new Stage(plane.client);
  }

  async deploy(name: string, podAnnotations: Record<string, string> = {}): Promise<void> {
    const { metadata, spec } = deployment(name);
    const { template } = spec ?? {};
    const annotated = { ...template?.metadata, annotations: podAnnotations };
    const all = { ...spec, replicas: 4, template: { ...template, metadata: annotated } };
    const workload = { metadata, spec: all };
    await eventually(() => this.client.resource(deployments).create(workload as never));
  }

  /** `web--east 2` for each part, sorted. */
  async parts(): Promise<readonly string[]> {
    const { items } = await this.client.resource(deployments).list({ namespace });
    return items
      .filter(({ metadata }) => metadata.name.includes("--"))
      .map(({ metadata, spec }) => `${metadata.name} ${spec?.replicas}`)
      .sort();
  }

  async untilParts(...wanted: readonly string[]): Promise<void> {
    await eventually(async () => assert.deepEqual(await this.parts(), [...wanted].sort()));
  }

  /** All that is asked for is ready, and nothing is on the move. */
  async untilPlaced(...names: readonly string[]): Promise<void> {
    await eventually(async () => {
      for (const name of names) {
        const found = await this.client.resource(deployments).get({ namespace, name });
        const { status } = found as { status?: { readyReplicas?: number; conditions?: [] } };
        assert.equal(status?.readyReplicas, 4);
        assert.ok(isConditionTrue(status?.conditions, "Scheduled"));
      }
    });
  }

  async set(name: string, spec: JsonObject): Promise<void> {
    await this.client.resource(syncTargets).patch({ name }, { type: "merge", patch: { spec } });
  }

  async until(name: string, check: (target: SyncTarget) => void): Promise<SyncTarget> {
    return await eventually(async () => {
      const target = await this.client.resource(syncTargets).get({ name });
      check(target);
      return target;
    });
  }

  async reasons(name: string): Promise<ReadonlySet<string>> {
    const { items } = await this.client.resource(events).list({});
    const own = items.filter(({ involvedObject }) => involvedObject?.name === name);
    return new Set(own.map(({ reason }) => reason ?? ""));
  }
}

const drainedOf = ({ status }: SyncTarget) => findCondition(status?.conditions, "Drained");

describe("a drain", () => {
  it("empties a cluster in turns, works around what is blocked, and tells how far it is", async (t) => {
    const stage = await Stage.open(t, ["east", "west"]);
    const names = ["one", "two", "three"];
    for (const name of names) await stage.deploy(name);
    await stage.untilParts(...names.flatMap((name) => [`${name}--east 2`, `${name}--west 2`]));
    await stage.untilPlaced(...names);

    // One at a time: as long as the first is held, no other has its turn.
    const held = { "finalizers.workload.kcp.io/east": "traffic" };
    const part = { namespace, name: "one--east" };
    const annotate = (annotations: Record<string, string | null>) =>
      stage.client
        .resource(deployments)
        .patch(part, { type: "merge", patch: { metadata: { annotations } } });
    await annotate(held);
    await stage.set("east", { drain: { budget: { workloads: 1 } } });
    const { status } = await stage.until("east", ({ status }) => {
      assert.deepEqual(
        status?.drain?.blocked?.map(({ name, reason }) => `${name} ${reason}`),
        ["one DisruptionBlocked"],
      );
    });
    assert.equal(status?.drain?.total, 3);
    // What is blocked takes up no budget: the others leave.
    await stage.until("east", ({ status }) => assert.equal(status?.drain?.moved, 2));
    const blocked = await stage.until("east", (target) =>
      assert.equal(drainedOf(target)?.reason, "Blocked"),
    );
    assert.equal(drainedOf(blocked)?.status, "False");
    assert.ok(isConditionTrue(blocked.status?.conditions, "Ready"));
    await annotate({ "finalizers.workload.kcp.io/east": null });
    await stage.until("east", (target) => assert.equal(drainedOf(target)?.status, "True"));
    await stage.untilParts(...names.map((name) => `${name}--west 4`));
    await stage.untilPlaced(...names);
    await eventually(async () => {
      const reasons = await stage.reasons("east");
      for (const reason of ["DrainStarted", "DrainBlocked", "Drained"])
        assert.ok(reasons.has(reason), reason);
    });
  });

  it("is taken back: turns are forgotten, nothing is said of it, and the cluster is used again", async (t) => {
    const stage = await Stage.open(t, ["east", "west"]);
    await stage.deploy("web");
    await stage.untilParts("web--east 2", "web--west 2");
    await stage.untilPlaced("web");
    // Only now: what is paused is not evened out when the other cluster is found to take it, too.
    const patch = { metadata: { annotations: { "workload.kcp.io/paused": "true" } } };
    await stage.client
      .resource(deployments)
      .patch({ namespace, name: "web" }, { type: "merge", patch });
    await stage.set("east", { drain: { budget: { workloads: 1 } } });
    await stage.until("east", ({ status }) =>
      assert.equal(status?.drain?.blocked?.[0]?.reason, "Paused"),
    );
    const partOf = () => stage.client.resource(deployments).get({ namespace, name: "web--east" });
    assert.equal((await partOf()).metadata.annotations?.["workload.kcp.io/evict"], "true");
    await stage.set("east", { drain: null });
    await stage.until("east", (target) => {
      assert.equal(target.status?.drain, undefined);
      assert.equal(drainedOf(target), undefined);
    });
    assert.equal((await partOf()).metadata.annotations?.["workload.kcp.io/evict"], undefined);
    await stage.untilParts("web--east 2", "web--west 2");
  });

  it("decommissions a cluster when it is empty, and not while something has nowhere to go", async (t) => {
    const stage = await Stage.open(t, ["east"]);
    await stage.deploy("web");
    await stage.untilPlaced("web");
    await stage.set("east", { drain: { deleteAfterDrain: true } });
    await stage.until("east", ({ status }) =>
      assert.equal(status?.drain?.blocked?.[0]?.reason, "NoFeasibleCluster"),
    );
    await stage.untilParts("web--east 4");
    const { kubeconfig } = await startPhysicalCluster(t, { name: "west", kubelet });
    await register(stage.client, "west", { kubeconfig });
    await eventually(async () =>
      assert.equal(await stage.client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    await stage.untilParts("web--west 4");
    await stage.untilPlaced("web");
  });

  it("counts and moves what is in its own logical cluster, and nothing of another's of the same names", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { gracePeriods, link });
    const east = await startPhysicalCluster(t, { name: "east", kubelet });
    const west = await startPhysicalCluster(t, { name: "west", kubelet });
    const stages: Stage[] = [];
    for (const cluster of ["tenant-a", "tenant-b"]) {
      const client = plane.client.inCluster(cluster);
      for (const [name, { kubeconfig }] of Object.entries({ east, west })) {
        await register(client, name, { kubeconfig });
        await untilCondition(client, name, { status: "True" });
      }
      const stage = new Stage(client);
      await stage.deploy("web");
      await stage.untilPlaced("web");
      stages.push(stage);
    }
    const [a, b] = stages as [Stage, Stage];
    await a.set("east", { drain: { budget: { workloads: 5 } } });
    const drained = await a.until("east", (target) =>
      assert.equal(drainedOf(target)?.status, "True"),
    );
    assert.equal(drained.status?.drain?.total, 1);
    await a.untilParts("web--west 4");
    await b.untilParts("web--east 2", "web--west 2");
    const other = await b.client.resource(syncTargets).get({ name: "east" });
    assert.equal(other.status?.drain, undefined);
  });

  it("names a StatefulSet whose volume cannot move and the command that allows it, and nothing that follows Services", async (t) => {
    const stage = await Stage.open(
      t,
      ["east", "west"],
      [
        "deployments.apps",
        "statefulsets.apps",
        "services",
        "pods",
        "endpointslices.discovery.k8s.io",
        "persistentvolumeclaims",
        "persistentvolumes",
      ],
    );
    const { client } = stage;
    await stage.deploy("web");
    for (const name of ["web", "db"])
      await eventually(() =>
        client
          .resource(services)
          .create({
            metadata: { name, namespace },
            spec: { selector: { app: name }, ports: [{ port: 80 }] },
          } as never),
      );
    await eventually(() => client.resource(statefulSets).create(databaseOf("db") as never));
    const inEast = { namespace, name: "db--east" };
    await eventually(async () => {
      const { status } = await client.resource(statefulSets).get({ namespace, name: "db" });
      assert.equal((status as { readyReplicas?: number } | undefined)?.readyReplicas, 2);
      await client.resource(statefulSets).get(inEast);
      const { items } = await client.resource(endpointSlices).list({ namespace });
      const imported = items.filter(({ metadata }) => metadata.labels?.[stateOfEast] === "Sync");
      assert.ok(imported.length > 0, "east has imported slices");
    });
    await stage.untilPlaced("web");
    const plan = await planOf(client, "east");
    assert.deepEqual(
      plan.moves.map(({ name, to }) => [name, to]),
      [
        ["db", { east: 1, west: 1 }],
        ["web", { west: 4 }],
      ],
    );
    const [refused] = plan.moves[0]?.rejectedBy ?? [];
    assert.equal(refused?.reason, "IncompatibleAccessMode");

    await stage.set("east", { unschedulable: true, drain: {} });
    const { status } = await stage.until("east", (target) => {
      assert.equal(drainedOf(target)?.reason, "Blocked");
      assert.equal(target.status?.drain?.moved, 1);
    });
    const { total, blocked = [], estimatedEnd } = status?.drain ?? {};
    assert.deepEqual([total, estimatedEnd], [2, undefined]);
    assert.deepEqual(
      blocked.map(({ kind, name, reason }) => `${kind} ${name} ${reason}`),
      ["StatefulSet db IncompatibleAccessMode"],
    );
    const [, command = ""] =
      /next: kubectl annotate pvc (.*)$/.exec(blocked[0]?.message ?? "") ?? [];
    const [claim = "", , , annotation = ""] = command.split(" ");
    const [key = "", value = ""] = annotation.split("=");
    const patch = { metadata: { annotations: { [key]: value } } };
    await client
      .resource(persistentVolumeClaims)
      .patch({ namespace, name: claim }, { type: "merge", patch });
    await stage.until("east", (target) => assert.equal(drainedOf(target)?.status, "True"));
    assert.equal(await client.resource(statefulSets).find(inEast), undefined);
  });

  it("moves workloads that never become ready", async (t) => {
    const stage = await Stage.open(t, ["east", "west"]);
    const names = Array.from({ length: 20 }, (_, index) => `web-${String(index).padStart(2, "0")}`);
    for (const name of names) await stage.deploy(name, { "sim.kcp.io/ready": "false" });
    await stage.untilParts(...names.flatMap((name) => [`${name}--east 2`, `${name}--west 2`]));
    await stage.set("east", { unschedulable: true, drain: {} });
    await stage.until("east", ({ status }) =>
      assert.ok(isConditionTrue(status?.conditions, "Drained"), JSON.stringify(status?.drain)),
    );
    await stage.untilParts(...names.map((name) => `${name}--west 4`));
  });
});

const stateOfEast = "state.workload.kcp.io/east";

function databaseOf(name: string): object {
  const labels = { app: name };
  return {
    metadata: { name, namespace },
    spec: {
      replicas: 2,
      serviceName: name,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "db", image: "postgres:17" }] },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: {
            accessModes: ["ReadWriteOnce"],
            storageClassName: "shared",
            resources: { requests: { storage: "1Gi" } },
          },
        },
      ],
    },
  };
}

async function planOf(client: Client, drain: string): Promise<ReviewedPlan> {
  const metadata = {} as { name: string };
  const spec = { plan: { drain } };
  const { status } = await client.resource(placementReviews).create({ metadata, spec });
  assert.ok(status?.plan !== undefined);
  return status.plan;
}
