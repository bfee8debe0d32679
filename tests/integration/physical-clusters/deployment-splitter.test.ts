/**
 * Goal: a Deployment is spread over clusters and looks like one Deployment to its author. Method:
 * real SyncTargets and imported APIs; the test reports statuses in place of the syncer, so that it
 * decides what a cluster reports and when.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  managedAnnotation,
  multiclusterControllers,
  syncTargets,
  weightsAnnotation,
  workloadPlacements,
} from "@kcp-ts/multicluster";
import {
  type Client,
  type Condition,
  events,
  findCondition,
  type KubernetesObject,
  type ResourceClient,
} from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import {
  deployment,
  register,
  deployments as resource,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
} from "./fixture.ts";

interface Deployment extends KubernetesObject {
  readonly spec: { readonly replicas?: number; readonly template: object };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
}

const gracePeriods = { unreachableAfterMs: 1000, recoveryMs: 0 };
const namespace = "default";
const web = { namespace, name: "web" };

class Stage {
  readonly client: Client;
  readonly deployments: ResourceClient<Deployment>;

  constructor(client: Client) {
    this.client = client;
    this.deployments = client.resource(resource as never);
  }

  async apply(replicas: number, annotations: Record<string, string> = {}): Promise<void> {
    const { metadata, spec } = deployment("web");
    const workload = { metadata: { ...metadata, annotations }, spec: { ...spec, replicas } };
    await eventually(() => this.deployments.create(workload as never));
  }

  async placement() {
    const name = "deployment-web";
    return await this.client.resource(workloadPlacements).get({ namespace, name });
  }

  async whole(): Promise<Deployment> {
    return await this.deployments.get(web);
  }

  /** As the syncer would: what is deleted here is deleted in the cluster, and released. */
  async release(): Promise<void> {
    const { items } = await this.deployments.list({ namespace });
    for (const copy of items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined))
      await this.deployments.sameVersion(copy).mergePatch({ metadata: { finalizers: null } });
  }

  async shares(): Promise<Record<string, number | undefined>> {
    await this.release();
    const { items } = await this.deployments.list({ namespace });
    const parts = items.filter(({ metadata }) => metadata.name !== "web");
    return Object.fromEntries(
      parts.map(({ metadata, spec }) => [metadata.name.slice("web--".length), spec.replicas]),
    );
  }

  async untilShares(wanted: Record<string, number>): Promise<void> {
    await eventually(async () => assert.deepEqual(await this.shares(), wanted));
  }

  async untilStatus(check: (status: NonNullable<Deployment["status"]>) => void): Promise<void> {
    await eventually(async () => check((await this.whole()).status ?? {}));
  }

  /**
   * As the syncer would: the cluster has seen the newest spec, and so many of its replicas are
   * ready.
   */
  async report(cluster: string, ready?: number): Promise<void> {
    const name = `web--${cluster}`;
    const { metadata, spec } = await this.deployments.get({ namespace, name });
    const replicas = spec.replicas ?? 0;
    const readyReplicas = ready ?? replicas;
    const patch = {
      status: {
        observedGeneration: metadata.generation ?? 0,
        replicas,
        updatedReplicas: replicas,
        readyReplicas,
        availableReplicas: readyReplicas,
        unavailableReplicas: replicas - readyReplicas,
        conditions: [
          {
            type: "Progressing",
            status: "True",
            reason: readyReplicas === replicas ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
            lastUpdateTime: "2026-01-01T00:00:00Z",
          },
        ],
      },
    };
    await this.deployments.patchStatus({ namespace, name }, { type: "merge", patch });
  }

  async reason(type: string): Promise<string | undefined> {
    return findCondition((await this.whole()).status?.conditions, type)?.reason;
  }
}

async function stageWith(t: TestContext, ...names: string[]) {
  const controllers = multiclusterControllers.filter((part) => part !== "syncer");
  const plane = await startControlPlaneWithClusters(t, { gracePeriods, controllers });
  const stage = new Stage(plane.client);
  const clusters = new Map(
    await Promise.all(
      names.map(async (name) => [name, await startPhysicalCluster(t, { name })] as const),
    ),
  );
  const join = async (name: string) => {
    const kubeconfig = clusters.get(name)?.kubeconfig ?? "";
    await register(plane.client, name, { kubeconfig, resources: ["deployments.apps"] });
    await untilCondition(plane.client, name, { status: "True" });
  };
  return { plane, stage, clusters, join };
}

