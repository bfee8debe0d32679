/**
 * Goal: workspaces use the clusters of another one, in Push mode, without seeing them or each
 * other.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  apiExports,
  apiResourceImports,
  apiResourceSchemas,
  clusterLabel,
  computeExportName,
  negotiatedApiResources,
  syncTargets,
} from "@kcp-ts/multicluster";
import {
  deployment,
  deployments,
  eventually,
  register,
  startPhysicalCluster,
  untilImport,
} from "./fixture.ts";
import {
  apiBindings,
  bind,
  configMaps,
  exportCompute,
  labelled,
  namespacesByOwner,
  sharedNameOf,
  startControlPlaneForTenants,
  untilComputeExported,
  untilReady,
  untilReplicas,
} from "./tenants.ts";

/** A workspace with one cluster, which it offers. */
async function offered(t: TestContext, resources?: readonly string[]) {
  const plane = await startControlPlaneForTenants(t);
  const east = await startPhysicalCluster(t, { name: "east" });
  const compute = plane.clientFor("compute");
  const spec = { kubeconfig: east.kubeconfig, ...(resources === undefined ? {} : { resources }) };
  await register(compute, "east", spec);
  await exportCompute(compute);
  await untilComputeExported(compute, "deployments.apps");
  await untilReady(compute, "east");
  return { plane, east, compute };
}

describe("a workspace that uses the clusters of another one", () => {
  it("runs Deployments there, has their status, and nothing is left when they are deleted", async (t) => {
    const { plane, east, compute } = await offered(t);
    const tenant = plane.clientFor("tenant");
    await bind(tenant, "compute");
    await tenant.resource(deployments).create(deployment("web"));
    await untilReplicas(tenant, "web", 2);
    const parts = (await tenant.resource(deployments).list()).items.map(({ metadata }) => metadata);
    const name = sharedNameOf("compute", "east");
    assert.deepEqual(
      parts.map((part) => part.name),
      ["web", `web--${name.replace(".", "-")}`],
    );
    assert.equal(parts[1]?.labels?.[clusterLabel], name);
    const owners = await namespacesByOwner(east.client);
    assert.deepEqual([...owners.keys()], ["tenant"]);
    assert.deepEqual((await tenant.resource(syncTargets).list()).items, []);
    assert.deepEqual((await compute.resource(deployments).list()).items, []);
    await tenant.resource(deployments).delete({ namespace: "default", name: "web" });
    await eventually(async () => {
      assert.deepEqual((await tenant.resource(deployments).list()).items, []);
      const [namespace = ""] = owners.get("tenant") ?? [];
      assert.deepEqual((await east.client.resource(deployments).list({ namespace })).items, []);
    });
  });

  it("shares them with others of the same names, and none of them meets another", async (t) => {
    const { plane, east, compute } = await offered(t);
    const names = ["one", "two", "compute"];
    for (const name of names.slice(0, 2)) await bind(plane.clientFor(name), "compute");
    for (const [index, name] of names.entries()) {
      const { spec, ...rest } = deployment("web");
      const replicas = index + 1;
      await plane
        .clientFor(name)
        .resource(deployments)
        .create({ ...rest, spec: { ...spec, replicas } });
    }
    for (const [index, name] of names.entries())
      await untilReplicas(plane.clientFor(name), "web", index + 1);
    const owners = await namespacesByOwner(east.client);
    assert.deepEqual([...owners.keys()].sort(), [...names].sort());
    for (const [index, name] of names.entries()) {
      const [namespace = "", ...more] = owners.get(name) ?? [];
      assert.deepEqual(more, []);
      const { items } = await east.client.resource(deployments).list({ namespace });
      assert.deepEqual(
        items.map(({ spec }) => spec?.replicas),
        [index + 1],
        name,
      );
    }
    // The platform's own objects are not the tenants', and the other way round.
    assert.equal((await compute.resource(deployments).list()).items.length, 2);
    // At rest no status is written: two controllers of one status would write for ever.
    const at = { namespace: "default", name: "web" };
    let round = 0;
    await eventually(async () => {
      const one = plane.clientFor("one");
      const before = await one.resource(deployments).get(at);
      const name = `later-${round++}`;
      await one.resource(deployments).create(deployment(name));
      await untilReplicas(one, name, 2);
      const after = await one.resource(deployments).get(at);
      assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    });
  });

  it("has clusters of the same name in its own workspace, which are others", async (t) => {
    const { plane, east } = await offered(t, ["deployments.apps"]);
    const tenant = plane.clientFor("tenant");
    const own = await startPhysicalCluster(t, { name: "own" });
    await bind(tenant, "compute");
    await register(tenant, "east", { kubeconfig: own.kubeconfig, resources: ["services"] });
    await untilReady(tenant, "east");
    await tenant.resource(deployments).create(deployment("web"));
    await untilReplicas(tenant, "web", 2);
    assert.deepEqual([...(await namespacesByOwner(own.client)).keys()], []);
    assert.deepEqual([...(await namespacesByOwner(east.client)).keys()], ["tenant"]);
    // By the name of its own one, nothing comes to the other.
    await tenant.resource(deployments).create(labelled("mine", { [clusterLabel]: "east" }));
    await tenant.resource(deployments).create(deployment("later"));
    await untilReplicas(tenant, "later", 2);
    const { items } = await east.client.resource(deployments).list();
    assert.deepEqual(items.map(({ metadata }) => metadata.name.split("--")[0]).sort(), [
      "later",
      "web",
    ]);
  });

  it("takes its objects out of the clusters when it unbinds", async (t) => {
    const { plane, east } = await offered(t, ["deployments.apps", "configmaps"]);
    const [tenant, other] = [plane.clientFor("tenant"), plane.clientFor("other")];
    for (const client of [tenant, other]) {
      await bind(client, "compute", ["configmaps"]);
      await client.resource(deployments).create(deployment("web"));
      const labels = { [clusterLabel]: sharedNameOf("compute", "east") };
      const metadata = { namespace: "default", name: "settings", labels };
      await client.resource(configMaps).create({ metadata, data: { colour: "green" } });
      await untilReplicas(client, "web", 2);
    }
    const owners = await namespacesByOwner(east.client);
    const inCluster = async (owner: string) => {
      const [namespace = ""] = owners.get(owner) ?? [];
      const [web, settings] = await Promise.all([
        east.client.resource(deployments).list({ namespace }),
        east.client.resource(configMaps).list({ namespace }),
      ]);
      const names = settings.items.map(({ metadata }) => metadata.name);
      return [web.items.length, names.includes("settings")];
    };
    await eventually(async () => {
      assert.deepEqual(await inCluster("tenant"), [1, true]);
      assert.deepEqual(await inCluster("other"), [1, true]);
    });
    await tenant.resource(apiBindings).delete({ name: computeExportName });
    await eventually(async () => {
      assert.equal(await tenant.resource(apiBindings).find({ name: computeExportName }), undefined);
      assert.deepEqual(await inCluster("tenant"), [0, false]);
      // An object that was only shared stays with its owner, without a finalizer.
      const at = { namespace: "default", name: "settings" };
      const { metadata } = await tenant.resource(configMaps).get(at);
      assert.deepEqual(metadata.finalizers ?? [], []);
    });
    assert.deepEqual(await inCluster("other"), [1, true]);
  });
});

