/**
 * Goal: the tenant who owns a workspace type's controllers acts, in a workspace of that type, as
 * the workspace's creator; and gains nothing beyond that workspace, whichever user created it. Nor
 * does a tenant who sets the logical cluster of a Workspace gain access to, or break, another
 * tenant's cluster.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { eventually } from "@kcp-ts/testkit";
import { AttackFixture, admin, alice, master, vera, victimSecret } from "./attack-fixture.ts";

const workspaces = "apis/tenancy.kcp.io/v1alpha1/workspaces";
const secrets = "api/v1/namespaces/default/secrets";
const logical = "apis/core.kcp.io/v1alpha1/logicalclusters/cluster";
const merge = "application/merge-patch+json";
const ownerKey = "experimental.tenancy.kcp.io/owner";

let fixture: AttackFixture;
before(async () => {
  fixture = await AttackFixture.start();
  const types = `/clusters/${fixture.attackerCluster}/apis/tenancy.kcp.io/v1alpha1/workspacetypes`;
  const spec = { initializer: true, terminator: true };
  await fixture.expectSuccess(alice, "POST", types, { body: { metadata: { name: "trap" }, spec } });
});
after(() => fixture.close());

const made = async (who: UserInfo, name: string, annotations: object = {}) => {
  const body = {
    metadata: { name, annotations },
    spec: { type: { name: "trap", path: "root:org:mine" } },
  };
  const path = `/clusters/root:org:mine/${workspaces}`;
  const { spec } = await fixture.expectSuccess<{ spec: { cluster: string } }>(who, "POST", path, {
    body,
  });
  return spec.cluster;
};
const through = (service: string, cluster: string, path: string) =>
  `/services/${service}/${fixture.attackerCluster}:trap/clusters/${cluster}/${path}`;
const review = "apis/authentication.k8s.io/v1/selfsubjectreviews";
const unknown = (cluster: string) =>
  new RegExp(`LogicalCluster ${cluster}\\|cluster had no createdBy recorded`);

/** Its initializers are done, it is deleted, and it waits for its terminators. */
async function terminating(name: string, cluster: string): Promise<void> {
  const path = through("initializingworkspaces", cluster, `${logical}/status`);
  await fixture.expectSuccess(alice, "PATCH", path, {
    type: merge,
    body: { status: { initializers: [] } },
  });
  await fixture.expectSuccess(master, "DELETE", `/clusters/root:org:mine/${workspaces}/${name}`);
  await eventually(async () => {
    const { text } = await fixture.send(master, "GET", `/clusters/${cluster}/${logical}`);
    assert.match(text, /"phase":"Terminating"/);
  });
}

describe("the controller of a type", () => {
  it("acts for no owner in a workspace that a member of system:masters created", async () => {
    const cluster = await made(master, "of-master");
    const { text: stored } = await fixture.send(master, "GET", `/clusters/${cluster}/${logical}`);
    assert.doesNotMatch(stored, /createdBy/);
    const refused = async (service: string) => {
      for (const path of ["api/v1/namespaces", workspaces]) {
        const { status, text } = await fixture.send(alice, "GET", through(service, cluster, path));
        assert.equal(status, 500, text);
        assert.match(text, unknown(cluster));
      }
    };
    await refused("initializingworkspaces");
    await terminating("of-master", cluster);
    await refused("terminatingworkspaces");
  });

  it("acts for no owner where a member of system:masters names a member of system:masters as the owner", async () => {
    const owner = { username: "master", groups: ["system:masters", "system:authenticated"] };
    const cluster = await made(master, "named", { [ownerKey]: JSON.stringify(owner) });
    const path = through("initializingworkspaces", cluster, "api/v1/namespaces");
    const { status, text } = await fixture.send(alice, "GET", path);
    assert.equal(status, 500, text);
    assert.match(text, unknown(cluster));
  });

  it("acts for the owner whom a member of system:masters names", async () => {
    const owner = { username: "vera", groups: ["system:authenticated"] };
    const cluster = await made(master, "for-vera", { [ownerKey]: JSON.stringify(owner) });
    const path = through("initializingworkspaces", cluster, review);
    const { text } = await fixture.send(alice, "POST", path, { body: {} });
    assert.match(text, /"username":"vera"/);
    await made(master, "for-nobody", { [ownerKey]: "not JSON" });
  });

  it("has no group with power over all workspaces by an administrator who made one", async () => {
    const cluster = await made(admin, "of-admin");
    const path = through("initializingworkspaces", cluster, review);
    const { text } = await fixture.send(alice, "POST", path, { body: {} });
    assert.match(text, /"username":"kcp-admin"/);
    assert.match(text, /"system:authenticated"/);
    assert.doesNotMatch(text, /system:kcp:admin/);
  });

  it("has no warrant by who made it", async () => {
    const warrant = JSON.stringify({ user: "v", groups: ["system:masters"] });
    const tainted: UserInfo = { ...alice, extra: { "authorization.kcp.io/warrant": [warrant] } };
    const cluster = await made(tainted, "warranted");
    const path = through("initializingworkspaces", cluster, review);
    const { text } = await fixture.send(alice, "POST", path, { body: {} });
    assert.match(text, /"username":"alice"/);
    assert.doesNotMatch(text, /warrant/);
  });
});