describe("the Deployment splitter", () => {
  it("splits evenly, folds the statuses, and follows edits, scaling and deletion", async (t) => {
    const { stage, join } = await stageWith(t, "east", "west");
    await join("east");
    await join("west");
    await stage.apply(15);
    await stage.untilShares({ east: 8, west: 7 });
    const part = await stage.deployments.get({ namespace, name: "web--east" });
    assert.equal(part.metadata.labels?.["workload.kcp.io/cluster"], "east");
    assert.equal(part.metadata.labels?.["workload.kcp.io/owned-by"], "web");
    assert.equal(part.metadata.ownerReferences?.[0]?.uid, (await stage.whole()).metadata.uid);

    await stage.report("east", 1);
    await stage.report("west");
    await stage.untilStatus(({ readyReplicas }) => assert.equal(readyReplicas, 8));
    assert.equal(await stage.reason("Progressing"), "ReplicaSetUpdated");
    assert.equal(await stage.reason("Available"), "MinimumReplicasUnavailable");
    await stage.report("east");
    await stage.untilStatus(({ readyReplicas, observedGeneration }) => {
      assert.equal(readyReplicas, 15);
      assert.equal(observedGeneration, 1);
    });
    assert.equal(await stage.reason("Available"), "MinimumReplicasAvailable");
    assert.equal(await stage.reason("Progressing"), "NewReplicaSetAvailable");

    // An edit reaches one part after the other: the next when the cluster of the last has replaced
    // its Pods.
    const template = { metadata: { labels: { app: "web" }, annotations: { restarted: "now" } } };
    await stage.deployments.patch(web, { type: "merge", patch: { spec: { template } } });
    const newest = (await stage.whole()).spec.template;
    const templateIn = async (name: string) =>
      (await stage.deployments.get({ namespace, name })).spec.template;
    await eventually(async () => assert.deepEqual(await templateIn("web--east"), newest));
    assert.equal((await stage.whole()).status?.observedGeneration, 1);
    assert.notDeepEqual(await templateIn("web--west"), newest);
    await stage.report("east");
    await eventually(async () => assert.deepEqual(await templateIn("web--west"), newest));
    await stage.untilStatus(({ updatedReplicas }) => assert.equal(updatedReplicas, 8));
    // When they are done, parts have their author's pace again, and that is observed, too.
    await eventually(async () => {
      await stage.report("east");
      await stage.report("west");
      const { observedGeneration, updatedReplicas } = (await stage.whole()).status ?? {};
      assert.deepEqual(
        { observedGeneration, updatedReplicas },
        { observedGeneration: 2, updatedReplicas: 15 },
      );
    });

    await stage.deployments.patch(web, { type: "merge", patch: { spec: { replicas: 4 } } });
    await stage.untilShares({ east: 2, west: 2 });
    await stage.deployments.delete(web);
    await stage.untilShares({});
  });

  it("says what to do next when there are no clusters, and goes on when one comes", async (t) => {
    const { stage, join, plane } = await stageWith(t, "east");
    await join("east");
    await stage.apply(3);
    await stage.untilShares({ east: 3 });
    await stage.deployments.delete(web);
    await stage.untilShares({});
    await plane.client
      .resource(syncTargets)
      .patch({ name: "east" }, { type: "merge", patch: { spec: { unschedulable: true } } });
    await stage.apply(3);
    await eventually(async () => assert.equal(await stage.reason("Progressing"), "Unschedulable"));
    assert.deepEqual(await stage.shares(), {});
    await plane.client
      .resource(syncTargets)
      .patch({ name: "east" }, { type: "merge", patch: { spec: { unschedulable: false } } });
    await stage.untilShares({ east: 3 });
  });

  it("fills a cluster that joins before it empties the other", async (t) => {
    const { stage, join } = await stageWith(t, "east", "west");
    await join("east");
    await stage.apply(15);
    await stage.untilShares({ east: 15 });
    await stage.report("east");
    await join("west");
    await stage.untilShares({ east: 15, west: 7 });
    await stage.report("west", 3);
    await stage.untilShares({ east: 12, west: 7 });
    await stage.report("east");
    await stage.report("west");
    await stage.untilShares({ east: 8, west: 7 });
  });

  it("replaces what a lost cluster has, leaves it alone there, and takes it back as it is", async (t) => {
    const { stage, join, clusters, plane } = await stageWith(t, "east", "west");
    await join("east");
    await join("west");
    await stage.apply(15);
    await stage.untilShares({ east: 8, west: 7 });
    await stage.report("east");
    await stage.report("west");
    await stage.untilStatus(({ readyReplicas }) => assert.equal(readyReplicas, 15));
    await clusters.get("west")?.faults.cut();
    await stage.untilShares({ east: 15, west: 7 });
    await eventually(async () => {
      const placement = await stage.placement();
      const west = placement.status?.clusters?.find(({ name }) => name === "west");
      assert.notEqual(west?.unreachableSince, undefined);
      assert.deepEqual([west?.state, west?.phase], ["Unreachable", "Unreachable"]);
    });
    await stage.untilStatus(({ readyReplicas }) => assert.equal(readyReplicas, 8));
    await stage.report("east");
    await stage.untilStatus(({ readyReplicas }) => assert.equal(readyReplicas, 15));
    const { items } = await plane.client.resource(events).list({ namespace });
    assert.ok(
      items.some(({ reason, message }) => reason === "ClusterUnreachable" && /west/.test(message)),
    );
    await clusters.get("west")?.faults.heal();
    await untilCondition(plane.client, "west", { status: "True" });
    await stage.report("west");
    await stage.untilShares({ east: 8, west: 7 });
  });

  it("empties a cluster that is to be left, after the other has taken over", async (t) => {
    const { stage, join, plane } = await stageWith(t, "east", "west");
    await join("east");
    await join("west");
    await stage.apply(4);
    await stage.untilShares({ east: 2, west: 2 });
    await stage.report("east");
    await stage.report("west");
    const patch = { spec: { drain: {} } };
    await plane.client.resource(syncTargets).patch({ name: "west" }, { type: "merge", patch });
    await stage.untilShares({ east: 4, west: 2 });
    await stage.report("east");
    await stage.untilShares({ east: 4 });
  });

  it("reverts changes of a per-cluster object, unless the object is unmanaged", async (t) => {
    const { stage, join } = await stageWith(t, "east", "west");
    await join("east");
    await join("west");
    await stage.apply(4);
    await stage.untilShares({ east: 2, west: 2 });
    const east = { namespace, name: "web--east" };
    await stage.deployments.delete(east);
    await stage.untilShares({ east: 2, west: 2 });
    await stage.deployments.patch(east, { type: "merge", patch: { spec: { replicas: 9 } } });
    await stage.report("west");
    await stage.report("east");
    await stage.untilShares({ east: 2, west: 2 });
    const patch = {
      metadata: { annotations: { [managedAnnotation]: "false" } },
      spec: { replicas: 3 },
    };
    await stage.deployments.patch(east, { type: "merge", patch });
    await stage.report("east");
    await stage.report("west");
    await stage.untilShares({ east: 3, west: 1 });
  });

  it("splits by weight, and moves nothing when the annotation cannot be read", async (t) => {
    const { stage, join } = await stageWith(t, "east", "west");
    await join("east");
    await join("west");
    await stage.apply(8, { [weightsAnnotation]: "east=3" });
    await stage.untilShares({ east: 6, west: 2 });
    const patch = { metadata: { annotations: { [weightsAnnotation]: "east=many" } } };
    await stage.deployments.patch(web, { type: "merge", patch });
    await eventually(async () => assert.equal(await stage.reason("Scheduled"), "InvalidPlacement"));
    assert.deepEqual(await stage.shares(), { east: 6, west: 2 });
  });

  it("leaves a Deployment alone whose name a part would need, and says so", async (t) => {
    const { stage, join } = await stageWith(t, "east");
    await join("east");
    const { metadata, spec } = deployment("web--east");
    const labels = { "workload.kcp.io/cluster": "elsewhere" };
    await eventually(() =>
      stage.deployments.create({ metadata: { ...metadata, labels }, spec } as never),
    );
    await stage.apply(3);
    await eventually(async () => assert.equal(await stage.reason("Progressing"), "NameConflict"));
    const other = await stage.deployments.get({ namespace, name: "web--east" });
    assert.equal(other.metadata.ownerReferences, undefined);
    assert.equal(other.spec.replicas, 2);
  });

  it("uses the clusters of the Deployment's own logical cluster only", async (t) => {
    const { stage, join, plane, clusters } = await stageWith(t, "east", "west");
    await join("east");
    const other = new Stage(plane.clientFor("other"));
    const kubeconfig = clusters.get("west")?.kubeconfig ?? "";
    await register(other.client, "west", { kubeconfig, resources: ["deployments.apps"] });
    await untilCondition(other.client, "west", { status: "True" });
    await stage.apply(3);
    await other.apply(5);
    await stage.untilShares({ east: 3 });
    await other.untilShares({ west: 5 });
    await stage.report("east");
    await stage.untilStatus(({ readyReplicas }) => assert.equal(readyReplicas, 3));
    assert.equal((await other.whole()).status?.readyReplicas ?? 0, 0);
  });
});
