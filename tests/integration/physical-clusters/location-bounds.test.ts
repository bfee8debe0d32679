/**
 * Goal: what one workspace may use of a Location's clusters holds whatever chose them: nothing, an
 * annotation, or a Placement of its own that is gone again.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { locations, placements } from "@kcp-ts/multicluster";
import { type Client, findCondition } from "@kcp-ts/sdk";
import { deployment, deployments, eventually } from "./fixture.ts";
import { PlacementFixture } from "./placement-fixture.ts";
import { bind, startSharedCompute, untilReplicas } from "./tenants.ts";

async function allow(client: Client, name: string, resourceLimits: object | null): Promise<void> {
  const patch = { spec: { resourceLimits } } as never;
  await eventually(() => client.resource(locations).patch({ name }, { type: "merge", patch }));
}

function asking(name: string, replicas: number, selector?: string) {
  const { spec, metadata, ...rest } = deployment(name);
  const annotations =
    selector === undefined ? {} : { "workload.kcp.io/cluster-selector": selector };
  return { ...rest, metadata: { ...metadata, annotations }, spec: { ...spec, replicas } };
}

async function untilHeld(
  client: Client,
  name: string,
  message: RegExp,
  reason = "PartiallyScheduled",
): Promise<void> {
  await eventually(async () => {
    const found = await client.resource(deployments).get({ namespace: "default", name });
    const { status } = found as { status?: { conditions?: never } };
    const placed = findCondition(status?.conditions, "Scheduled");
    assert.equal(placed?.reason, reason, JSON.stringify(placed));
    assert.match(placed?.message ?? "", message);
  });
}

/** What parts ask for, all together; while replicas move, they are in two places. */
async function untilGiven(client: Client, replicas: number): Promise<void> {
  await eventually(async () => {
    const { items } = await client.resource(deployments).list({ namespace: "default" });
    const parts = items.filter(({ metadata }) => metadata.name.includes("--"));
    const given = parts.reduce((sum, { spec }) => sum + (spec?.replicas ?? 0), 0);
    assert.equal(given, replicas);
  });
}

describe("the bounds of a Location", () => {
  it("hold without any Placement, and let in more when they grow", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
    });
    await allow(stage.client, "default", { pods: 2 });
    await stage.apply("web", 8);
    await untilHeld(
      stage.client,
      "web",
      /^2\/8 replicas scheduled: pod limit reached: 2\/2 \(Location default\)$/,
    );
    await stage.untilShares("web", { east: 1, west: 1 });
    await allow(stage.client, "default", { pods: 5 });
    await stage.untilReady("web", 5);
    await allow(stage.client, "default", null);
    await stage.untilReady("web", 8);
    await stage.untilScheduled("web", { reason: "AllReplicasScheduled" });
  });

  it("do not keep what is there from moving, and a move leaves no more than is allowed", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
    });
    await allow(stage.client, "default", { pods: 4 });
    await stage.apply("web", 8);
    await stage.untilShares("web", { east: 2, west: 2 });
    await stage.untilReady("web", 4);
    await stage.patchTarget("east", { spec: { unschedulable: true, drain: {} } });
    await stage.untilShares("web", { west: 4 });
    await stage.untilReady("web", 4);
    // What runs is not stopped by less; a drain takes it along.
    await allow(stage.client, "default", { pods: 1 });
    await stage.patchTarget("east", { spec: { unschedulable: null, drain: null } });
    await stage.untilShares("web", { east: 2, west: 2 });
    await stage.patchTarget("west", { spec: { unschedulable: true, drain: {} } });
    await stage.untilShares("web", { east: 4 });
    await stage.untilReady("web", 4);
    await untilHeld(
      stage.client,
      "web",
      /^4\/8 replicas scheduled: pod limit reached: 4\/1 \(Location default\)$/,
    );
  });

  it("hold for what selects clusters by itself, each of another one", async (t) => {
    const clusters = { east: undefined, west: undefined, north: undefined };
    const stage = await PlacementFixture.start(t, { clusters });
    await allow(stage.client, "default", { pods: 2 });
    for (const name of Object.keys(clusters)) {
      const workload = asking(`in-${name}`, 2, `workload.kcp.io/cluster=${name}`);
      await eventually(() => stage.client.resource(deployments).create(workload));
    }
    await eventually(async () => {
      const { items } = await stage.client.resource(deployments).list({ namespace: "default" });
      const reasons = items.map((one) => {
        const { status } = one as { status?: { conditions?: never } };
        return findCondition(status?.conditions, "Scheduled")?.reason;
      });
      assert.equal(reasons.filter((reason) => reason === "Unschedulable").length, 2);
    });
    await untilGiven(stage.client, 2);
  });

  it("hold for some of the clusters, while others take what they like", async (t) => {
    const labels = { east: { tier: "small" }, west: { tier: "small" } };
    const clusters = { east: undefined, west: undefined, north: undefined };
    const stage = await PlacementFixture.start(t, { clusters, labels });
    const instanceSelector = { matchLabels: { tier: "small" } };
    await stage.client
      .resource(locations)
      .create({
        metadata: { name: "small" },
        spec: { instanceSelector, resourceLimits: { pods: 2 } },
      } as never);
    await stage.apply("web", 9);
    // Which of the two takes how many depends on what the scheduler saw first: Location or
    // Deployment.
    await eventually(async () => {
      const { east = 0, west = 0, north } = await stage.shares("web");
      assert.deepEqual({ small: east + west, north }, { small: 2, north: 7 });
    });
    await stage.untilReady("web", 9);
  });

  it("hold for each workspace that uses the clusters of another one, with a Placement or without", async (t) => {
    const { plane, compute } = await startSharedCompute(t, { resources: ["deployments.apps"] });
    await allow(compute, "default", { pods: 2 });
    const [one, two] = [plane.clientFor("one"), plane.clientFor("two")];
    for (const tenant of [one, two]) await bind(tenant, "compute");
    await two
      .resource(placements)
      .create({
        metadata: { name: "everywhere" },
        spec: { namespaceSelector: {}, locationSelectors: [{}], locationWorkspace: "compute" },
      } as never);
    for (const tenant of [one, two]) {
      await tenant.resource(deployments).create(asking("web", 8));
      await untilHeld(
        tenant,
        "web",
        /^2\/8 replicas scheduled: pod limit reached: 2\/2 \(Location default\)$/,
      );
      await untilReplicas(tenant, "web", 2);
    }
    await two.resource(placements).delete({ name: "everywhere" });
    await two.resource(deployments).create(asking("more", 1));
    const full = /^0\/1 replicas scheduled: .*pod limit reached: 2\/2 \(Location default\)/;
    await untilHeld(two, "more", full, "Unschedulable");
    for (const tenant of [one, two]) await untilGiven(tenant, 2);
    await allow(compute, "default", { pods: 4 });
    await untilReplicas(one, "web", 4);
    await untilGiven(two, 4);
  });
});
