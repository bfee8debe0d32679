/**
 * Goal: objects that one workspace publishes are read in other workspaces by permitted users,
 * within the limits of the provider, and by no other user.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { bindingTo } from "./cowboys.ts";
import { admin, alice, bob } from "./workspace-fixture.ts";
import { apisOf, bindRule, userSubject, WorkspaceRequests } from "./workspace-requests.ts";

const names = { plural: "flavors", singular: "flavor", kind: "Flavor", listKind: "FlavorList" };
const schema = {
  type: "object",
  properties: { spec: { type: "object", properties: { cpu: { type: "integer" } } } },
};
const flavors = { group: "cloud.example.com", names, scope: "Cluster" };
const exportedFlavors = {
  group: "cloud.example.com",
  name: "flavors",
  schema: "v1.flavors.cloud.example.com",
};
const version = { name: "v1", served: true, storage: true };
const flavorsIn = (cluster: string) => `/clusters/${cluster}/apis/cloud.example.com/v1/flavors`;
const cacheOf = (cluster: string) => `/clusters/${cluster}/apis/cache.kcp.io/v1alpha1`;
const slice = { apiGroup: "cache.kcp.io", kind: "ClusterCachedResourceEndpointSlice" };

/** The definition in bob's workspace, and two objects: one for everybody, and one that is not. */
async function makeFlavors(workspaceRequests: WorkspaceRequests, provider: string): Promise<void> {
  await workspaceRequests.expectSuccess(
    bob,
    "POST",
    `/clusters/${provider}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
    {
      metadata: { name: "flavors.cloud.example.com" },
      spec: { ...flavors, versions: [{ ...version, schema: { openAPIV3Schema: schema } }] },
    },
  );
  for (const [name, labels] of [
    ["small", { for: "everybody" }],
    ["internal", {}],
  ] as const)
    await eventually(() =>
      workspaceRequests.expectSuccess(bob, "POST", flavorsIn(provider), {
        apiVersion: "cloud.example.com/v1",
        kind: "Flavor",
        metadata: { name, labels },
        spec: { cpu: 1 },
      }),
    );
}

describe("objects that a provider publishes", () => {
  let plane: TestControlPlane;
  let workspaceRequests: WorkspaceRequests;
  let provider: string;
  let consumer: string;

  before(async () => {
    plane = await startTestControlPlane();
    workspaceRequests = new WorkspaceRequests(plane);
    await workspaceRequests.allowWorkspaceCreation(admin);
    provider = await workspaceRequests.workspace(bob, "provider");
    consumer = await workspaceRequests.workspace(alice, "consumer");
    await makeFlavors(workspaceRequests, provider);
    await workspaceRequests.expectSuccess(
      bob,
      "POST",
      `${apisOf(provider, "v1alpha1")}/apiresourceschemas`,
      {
        metadata: { name: "v1.flavors.cloud.example.com" },
        spec: { ...flavors, versions: [{ ...version, schema }] },
      },
    );
    await workspaceRequests.expectSuccess(
      bob,
      "POST",
      `${cacheOf(provider)}/clustercachedresources`,
      {
        metadata: { name: "flavors" },
        spec: {
          group: "cloud.example.com",
          version: "v1",
          resource: "flavors",
          labelSelector: { matchLabels: { for: "everybody" } },
        },
      },
    );
    const identityHash = await eventually(async () => {
      const path = `${cacheOf(provider)}/clustercachedresources/flavors`;
      const { status } = (await workspaceRequests.expectSuccess(bob, "GET", path)) as unknown as {
        status: { phase: string; identityHash: string; resourceCounts: object };
      };
      assert.equal(status.phase, "Ready");
      assert.deepEqual(status.resourceCounts, { cache: 1, local: 1 });
      return status.identityHash;
    });
    const virtual = { reference: { ...slice, name: "flavors" }, identityHash };
    await workspaceRequests.expectSuccess(bob, "POST", `${apisOf(provider)}/apiexports`, {
      metadata: { name: "compute" },
      spec: { resources: [{ ...exportedFlavors, storage: { virtual } }] },
    });
    await workspaceRequests.expectSuccess(
      bob,
      "POST",
      `${cacheOf(provider)}/clustercachedresourceendpointslices`,
      {
        metadata: { name: "flavors" },
        spec: { clusterCachedResource: { name: "flavors" }, export: { name: "compute" } },
      },
    );
    const rules = [{ ...bindRule, resourceNames: ["compute"] }];
    await workspaceRequests.allow(bob, provider, "bind", {
      rules,
      subjects: [userSubject("alice")],
    });
    await workspaceRequests.expectSuccess(
      alice,
      "POST",
      `${apisOf(consumer)}/apibindings`,
      bindingTo(provider, "compute"),
    );
  });
  after(() => plane.close());

  it("are read by consumers in their own workspace, and changed by none of them", async () => {
    await eventually(async () =>
      assert.deepEqual(await workspaceRequests.names(alice, flavorsIn(consumer)), ["small"]),
    );
    const small = `${flavorsIn(consumer)}/small`;
    const { metadata } = await workspaceRequests.expectSuccess(alice, "GET", small);
    const { annotations } = metadata as unknown as { annotations: Record<string, string> };
    assert.equal(annotations["kcp.io/cluster"], consumer);
    assert.equal((await workspaceRequests.request(alice, "DELETE", small)).status, 405);
    assert.equal(
      (await workspaceRequests.request(alice, "GET", `${flavorsIn(consumer)}/internal`)).status,
      404,
    );
    assert.equal((await workspaceRequests.request(alice, "GET", flavorsIn(provider))).status, 403);
  });

  it("are served at the URL of the slice to those who may use the export's content", async () => {
    const path = `${cacheOf(provider)}/clustercachedresourceendpointslices/flavors`;
    const url = await eventually(async () => {
      const { status } = (await workspaceRequests.expectSuccess(bob, "GET", path)) as unknown as {
        status: { endpoints: readonly { url: string }[] };
      };
      assert.equal(status.endpoints.length, 1);
      return status.endpoints[0]?.url ?? "";
    });
    const { pathname } = new URL(url);
    assert.equal(pathname, `/services/replication/${provider}/flavors`);
    const at = `${pathname}${flavorsIn(consumer)}`;
    assert.deepEqual(await workspaceRequests.names(bob, at), ["small"]);
    const refused = await workspaceRequests.request(alice, "GET", at);
    const unknown = await workspaceRequests.request(
      alice,
      "GET",
      at.replace("/flavors/clusters", "/x/clusters"),
    );
    assert.equal(refused.status, 403);
    assert.deepEqual(refused.body, unknown.body);
  });

  it("are limited by the maximal permission policy of the export", async () => {
    const path = `${apisOf(provider)}/apiexports/compute`;
    const exported = await workspaceRequests.expectSuccess(bob, "GET", path);
    const spec = { ...(exported["spec"] as object), maximalPermissionPolicy: { local: {} } };
    await workspaceRequests.expectSuccess(bob, "PUT", path, { ...exported, spec });
    const ask = async (rest: string) =>
      (await workspaceRequests.request(alice, "GET", `${flavorsIn(consumer)}${rest}`)).status;
    await eventually(async () => assert.equal(await ask(""), 403));
    const rules = [{ apiGroups: ["cloud.example.com"], resources: ["flavors"], verbs: ["list"] }];
    const subjects = [userSubject("apis.kcp.io:binding:alice")];
    await workspaceRequests.allow(bob, provider, "consumers", { rules, subjects });
    await eventually(async () => assert.equal(await ask(""), 200));
    assert.equal(await ask("/small"), 403);
  });

  it("stay when a workspace that reads them is deleted", async () => {
    await workspaceRequests.expectSuccess(
      admin,
      "DELETE",
      "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/consumer",
    );
    await eventually(async () => {
      const path = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/consumer";
      assert.equal((await workspaceRequests.request(admin, "GET", path)).status, 404);
    });
    assert.deepEqual(await workspaceRequests.names(bob, flavorsIn(provider)), [
      "internal",
      "small",
    ]);
  });
});
