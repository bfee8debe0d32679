/**
 * Goal: the owner of clusters sees the usage of all tenants, drains and removes clusters without
 * seeing their content, and affects no other tenant.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { clusterLabel, computeExportName, syncTargets } from "@kcp-ts/multicluster";
import { type Client, findCondition } from "@kcp-ts/sdk";
import { workspaces } from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import { deployment, deployments, eventually } from "./fixture.ts";
import {
  apiBindings,
  bind,
  namespacesByOwner,
  sharedNameOf,
  startSharedCompute,
  untilReplicas,
} from "./tenants.ts";

const at = { namespace: "default", name: "web" };

/** A workspace that offers two clusters, and two that use them. */
async function offered(t: TestContext) {
  const stage = await startSharedCompute(t, { resources: ["deployments.apps"] });
  const tenants = new Map(["one", "two"].map((name) => [name, stage.plane.clientFor(name)]));
  for (const client of tenants.values()) await bind(client, "compute");
  return { ...stage, tenants };
}

/** Each replica asks for half a core. */
function asking(replicas: number) {
  const resources = { requests: { cpu: "500m" } };
  const containers = [{ name: "web", image: "nginx:1.27", resources }];
  const { spec, ...rest } = deployment("web", { containers });
  return { ...rest, spec: { ...spec, replicas } };
}

/** By owner, how many Deployments of tenants are in a cluster. */
async function inCluster({ client }: SimulatedCluster): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [owner, namespaces] of await namespacesByOwner(client)) {
    for (const namespace of namespaces) {
      const { items } = await client.resource(deployments).list({ namespace });
      if (items.length > 0) found[owner] = (found[owner] ?? 0) + items.length;
    }
  }
  return found;
}

async function placesOf(client: Client): Promise<readonly string[]> {
  const { items } = await client.resource(deployments).list({ namespace: "default" });
  return items.flatMap(({ metadata }) => metadata.labels?.[clusterLabel] ?? []).sort();
}

