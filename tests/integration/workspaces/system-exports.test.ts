/**
 * Goal: what kcp exports from root can be bound to, claimed and listed by its identity, and costs a
 * workspace nothing.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { bind, bindingTo, exportCowboys, identityOf } from "./cowboys.ts";
import { admin, alice, bob, master } from "./workspace-fixture.ts";
import { type AnyResponse, apisOf, tenancyOf, WorkspaceRequests } from "./workspace-requests.ts";

const names = ["cache.kcp.io", "shards.core.kcp.io", "tenancy.kcp.io", "topology.kcp.io"];
const named = ({ items = [] }: AnyResponse) => items.map(({ metadata }) => metadata.name);
const child = (name: string) => ({
  metadata: { name },
  spec: { type: { name: "universal", path: "root" } },
});

describe("exports of root", () => {
  let plane: TestControlPlane;
  let workspaceRequests: WorkspaceRequests;
  before(async () => {
    plane = await startTestControlPlane();
    workspaceRequests = new WorkspaceRequests(plane);
    await workspaceRequests.allowWorkspaceCreation(admin);
  });
  after(() => plane.close());

  it("are those of kcp, each with an identity of its own, and root is bound to them", async () => {
    assert.deepEqual(await workspaceRequests.names(admin, `${apisOf("root")}/apiexports`), names);
    const hashes = await Promise.all(
      names.map((name) => identityOf(workspaceRequests, admin, "root", name)),
    );
    for (const hash of hashes) assert.match(hash, /^[0-9a-f]{64}$/);
    assert.equal(new Set(hashes).size, names.length);
    await eventually(async () => {
      const bindings = await workspaceRequests.expectSuccess(
        admin,
        "GET",
        `${apisOf("root")}/apibindings`,
      );
      assert.deepEqual(named(bindings), names);
      for (const { status } of bindings.items ?? []) assert.equal(status?.phase, "Bound");
    });
    const schemas = `${apisOf("root", "v1alpha1")}/apiresourceschemas`;
    assert.equal((await workspaceRequests.names(admin, schemas)).length, 8);
    const roles = await workspaceRequests.names(
      admin,
      "/clusters/root/apis/rbac.authorization.k8s.io/v1/clusterroles",
    );
    const ofExports = roles.filter((name) => name.startsWith("system:kcp:apiexport:"));
    assert.equal(ofExports.length, 5);
  });

  it("are the same after the next start, with the schemas of that server", async () => {
    const path = `${apisOf("root")}/apiexports/tenancy.kcp.io`;
    const before = await workspaceRequests.expectSuccess(admin, "GET", path);
    await plane.server.bootstrap("https://localhost:6443");
    const after = await workspaceRequests.expectSuccess(admin, "GET", path);
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    await workspaceRequests.expectSuccess(admin, "PATCH", path, { spec: { resources: [] } });
    await plane.server.bootstrap("https://localhost:6443");
    const mended = await workspaceRequests.expectSuccess(admin, "GET", path);
    assert.deepEqual(mended["spec"], before["spec"]);
    assert.deepEqual(mended["status"], before["status"]);
  });

  it("are bound to at once by any user, any number of times, and need no permission claims", async () => {
    const cluster = await workspaceRequests.workspace(alice, "binds");
    const path = `${apisOf(cluster)}/apibindings`;
    assert.deepEqual(await workspaceRequests.names(alice, path), [], "nothing is stored by itself");
    const identityHash = await identityOf(workspaceRequests, admin, "root", "tenancy.kcp.io");
    for (const name of ["tenancy.kcp.io", "again"]) {
      const body = { ...bindingTo("root", "tenancy.kcp.io"), metadata: { name } };
      const { status } = await workspaceRequests.expectSuccess(alice, "POST", path, body);
      assert.equal(status.phase, "Bound");
      const bound = status.boundResources as { resource: string; schema: object }[];
      assert.deepEqual(
        bound.map(({ resource }) => resource),
        ["workspaceauthenticationconfigurations", "workspaces", "workspacetypes"],
      );
      for (const { schema } of bound)
        assert.equal((schema as { identityHash: string }).identityHash, identityHash);
    }
    await bind(workspaceRequests, alice, cluster, bindingTo("root", "topology.kcp.io"));
    await workspaceRequests.expectSuccess(
      alice,
      "POST",
      `${tenancyOf(cluster)}/workspaces`,
      child("below"),
    );
    for (const name of ["tenancy.kcp.io", "again"])
      await workspaceRequests.expectSuccess(alice, "DELETE", `${path}/${name}`);
    await eventually(async () =>
      assert.deepEqual(await workspaceRequests.names(alice, path), ["topology.kcp.io"]),
    );
    const below = await workspaceRequests.expectSuccess(
      alice,
      "GET",
      `${tenancyOf(cluster)}/workspaces/below`,
    );
    assert.equal(below.metadata["deletionTimestamp"], undefined);
  });

  it("can be bound to by those who may: shards are for administrators", async () => {
    const cluster = await workspaceRequests.workspace(alice, "no-shards");
    const body = bindingTo("root", "shards.core.kcp.io");
    const refused = await workspaceRequests.request(
      alice,
      "POST",
      `${apisOf(cluster)}/apibindings`,
      body,
    );
    assert.equal(refused.status, 403);
    assert.match(String(refused.body.message), /no permission to bind to export root:shards/);
  });

  it("have identities that name their kinds, in all logical clusters and in one", async () => {
    await workspaceRequests.workspace(alice, "named");
    const hash = await identityOf(workspaceRequests, admin, "root", "tenancy.kcp.io");
    const all = await workspaceRequests.names(master, `${tenancyOf("*")}/workspaces:${hash}`);
    assert.ok(all.includes("named"));
    const types = await workspaceRequests.names(
      admin,
      `${tenancyOf("root")}/workspacetypes:${hash}`,
    );
    assert.equal(types.length, 5);
    const shards = await identityOf(workspaceRequests, admin, "root", "shards.core.kcp.io");
    const path = `/clusters/*/apis/core.kcp.io/v1alpha1/shards:${shards}`;
    assert.deepEqual(await workspaceRequests.names(master, path), ["root"]);
    const other = await workspaceRequests.request(
      master,
      "GET",
      `${tenancyOf("root")}/workspaces:${shards}`,
    );
    assert.equal(other.status, 404);
  });

  it("have identities that providers claim workspaces by, within the policy of root", async () => {
    const [provider, consumer] = [
      await workspaceRequests.workspace(bob, "provider"),
      await workspaceRequests.workspace(alice, "consumer"),
    ];
    const identityHash = await identityOf(workspaceRequests, admin, "root", "tenancy.kcp.io");
    const claimed = { group: "tenancy.kcp.io", resource: "workspaces", identityHash };
    const claim = { ...claimed, verbs: ["*"] };
    await exportCowboys(workspaceRequests, bob, provider, { permissionClaims: [claim] });
    const below = `${tenancyOf(consumer)}/workspaces`;
    await workspaceRequests.expectSuccess(alice, "POST", below, child("early"));
    const accepted = { ...claim, selector: { matchAll: true }, state: "Accepted" };
    const made = await bind(
      workspaceRequests,
      alice,
      consumer,
      bindingTo(provider, "cowboys", [accepted]),
    );
    assert.equal(made["status"].phase, "Bound");
    await workspaceRequests.expectSuccess(alice, "POST", below, child("late"));
    const view = `/services/apiexport/${provider}/cowboys/clusters`;
    const path = "apis/tenancy.kcp.io/v1alpha1/workspaces";
    await eventually(async () =>
      assert.deepEqual(await workspaceRequests.names(bob, `${view}/*/${path}`), ["early", "late"]),
    );
    const seen = { metadata: { annotations: { seen: "yes" } } };
    await workspaceRequests.expectSuccess(bob, "PATCH", `${view}/${consumer}/${path}/late`, seen);
    const status = { status: { phase: "Scheduling" } };
    const refused = await workspaceRequests.request(
      bob,
      "PATCH",
      `${view}/${consumer}/${path}/late/status`,
      status,
    );
    assert.equal(refused.status, 403, "the policy of root lets nobody write a status");
  });

  it("have virtual workspaces for those who may use them in root", async () => {
    const cluster = await workspaceRequests.workspace(alice, "seen");
    await workspaceRequests.expectSuccess(
      alice,
      "POST",
      `${tenancyOf(cluster)}/workspaces`,
      child("below"),
    );
    const view = "/services/apiexport/root/tenancy.kcp.io/clusters";
    const path = "apis/tenancy.kcp.io/v1alpha1/workspaces";
    assert.ok((await workspaceRequests.names(admin, `${view}/*/${path}`)).includes("below"));
    assert.deepEqual(await workspaceRequests.names(admin, `${view}/${cluster}/${path}`), ["below"]);
    assert.equal(
      (await workspaceRequests.request(admin, "GET", `${view}/nowhere/${path}`)).status,
      403,
    );
    assert.equal((await workspaceRequests.request(alice, "GET", `${view}/*/${path}`)).status, 403);
  });
});