describe("the APIs that a compute workspace exports", () => {
  it("are none until the APIExport is configured to list negotiated APIs", async (t) => {
    const plane = await startControlPlaneForTenants(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "east", { kubeconfig: east.kubeconfig });
    await untilReady(plane.client, "east");
    const exported = await plane.client.resource(apiExports).find({ name: computeExportName });
    assert.equal(exported, undefined);
    await plane.client.resource(apiExports).create({ metadata: { name: computeExportName } });
    // An export of that name in another workspace has no effect.
    await exportCompute(plane.clientFor("elsewhere"));
    await eventually(async () => {
      const negotiated = await plane.client.resource(negotiatedApiResources).list();
      assert.ok(negotiated.items.length > 0);
    });
    const { spec } = await plane.client.resource(apiExports).get({ name: computeExportName });
    assert.deepEqual(spec?.resources ?? [], []);
  });

  it("follows what is negotiated, and tenants follow it", async (t) => {
    const { plane, compute } = await offered(t, ["deployments.apps"]);
    const tenant = plane.clientFor("tenant");
    await bind(tenant, "compute");
    const exported = async () => {
      const found = await compute.resource(apiExports).get({ name: computeExportName });
      return new Map(found.spec?.resources?.map(({ name, schema }) => [name, schema]));
    };
    const before = await exported();
    assert.deepEqual([...before.keys()], ["deployments"]);
    // Another kind.
    const resources = ["deployments.apps", "services"];
    const patch = { spec: { resources } };
    await compute.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    await untilComputeExported(compute, "deployments.apps", "services");
    await eventually(async () => {
      const binding = await tenant.resource(apiBindings).get({ name: computeExportName });
      assert.match(JSON.stringify(binding["status"]), /"resource":"services"/);
    });
    // An older cluster serves fewer fields: the schema is narrowed when the strategy allows it.
    const west = await startPhysicalCluster(t, { name: "west", generation: "1.28" });
    await register(compute, "west", { kubeconfig: west.kubeconfig, resources });
    const name = "deployments.west.v1.apps";
    await untilImport(compute, name, { compatible: "False", available: "True" });
    const strategy = { spec: { schemaUpdateStrategy: "UpdatePublished" } };
    await compute.resource(apiResourceImports).patch({ name }, { type: "merge", patch: strategy });
    await eventually(async () => {
      const now = (await exported()).get("deployments");
      assert.notEqual(now, before.get("deployments"));
      const schemas = await compute.resource(apiResourceSchemas).list();
      const names = schemas.items.map(({ metadata }) => metadata.name);
      assert.deepEqual(names.sort(), [...(await exported()).values()].sort());
      const binding = await tenant.resource(apiBindings).get({ name: computeExportName });
      assert.match(JSON.stringify(binding["status"]), new RegExp(`"name":"${now}"`));
    });
  });
});