describe("a member of system:masters within a scope", () => {
  const scoped: UserInfo = {
    ...master,
    extra: { "authentication.kcp.io/scopes": ["cluster:elsewhere"] },
  };

  it("has no permissions outside of the scope", async () => {
    for (const path of [
      `/clusters/${fixture.victimCluster}/${secrets}`,
      "/clusters/*/api/v1/secrets",
      "/clusters/system:admin/api/v1/namespaces",
    ]) {
      const { status, text } = await fixture.send(scoped, "GET", path);
      assert.equal(status, 403, `${path}: ${text}`);
      assert.ok(!text.includes(victimSecret), text);
    }
  });

  it("does not say in it which logical cluster a Workspace has", async () => {
    const here = {
      ...scoped.extra,
      "authentication.kcp.io/scopes": [`cluster:${fixture.attackerCluster}`],
    };
    const path = `/clusters/${fixture.attackerCluster}/${workspaces}`;
    const body = { metadata: { name: "w" }, spec: { cluster: "some-new-name" } };
    const { status, text } = await fixture.send({ ...scoped, extra: here }, "POST", path, { body });
    assert.equal(status, 403, text);
    assert.match(text, /spec.cluster cannot be set/);
  });
});

describe("a Workspace that is to have a certain logical cluster", () => {
  const path = `/clusters/root:org/${workspaces}`;
  const asked = (name: string, cluster: string) =>
    fixture.send(master, "POST", path, {
      body: {
        metadata: { name, annotations: { [ownerKey]: JSON.stringify({ username: "alice" }) } },
        spec: { cluster },
      },
    });
  const isWhole = async () => {
    const found = await fixture.send(vera, "GET", `/clusters/${fixture.victimCluster}/${secrets}`);
    assert.ok(found.text.includes(victimSecret), found.text);
    await fixture.expectSuccess(vera, "GET", `/clusters/${fixture.victimCluster}/${logical}`);
  };

  it("is refused when that is another's", async () => {
    for (const cluster of [fixture.victimCluster, "root"]) {
      const { status, text } = await asked("thief", cluster);
      assert.equal(status, 403, text);
      assert.match(text, new RegExp(`the logical cluster ${cluster} exists already`));
    }
    await isWhole();
    const entered = `/clusters/${fixture.victimCluster}/${secrets}`;
    assert.equal((await fixture.send(alice, "GET", entered)).status, 403);
  });

  it("has one under a new name, with what is there already", async () => {
    const kept = "/clusters/chosen/api/v1/namespaces/default/configmaps";
    await fixture.expectSuccess(master, "POST", kept, { body: { metadata: { name: "kept" } } });
    assert.equal((await asked("chosen", "chosen")).status, 201);
    assert.equal((await fixture.send(alice, "GET", `${kept}/kept`)).status, 200);
    assert.equal((await asked("chosen-again", "chosen")).status, 403);

    await fixture.expectSuccess(master, "DELETE", `${path}/chosen`);
    await eventually(async () => {
      assert.equal((await fixture.send(master, "GET", `${path}/chosen`)).status, 404);
    });
    const { text } = await fixture.send(master, "GET", "/clusters/*/api/v1/configmaps");
    assert.doesNotMatch(text, /"name":"kept"/);
  });

  it("goes without it when it has become another's", async () => {
    assert.equal((await asked("first", "handed-on")).status, 201);
    const kept = "/clusters/handed-on/api/v1/namespaces/default/configmaps";
    await fixture.expectSuccess(master, "DELETE", `/clusters/handed-on/${logical}`);
    await eventually(async () => {
      const found = await fixture.send(master, "GET", `/clusters/handed-on/${logical}`);
      assert.equal(found.status, 404);
    });
    assert.equal((await asked("second", "handed-on")).status, 201);
    await fixture.expectSuccess(alice, "POST", kept, { body: { metadata: { name: "kept" } } });

    await fixture.expectSuccess(master, "DELETE", `${path}/first`);
    await eventually(async () => {
      assert.equal((await fixture.send(master, "GET", `${path}/first`)).status, 404);
    });
    const found = await fixture.expectSuccess<{ metadata: object }>(
      alice,
      "GET",
      `/clusters/handed-on/${logical}`,
    );
    assert.ok(!("deletionTimestamp" in found.metadata));
    await fixture.expectSuccess(alice, "GET", `${kept}/kept`);
  });
});
