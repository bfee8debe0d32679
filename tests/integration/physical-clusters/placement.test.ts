/**
 * Goal: policy decides where an unmodified application runs, at every level, and editing it moves
 * the application.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { locations, placements, syncTargets } from "@kcp-ts/multicluster";
import { findCondition } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { deployments, eventually } from "./fixture.ts";
import { PlacementFixture } from "./placement-fixture.ts";

const region = "topology.kubernetes.io/region";
const labels = { east: { [region]: "us" }, west: { [region]: "eu" } };

async function addLocations(stage: PlacementFixture): Promise<void> {
  for (const name of ["us", "eu"])
    await stage.client
      .resource(locations)
      .create({
        metadata: { name, labels: { [region]: name } },
        spec: { instanceSelector: { matchLabels: { [region]: name } } },
      } as never);
}

const selects = (name: string) => [{ matchLabels: { [region]: name } }];

describe("Locations and Placements", () => {
  it("a workspace with clusters has a default Location, which counts them and comes back", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      labels,
    });
    const resource = stage.client.resource(locations);
    const untilCounted = async (instances: number, availableInstances: number) =>
      await eventually(async () => {
        const { status } = await resource.get({ name: "default" });
        assert.deepEqual(status, { instances, availableInstances });
      });
    await untilCounted(2, 2);
    await stage.patchTarget("west", { spec: { unschedulable: true } });
    await untilCounted(2, 1);
    const { uid } = (await resource.get({ name: "default" })).metadata;
    await resource.delete({ name: "default" });
    await eventually(async () => {
      const again = await resource.get({ name: "default" });
      assert.notEqual(again.metadata.uid, uid);
    });
    await untilCounted(2, 1);
    const elsewhere = stage.plane.client.inCluster("elsewhere");
    assert.deepEqual((await elsewhere.resource(locations).list()).items, []);
  });

  it("a Placement for a namespace moves what is there when its selector is edited", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      labels,
    });
    await stage.apply("web", 4);
    await stage.untilShares("web", { east: 2, west: 2 });
    await addLocations(stage);
    const resource = stage.client.resource(placements);
    await resource.create({
      metadata: { name: "web" },
      spec: {
        locationSelectors: selects("us"),
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
      },
    } as never);
    await stage.untilShares("web", { east: 4 });
    await stage.untilReady("web", 4);
    const bound = await eventually(async () => {
      const found = await resource.get({ name: "web" });
      assert.equal(found.status?.phase, "Bound");
      assert.equal(findCondition(found.status?.conditions, "Scheduled")?.message, "east");
      return found;
    });
    assert.deepEqual(bound.status?.selectedLocation, { path: "root", locationName: "us" });
    const namespace = await eventually(async () => {
      const found = await stage.client.resource(namespaces).get({ name: "default" });
      assert.equal(findCondition(found.status?.conditions, "NamespaceScheduled")?.status, "True");
      return found;
    });
    assert.equal(namespace.metadata.annotations?.["scheduling.kcp.io/placement"], "");
    const patch = { spec: { locationSelectors: selects("eu") } };
    await resource.patch({ name: "web" }, { type: "merge", patch });
    await stage.untilShares("web", { west: 4 });
    await stage.untilReady("web", 4);

    await resource.patch(
      { name: "web" },
      { type: "merge", patch: { spec: { locationSelectors: selects("mars") } } },
    );
    await eventually(async () => {
      const { status } = await resource.get({ name: "web" });
      const ready = findCondition(status?.conditions, "Ready");
      assert.deepEqual([status?.phase, ready?.reason], ["Pending", "LocationNoMatch"]);
      assert.equal(ready?.message, "No valid location is found");
    });
    // The last copy stays where it is when there is nowhere to go.
    await stage.untilScheduled("web", { reason: "AllReplicasScheduled" });
    assert.deepEqual(await stage.shares("web"), { west: 4 });

    await resource.delete({ name: "web" });
    await stage.untilShares("web", { east: 2, west: 2 });
    await eventually(async () => {
      const found = await stage.client.resource(namespaces).get({ name: "default" });
      assert.equal(found.metadata.annotations?.["scheduling.kcp.io/placement"], undefined);
    });
  });

  it("the namespace's Placement goes before the workspace's, and that before root's", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      labels,
    });
    const resource = stage.client.resource(placements);
    const weights = (name: string, east: number, more: object) =>
      resource.create({
        metadata: { name },
        spec: { weights: { east }, namespaceSelector: {}, ...more },
      } as never);
    await stage.apply("web", 12);
    await stage.untilShares("web", { east: 6, west: 6 });
    await weights("default", 2, {});
    await stage.untilShares("web", { east: 8, west: 4 });
    const team = { matchLabels: { team: "a" } };
    await weights("team", 3, { namespaceSelector: team });
    const labelled = { metadata: { labels: { team: "a" } } };
    await stage.client
      .resource(namespaces)
      .patch({ name: "default" }, { type: "merge", patch: labelled });
    await stage.untilShares("web", { east: 9, west: 3 });
    await resource.delete({ name: "team" });
    await stage.untilShares("web", { east: 8, west: 4 });

    // Root is a workspace like others, and its Placement `default` is everybody's.
    const tenant = stage.plane.client.inCluster("tenant");
    const other = await PlacementFixture.beside(stage, tenant, labels);
    await other.apply("web", 12);
    await other.untilShares("web", { east: 8, west: 4 });
    await tenant
      .resource(placements)
      .create({
        metadata: { name: "own" },
        spec: { weights: { west: 2 }, namespaceSelector: {} },
      } as never);
    await other.untilShares("web", { east: 4, west: 8 });
    assert.deepEqual(await stage.shares("web"), { east: 8, west: 4 });
  });

  it("taints keep new work away, and NoExecute what is there", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      labels,
    });
    const taint = (effect: string) => [{ key: "dedicated", value: "gpu", effect }];
    await stage.patchTarget("west", { spec: { taints: taint("NoSchedule") } });
    await stage.apply("web", 4);
    await stage.untilShares("web", { east: 4 });
    await stage.client
      .resource(placements)
      .create({
        metadata: { name: "all" },
        spec: { namespaceSelector: {}, tolerations: [{ key: "dedicated", value: "gpu" }] },
      } as never);
    await stage.untilShares("web", { east: 2, west: 2 });
    await stage.client.resource(placements).delete({ name: "all" });
    await stage.apply("api", 2);
    await stage.untilShares("api", { east: 2 });
    assert.deepEqual(await stage.shares("web"), { east: 2, west: 2 });
    await stage.patchTarget("west", { spec: { taints: taint("NoExecute") } });
    await stage.untilShares("web", { east: 4 });
    await stage.untilReady("web", 4);
  });
});

describe("capacity", () => {
  const pod = { resources: { requests: { cpu: "1" } } };

  it("holds what does not fit, says so, and places it when there is more", async (t) => {
    const node = (name: string) => ({ name, capacity: { cpu: "2" } });
    const stage = await PlacementFixture.start(t, {
      clusters: { east: [node("east-1")], west: [node("west-1")] },
      labels,
    });
    await stage.apply("web", 6, { pod });
    await stage.untilShares("web", { east: 2, west: 2 });
    await stage.untilReady("web", 4);
    await stage.untilScheduled("web", {
      reason: "PartiallyScheduled",
      message: /^4\/6 replicas scheduled: 0\/2 clusters are available: 2 Insufficient cpu$/,
    });
    await eventually(async () => {
      const { status } = await stage.client.resource(syncTargets).get({ name: "east" });
      assert.deepEqual(status?.reserved, { cpu: "2", pods: "2", workloads: "1" });
    });
    await stage.apply("late", 1, { pod });
    await stage.untilScheduled("late", { reason: "Unschedulable" });
    await stage.clusters.get("west")?.nodes.add(node("west-2"));
    await stage.untilShares("web", { east: 2, west: 4 });
    await stage.untilReady("web", 6);
    await stage.clusters.get("west")?.nodes.add(node("west-3"));
    await stage.untilShares("late", { west: 1 });
    await stage.untilReady("late", 1);
  });

  it("bounds of a SyncTarget and of a Location hold, and room that is given back is used", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      labels,
      specs: { east: { resourceLimits: { pods: 3 } } },
    });
    await stage.apply("web", 10);
    await stage.untilShares("web", { east: 3, west: 7 });
    const resource = stage.client.resource(locations);
    await resource.patch(
      { name: "default" },
      { type: "merge", patch: { spec: { resourceLimits: { pods: 12 } } } },
    );
    await stage.client
      .resource(placements)
      .create({
        metadata: { name: "all" },
        spec: { namespaceSelector: {}, locationSelectors: [{}] },
      } as never);
    await stage.apply("api", 4);
    await stage.untilScheduled("api", {
      reason: "PartiallyScheduled",
      message: /^2\/4 replicas scheduled: pod limit reached: 12\/12 \(Location default\)$/,
    });
    const name = { namespace: "default", name: "web" };
    await stage.client
      .resource(deployments)
      .patch(name, { type: "merge", patch: { spec: { replicas: 4 } } });
    await stage.untilReady("api", 4);
    await stage.untilScheduled("api", { reason: "AllReplicasScheduled" });
  });
});
