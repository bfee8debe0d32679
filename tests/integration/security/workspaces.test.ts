/**
 * Goal: the identity, the location and the users of a workspace cannot be manipulated from inside a
 * workspace, and operations on the process are the operator's.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { AttackFixture, admin, alice, mallory, master, vera } from "./attack-fixture.ts";
import { attempts } from "./attempts.ts";

const rbac = "apis/rbac.authorization.k8s.io/v1";
const mine = "/clusters/root:org:mine";
const theirs = "/clusters/root:org:theirs";
const roleRef = (name: string, kind = "ClusterRole") => ({
  apiGroup: "rbac.authorization.k8s.io",
  kind,
  name,
});
const subject = (name: string, kind = "User") => ({
  apiGroup: "rbac.authorization.k8s.io",
  kind,
  name,
});
const merge = "application/merge-patch+json";
const apply = "application/apply-patch+yaml";

let fixture: AttackFixture;
before(async () => {
  fixture = await AttackFixture.start();
  await fixture.expectSuccess(
    master,
    "POST",
    "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
    { body: { metadata: { name: "private" }, spec: {} } },
  );
});
after(() => fixture.close());

describe("the tree of workspaces stays the system's", () => {
  const logical = `${mine}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
  const workspace = "/clusters/root:org/apis/tenancy.kcp.io/v1alpha1/workspaces";
  const annotated = (key: string, value: string | null) => ({
    who: alice,
    request: ["PATCH", logical] as const,
    sent: { type: merge, body: { metadata: { annotations: { [key]: value } } } },
    message: new RegExp(`annotation ${key} is immutable`),
  });
  attempts(() => fixture, {
    "a workspace cannot say that it is elsewhere": annotated("kcp.io/path", "root"),
    "nor of another type": annotated("internal.tenancy.kcp.io/type", "root:root"),
    "nor somebody else's": annotated("experimental.tenancy.kcp.io/owner", "{}"),
    "nor whom it lets in": annotated("authorization.kcp.io/required-groups", "x"),
    "nor whether it is closed": annotated("core.kcp.io/inactive", "true"),
    "nor forget where it is": annotated("kcp.io/path", null),
    "nor at which address": {
      who: alice,
      request: ["PATCH", `${logical}/status`],
      sent: { type: merge, body: { status: { URL: "https://evil.example" } } },
      message: /status.URL is immutable/,
    },
    "a workspace cannot be made to lead to the neighbour's cluster": {
      who: alice,
      request: ["POST", workspace],
      sent: { body: { metadata: { name: "w1" }, spec: { cluster: "theirs" } } },
      message: /spec.cluster cannot be set/,
    },
    "nor be turned to it": {
      who: alice,
      request: ["PATCH", `${workspace}/mine`],
      sent: { type: merge, body: { spec: { cluster: "theirs" } } },
      message: /spec.cluster is immutable/,
    },
    "nor by a forced apply": {
      who: alice,
      request: ["PATCH", `${workspace}/mine?fieldManager=x&force=true`],
      sent: {
        type: apply,
        body: {
          apiVersion: "tenancy.kcp.io/v1alpha1",
          kind: "Workspace",
          metadata: { name: "mine" },
          spec: { cluster: "theirs" },
        },
      },
      message: /spec.cluster is immutable/,
    },
    "a logical cluster is not made by using a new name": {
      who: mallory,
      request: ["POST", "/clusters/mallorys/api/v1/namespaces"],
      sent: { body: { metadata: { name: "n" } } },
      message: /access denied/,
    },
    "nor by an administrator of a workspace": {
      who: alice,
      request: ["POST", "/clusters/alices/api/v1/namespaces"],
      sent: { body: { metadata: { name: "n" } } },
      message: /access denied/,
    },
    "nor by a LogicalCluster object": {
      who: alice,
      request: ["POST", `${mine}/apis/core.kcp.io/v1alpha1/logicalclusters`],
      sent: { body: { metadata: { name: "cluster" } } },
      message: /LogicalCluster cannot be created/,
    },
    "a type that one may not use is not used": {
      who: alice,
      request: ["POST", `${mine}/apis/tenancy.kcp.io/v1alpha1/workspaces`],
      sent: {
        body: { metadata: { name: "w" }, spec: { type: { name: "private", path: "root" } } },
      },
      message: /missing verb='use' permission/,
    },
    "shards are the operator's": {
      who: alice,
      request: ["GET", "/clusters/root/apis/core.kcp.io/v1alpha1/shards"],
      message: /cannot list/,
    },
  });

  it("the status of a workspace does not carry another cluster in", async () => {
    await fixture.send(alice, "PATCH", `${workspace}/mine/status`, {
      type: merge,
      body: {
        spec: { cluster: fixture.victimCluster },
        metadata: { annotations: { "internal.tenancy.kcp.io/cluster": fixture.victimCluster } },
      },
    });
    const { text } = await fixture.send(alice, "GET", `${workspace}/mine`);
    assert.ok(!text.includes(fixture.victimCluster), text);
  });

  it("the administrator of everything may say who must be let in", async () => {
    const key = "authorization.kcp.io/required-groups";
    for (const value of ["staff", null]) {
      const body = { metadata: { annotations: { [key]: value } } };
      await fixture.expectSuccess(admin, "PATCH", logical, { type: merge, body });
    }
  });
});

describe("a user or service account that is known in one workspace has no identity in another", () => {
  const scopes = (cluster: string) => ({ "authentication.kcp.io/scopes": [`cluster:${cluster}`] });
  const home = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~";
  const namesake = (): UserInfo => ({ ...vera, extra: scopes(fixture.attackerCluster) });
  const account = (groups: readonly string[] = []): UserInfo => ({
    username: "system:serviceaccount:default:default",
    groups: ["system:serviceaccounts", "system:authenticated", ...groups],
    extra: {
      ...scopes(fixture.attackerCluster),
      "authentication.kcp.io/cluster-name": [fixture.attackerCluster],
    },
  });

  it("a certificate's common name opens nothing of the user whose name it is", async () => {
    const { status } = await fixture.send(namesake(), "GET", `${theirs}/api/v1/secrets`);
    assert.equal(status, 403);
  });

  it("a namesake does not get the user's home, nor has it made", async () => {
    for (const who of [namesake(), account()]) {
      const { status, text } = await fixture.send(who, "GET", home);
      assert.equal(status, 403);
      assert.match(text, /workspace access not permitted/);
    }
    assert.equal((await fixture.send(vera, "GET", home)).status, 200);
  });

  it("groups and accounts of another workspace do not pass required groups", async () => {
    const key = "authorization.kcp.io/required-groups";
    const logical = `${theirs}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
    const binding = {
      metadata: { name: "open" },
      roleRef: roleRef("system:kcp:workspace:access"),
      subjects: [subject("system:authenticated", "Group")],
    };
    await fixture.expectSuccess(vera, "POST", `${theirs}/${rbac}/clusterrolebindings`, {
      body: binding,
    });
    await fixture.expectSuccess(admin, "PATCH", logical, {
      type: merge,
      body: { metadata: { annotations: { [key]: "club" } } },
    });
    const member = { username: "m", groups: ["club", "system:authenticated"] };
    const abroad = { ...member, extra: scopes(fixture.attackerCluster) };
    const codes = [];
    for (const who of [member, abroad, account(), account(["club"]), mallory])
      codes.push((await fixture.send(who, "GET", `${theirs}/api`)).status);
    assert.deepEqual(codes, [200, 403, 403, 403, 403]);
    await fixture.expectSuccess(admin, "PATCH", logical, {
      type: merge,
      body: { metadata: { annotations: { [key]: null } } },
    });
  });
});

describe("what is about the whole process is the operator's", () => {
  attempts(() => fixture, {
    "the metrics, to an administrator of a workspace": {
      who: alice,
      request: ["GET", "/metrics"],
      message: /cannot get path/,
    },
    "the metrics below a workspace": {
      who: alice,
      request: ["GET", `${mine}/metrics`],
      code: 501,
      message: /not available at workspace scope/,
    },
    "a backup, even to the administrator of everything": {
      who: admin,
      request: ["GET", "/backup"],
      message: /only members of system:masters/,
    },
    "a backup below a workspace": {
      who: alice,
      request: ["GET", `${mine}/backup`],
      code: 404,
      message: /could not find/,
    },
    "debug endpoints, which do not exist": {
      who: master,
      request: ["GET", "/debug/pprof/heap"],
      code: 404,
      message: /could not find/,
    },
    "log files, which do not exist either": {
      who: master,
      request: ["GET", "/logs/"],
      code: 404,
      message: /could not find/,
    },
  });
});
