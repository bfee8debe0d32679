/** Goal: a workspace uses the clusters of another one, in Push mode, without seeing them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiExports, computeExportName, syncTargets } from "@kcp-ts/multicluster";
import {
  deployment,
  deployments,
  eventually,
  register,
  startPhysical,
  startPlane,
} from "./fixture.ts";
import {
  bind,
  called,
  namespacesByOwner,
  offer,
  untilOffered,
  untilReady,
  untilReplicas,
} from "./tenants.ts";

describe("a workspace that uses the clusters of another one", () => {
  it("runs Deployments there, and has their status", async (t) => {
    const plane = await startPlane(t);
    const east = await startPhysical(t, { name: "east" });
    const compute = plane.clientFor("compute");
    const tenant = plane.clientFor("tenant");
    await register(compute, "east", { kubeconfig: east.kubeconfig });
    await offer(compute);
    await untilOffered(compute, "deployments.apps", "services");
    await untilReady(compute, "east");
    await bind(tenant, "compute");
    await tenant.resource(deployments).create(deployment("web"));
    await untilReplicas(tenant, "web", 2);
    const parts = (await tenant.resource(deployments).list()).items.map(({ metadata }) => metadata);
    const name = called("compute", "east");
    assert.deepEqual(
      parts.map((part) => part.name),
      ["web", `web--${name.replace(".", "-")}`],
    );
    assert.equal(parts[1]?.labels?.["workloads.kcp.io/cluster"], name);
    const owners = await namespacesByOwner(east.client);
    assert.deepEqual([...owners.keys()], ["tenant"]);
    assert.deepEqual((await tenant.resource(syncTargets).list()).items, []);
    assert.deepEqual((await compute.resource(deployments).list()).items, []);
    // And it goes when it is deleted.
    await tenant.resource(deployments).delete({ namespace: "default", name: "web" });
    await eventually(async () => {
      assert.deepEqual((await tenant.resource(deployments).list()).items, []);
      const [namespace = ""] = owners.get("tenant") ?? [];
      assert.deepEqual((await east.client.resource(deployments).list({ namespace })).items, []);
    });
    const { spec } = await compute.resource(apiExports).get({ name: computeExportName });
    assert.ok((spec?.resources?.length ?? 0) >= 3, JSON.stringify(spec));
  });
});
