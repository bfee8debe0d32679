/**
 * Goal: agents serve the tenants of a compute workspace as the control plane does, take ConfigMaps
 * and Secrets along, obey policies, and need no more rights than that.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterLabel, syncPolicies, syncTargets } from "@kcp-ts/multicluster";
import { findCondition } from "@kcp-ts/sdk";
import { serviceAccounts } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { agentAccountClient, registerPullTarget, startAgentWith } from "./agents.ts";
import { deployment, deployments, eventually, startPhysicalCluster } from "./fixture.ts";
import {
  bind,
  configMaps,
  exportCompute,
  namespacesByOwner,
  secrets,
  sharedNameOf,
  startControlPlaneForTenants,
  untilComputeExported,
  untilReady,
  untilReplicas,
} from "./tenants.ts";

const at = { namespace: "default", name: "settings" };

describe("an agent of a compute workspace", () => {
  it("runs the Deployments of two tenants with the same names, and neither meets the other", async (t) => {
    const plane = await startControlPlaneForTenants(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const agent = await registerPullTarget(t, plane, "east", "compute", {
      resources: ["deployments.apps"],
    });
    const { target, view } = agent;
    const downstream = east.client;
    t.after(
      startAgentWith({ upstream: view, downstream, target, resources: ["deployments.apps"] }),
    );
    const compute = plane.clientFor("compute");
    await exportCompute(compute);
    await untilComputeExported(compute, "deployments.apps");
    await untilReady(compute, "east");
    for (const [index, name] of ["one", "two"].entries()) {
      const client = plane.clientFor(name);
      await bind(client, "compute");
      const { spec, ...rest } = deployment("web");
      const workload = { ...rest, spec: { ...spec, replicas: index + 1 } };
      await client.resource(deployments).create(workload);
    }
    for (const [index, name] of ["one", "two"].entries())
      await untilReplicas(plane.clientFor(name), "web", index + 1);
    const owners = await namespacesByOwner(east.client);
    assert.deepEqual([...owners.keys()].sort(), ["one", "two"]);
    for (const [index, name] of ["one", "two"].entries()) {
      const [namespace = ""] = owners.get(name) ?? [];
      const { items } = await east.client.resource(deployments).list({ namespace });
      assert.deepEqual(
        items.map(({ spec }) => spec?.replicas),
        [index + 1],
      );
    }
  });

  it("takes ConfigMaps and Secrets along, with the rights in the cluster that its manifest gives and no others", async (t) => {
    const plane = await startControlPlaneForTenants(t);
    // Another control plane stands for the cluster: it has roles, and asks them.
    const physical = await startTestControlPlane({ physicalClusters: false });
    const resources = ["configmaps", "secrets"];
    const agent = await registerPullTarget(t, plane, "east", "compute", { resources });
    const { target, view } = agent;
    const downstream = await agentAccountClient(physical, agent, resources);
    const stop = startAgentWith({ upstream: view, downstream, target, resources });
    t.after(async () => {
      await stop();
      await physical.close();
    });
    const compute = plane.clientFor("compute");
    const ready = await eventually(async () => {
      const found = await untilReady(compute, "east");
      assert.deepEqual(found.status?.syncedResources, resources);
      return found;
    });
    const authorized = findCondition(ready.status?.conditions, "SyncerAuthorized");
    assert.notEqual(authorized?.status, "False", JSON.stringify(authorized));
    const tenant = plane.clientFor("tenant");
    await exportCompute(compute);
    await bind(tenant, "compute", resources);
    for (const [client, name] of [
      [compute, "east"],
      [tenant, sharedNameOf("compute", "east")],
    ] as const) {
      const metadata = { ...at, labels: { [clusterLabel]: name } };
      await client.resource(configMaps).create({ metadata, data: { of: name } });
      await client.resource(secrets).create({ metadata, stringData: { of: name } });
      // Not assigned: it stays where it is.
      const other = { namespace: "default", name: "unassigned" };
      await client.resource(secrets).create({ metadata: other, stringData: { of: name } });
    }
    const owners = await eventually(async () => {
      const found = await namespacesByOwner(physical.client);
      assert.deepEqual([...found.keys()].sort(), ["compute", "tenant"]);
      return found;
    });
    for (const [owner, name] of [
      ["compute", "east"],
      ["tenant", sharedNameOf("compute", "east")],
    ] as const) {
      const [namespace = ""] = owners.get(owner) ?? [];
      await eventually(async () => {
        const there = { namespace, name: at.name };
        const settings = await physical.client.resource(configMaps).get(there);
        assert.deepEqual(settings["data"], { of: name });
        const secret = await physical.client.resource(secrets).get(there);
        assert.deepEqual(secret["data"], { of: Buffer.from(name).toString("base64") });
      });
      const { items } = await physical.client.resource(secrets).list({ namespace });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ["settings"],
      );
    }
    // What the roles do not give, the agent does not have.
    const [namespace = ""] = owners.get("tenant") ?? [];
    await assert.rejects(downstream.resource(serviceAccounts).list({ namespace }), { code: 403 });
    // Consent is taken back: the copies leave, and the originals stay without a cluster.
    const rejected = { op: "replace", path: "/spec/permissionClaims/1/state", value: "Rejected" };
    await tenant.json({
      method: "PATCH",
      path: "/apis/apis.kcp.io/v1alpha2/apibindings/kubernetes",
      contentType: "application/json-patch+json",
      body: [rejected],
    });
    await eventually(async () => {
      const left = await physical.client.resource(secrets).list({ namespace });
      assert.deepEqual(left.items, []);
      const { metadata } = await tenant.resource(secrets).get(at);
      assert.deepEqual(metadata.finalizers ?? [], []);
    });
    await physical.client.resource(configMaps).get({ namespace, name: at.name });
  });

  it("syncs by the policies of its workspace, and reads no others", async (t) => {
    const plane = await startControlPlaneForTenants(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const resources = ["deployments.apps", "configmaps"];
    const { target, view } = await registerPullTarget(t, plane, "east", "compute", { resources });
    const compute = plane.clientFor("compute");
    for (const [name, targets] of [
      ["all", {}],
      ["own", { syncTargets: ["east"] }],
      ["others", { syncTargets: ["west"] }],
    ] as const)
      await compute
        .resource(syncPolicies)
        .create({
          metadata: { name },
          spec: {
            ...targets,
            resources: [{ resource: "configmaps", omittedFields: [`data.${name}`] }],
          },
        });
    const inView = view.inCluster("compute");
    const seen = await inView.resource(syncPolicies).list();
    assert.deepEqual(
      seen.items.map(({ metadata }) => metadata.name),
      ["all", "own"],
    );
    const patch = { spec: { resources: [{ resource: "configmaps", direction: "Both" }] } };
    const change = inView.resource(syncPolicies).patch({ name: "own" }, { type: "merge", patch });
    await assert.rejects(change, /patch is not supported on resources of kind/);
    t.after(startAgentWith({ upstream: view, downstream: east.client, target, resources }));
    await untilReady(compute, "east");
    const labels = { [clusterLabel]: "east" };
    const data = { all: "1", own: "2", others: "3" };
    await compute.resource(configMaps).create({ metadata: { ...at, labels }, data });
    const namespace = await eventually(async () => {
      const [found] = (await namespacesByOwner(east.client)).get("compute") ?? [];
      assert.ok(found !== undefined);
      return found;
    });
    const copied = async () =>
      (await east.client.resource(configMaps).get({ namespace, name: at.name }))["data"];
    await eventually(async () => assert.deepEqual(await copied(), { all: "1", others: "3" }));
    // A policy that changes, changes what is synced.
    await compute.resource(syncPolicies).delete({ name: "own" });
    await eventually(async () => assert.deepEqual(await copied(), { own: "2", others: "3" }));
    assert.ok((await compute.resource(syncTargets).list()).items.length === 1);
  });
});