describe("who has the clusters that others use", () => {
  it("sees what all of them have reserved, and bounds it", async (t) => {
    const { compute, tenants } = await offered(t);
    const resourceLimits = { cpu: "2" };
    for (const name of ["east", "west"])
      await compute
        .resource(syncTargets)
        .patch({ name }, { type: "merge", patch: { spec: { resourceLimits } } });
    const [one, two] = [...tenants.values()] as [Client, Client];
    await one.resource(deployments).create(asking(4));
    await untilReplicas(one, "web", 4);
    const reserved = async () => {
      const { items } = await compute.resource(syncTargets).list();
      return items.map(({ status }) => (status as { reserved?: { cpu?: string } }).reserved?.cpu);
    };
    await eventually(async () => assert.deepEqual(await reserved(), ["1", "1"]));
    // What another one asks for counts against the same bounds: four more fit, two do not.
    await two.resource(deployments).create(asking(6));
    await untilReplicas(two, "web", 4);
    await eventually(async () => assert.deepEqual(await reserved(), ["2", "2"]));
    const placed = await eventually(async () => {
      const found = (await two.resource(deployments).get(at)) as {
        status?: { conditions?: never };
      };
      const condition = findCondition(found.status?.conditions, "Scheduled");
      assert.equal(condition?.reason, "PartiallyScheduled", JSON.stringify(condition));
      return condition;
    });
    // It says what is short, and not by whom it is taken.
    assert.equal(
      placed?.message,
      "4/6 replicas scheduled: 0/2 clusters are available: 2 Insufficient cpu",
    );
    assert.doesNotMatch(placed?.message ?? "", /\bone\b/);
    await one.resource(deployments).delete(at);
    await untilReplicas(two, "web", 6);
  });

  it("empties a cluster: all that others have there moves, and how far it is can be seen without seeing them", async (t) => {
    const { compute, clusters, tenants } = await offered(t);
    for (const client of tenants.values()) {
      await client.resource(deployments).create(asking(2));
      await untilReplicas(client, "web", 2);
      await eventually(async () => assert.equal((await placesOf(client)).length, 2));
    }
    const patch = { spec: { unschedulable: true, drain: { budget: { workloads: 1 } } } };
    await compute.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    const drained = await eventually(async () => {
      const target = await compute.resource(syncTargets).get({ name: "east" });
      const condition = findCondition(target.status?.conditions, "Drained");
      assert.equal(condition?.status, "True", JSON.stringify(target.status));
      return target;
    });
    const { drain } = drained.status as { drain?: { total?: number; moved?: number } };
    assert.deepEqual([drain?.total, drain?.moved], [2, 2]);
    for (const client of tenants.values()) {
      await untilReplicas(client, "web", 2);
      assert.deepEqual(await placesOf(client), [sharedNameOf("compute", "west")]);
    }
    assert.deepEqual(await inCluster(clusters.get("east") as SimulatedCluster), {});
    assert.deepEqual((await compute.resource(deployments).list()).items, []);
  });

  it("removes a cluster: everything of everybody leaves it first, and nothing in the other one is touched", async (t) => {
    const { compute, clusters, tenants } = await offered(t);
    for (const client of tenants.values()) {
      await client.resource(deployments).create(asking(2));
      await untilReplicas(client, "web", 2);
      await eventually(async () => assert.equal((await placesOf(client)).length, 2));
    }
    await compute.resource(syncTargets).delete({ name: "east" });
    await eventually(async () => {
      assert.equal(await compute.resource(syncTargets).find({ name: "east" }), undefined);
      assert.deepEqual(await inCluster(clusters.get("east") as SimulatedCluster), {});
    });
    for (const client of tenants.values()) {
      await untilReplicas(client, "web", 2);
      assert.deepEqual(await placesOf(client), [sharedNameOf("compute", "west")]);
      const { items } = await client.resource(deployments).list();
      for (const { metadata } of items)
        assert.ok(
          !metadata.finalizers?.some((one) => one.includes(sharedNameOf("compute", "east"))),
        );
    }
  });

  it("loses all objects of a tenant that unbinds, and other tenants keep theirs", async (t) => {
    const { clusters, tenants } = await offered(t);
    for (const client of tenants.values()) {
      await client.resource(deployments).create(asking(2));
      await untilReplicas(client, "web", 2);
    }
    const [one, two] = [...tenants.values()] as [Client, Client];
    const before = await two.resource(deployments).get(at);
    await one.resource(apiBindings).delete({ name: computeExportName });
    await eventually(async () => {
      assert.equal(await one.resource(apiBindings).find({ name: computeExportName }), undefined);
      for (const cluster of clusters.values())
        assert.equal((await inCluster(cluster))["one"], undefined);
    });
    const owners = await Promise.all([...clusters.values()].map(inCluster));
    assert.ok(owners.some((found) => (found["two"] ?? 0) > 0));
    const after = await two.resource(deployments).get(at);
    assert.equal(after.metadata.generation, before.metadata.generation);
    await untilReplicas(two, "web", 2);
  });

  it("loses all objects of a workspace that is deleted, and other tenants keep theirs", async (t) => {
    const { plane, clusters, tenants } = await offered(t);
    const root = plane.clientFor("root").resource(workspaces);
    const { spec } = await root.create({ metadata: { name: "team" } });
    const cluster = spec?.cluster ?? assert.fail();
    const team = plane.clientFor(cluster);
    await bind(team, "compute");
    const two = tenants.get("two") ?? assert.fail();
    for (const client of [team, two]) {
      await client.resource(deployments).create(asking(2));
      await untilReplicas(client, "web", 2);
    }
    const owned = async () => {
      const found = await Promise.all([...clusters.values()].map(inCluster));
      return found.reduce((sum, each) => sum + (each[cluster] ?? 0), 0);
    };
    assert.notEqual(await owned(), 0);
    await root.delete({ name: "team" });
    await eventually(async () => {
      assert.equal(await root.find({ name: "team" }), undefined);
      assert.equal(await owned(), 0);
    });
    await untilReplicas(two, "web", 2);
  });
});
