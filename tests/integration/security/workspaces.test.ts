/**
 * Goal: what workspaces are, where they are and who somebody is in them is not to be bent from inside one, and what is about the whole
 * process is the operator's.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { attempts } from "./attempts.ts";
import { AttackFixture, admin, alice, mallory, master, vera } from "./besieged.ts";

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

let besieged: AttackFixture;
before(async () => {
  besieged = await AttackFixture.start();
  await besieged.must(
    master,
    "POST",
    "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
    {
      body: { metadata: { name: "private" }, spec: {} },
    },
  );
});
after(() => besieged.close());

describe("the tree of workspaces stays the system's", () => {
  const logical = `${mine}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
  const workspace = "/clusters/root:org/apis/tenancy.kcp.io/v1alpha1/workspaces";
  const annotated = (key: string, value: string | null) => ({
    who: alice,
    request: ["PATCH", logical] as const,
    sent: { type: merge, body: { metadata: { annotations: { [key]: value } } } },
    says: new RegExp(`annotation ${key} is immutable`),
  });
  attempts(() => besieged, {
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
      says: /status.URL is immutable/,
    },
    "a workspace cannot be made to lead to the neighbour's cluster": {
      who: alice,
      request: ["POST", workspace],
      sent: { body: { metadata: { name: "w1" }, spec: { cluster: "theirs" } } },
      says: /spec.cluster cannot be set/,
    },
    "nor be turned to it": {
      who: alice,
      request: ["PATCH", `${workspace}/mine`],
      sent: { type: merge, body: { spec: { cluster: "theirs" } } },
      says: /spec.cluster is immutable/,
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
      says: /spec.cluster is immutable/,
    },
    "a logical cluster is not made by using a new name": {
      who: mallory,
      request: ["POST", "/clusters/mallorys/api/v1/namespaces"],
      sent: { body: { metadata: { name: "n" } } },
      says: /access denied/,
    },
    "nor by an administrator of a workspace": {
      who: alice,
      request: ["POST", "/clusters/alices/api/v1/namespaces"],
      sent: { body: { metadata: { name: "n" } } },
      says: /access denied/,
    },
    "nor by a LogicalCluster object": {
      who: alice,
      request: ["POST", `${mine}/apis/core.kcp.io/v1alpha1/logicalclusters`],
      sent: { body: { metadata: { name: "cluster" } } },
      says: /LogicalCluster cannot be created/,
    },
    "a type that one may not use is not used": {
      who: alice,
      request: ["POST", `${mine}/apis/tenancy.kcp.io/v1alpha1/workspaces`],
      sent: {
        body: { metadata: { name: "w" }, spec: { type: { name: "private", path: "root" } } },
      },
      says: /missing verb='use' permission/,
    },
    "shards are the operator's": {
      who: alice,
      request: ["GET", "/clusters/root/apis/core.kcp.io/v1alpha1/shards"],
      says: /cannot list/,
    },
  });

  it("the status of a workspace does not carry another cluster in", async () => {
    await besieged.send(alice, "PATCH", `${workspace}/mine/status`, {
      type: merge,
      body: {
        spec: { cluster: besieged.theirs },
        metadata: { annotations: { "internal.tenancy.kcp.io/cluster": besieged.theirs } },
      },
    });
    const { text } = await besieged.send(alice, "GET", `${workspace}/mine`);
    assert.ok(!text.includes(besieged.theirs), text);
  });

  it("the administrator of everything may say who must be let in", async () => {
    const key = "authorization.kcp.io/required-groups";
    for (const value of ["staff", null]) {
      const body = { metadata: { annotations: { [key]: value } } };
      await besieged.must(admin, "PATCH", logical, { type: merge, body });
    }
  });
});

describe("who was named in another workspace is nobody here", () => {
  const scopes = (cluster: string) => ({
    "authentication.kcp.io/scopes": [`cluster:${cluster}`],
  });
  const home = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~";
  const namesake = (): UserInfo => ({ ...vera, extra: scopes(besieged.mine) });
  const account = (groups: readonly string[] = []): UserInfo => ({
    username: "system:serviceaccount:default:default",
    groups: ["system:serviceaccounts", "system:authenticated", ...groups],
    extra: {
      ...scopes(besieged.mine),
      "authentication.kcp.io/cluster-name": [besieged.mine],
    },
  });

  it("a certificate's common name opens nothing of the user whose name it is", async () => {
    const { status } = await besieged.send(namesake(), "GET", `${theirs}/api/v1/secrets`);
    assert.equal(status, 403);
  });

  it("a namesake does not get the user's home, nor has it made", async () => {
    for (const who of [namesake(), account()]) {
      const { status, text } = await besieged.send(who, "GET", home);
      assert.equal(status, 403);
      assert.match(text, /workspace access not permitted/);
    }
    assert.equal((await besieged.send(vera, "GET", home)).status, 200);
  });

  it("groups and accounts of another workspace do not pass required groups", async () => {
    const key = "authorization.kcp.io/required-groups";
    const logical = `${theirs}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
    const binding = {
      metadata: { name: "open" },
      roleRef: roleRef("system:kcp:workspace:access"),
      subjects: [subject("system:authenticated", "Group")],
    };
    await besieged.must(vera, "POST", `${theirs}/${rbac}/clusterrolebindings`, { body: binding });
    await besieged.must(admin, "PATCH", logical, {
      type: merge,
      body: { metadata: { annotations: { [key]: "club" } } },
    });
    const member = { username: "m", groups: ["club", "system:authenticated"] };
    const abroad = { ...member, extra: scopes(besieged.mine) };
    const codes = [];
    for (const who of [member, abroad, account(), account(["club"]), mallory])
      codes.push((await besieged.send(who, "GET", `${theirs}/api`)).status);
    assert.deepEqual(codes, [200, 403, 403, 403, 403]);
    await besieged.must(admin, "PATCH", logical, {
      type: merge,
      body: { metadata: { annotations: { [key]: null } } },
    });
  });
});

describe("what is about the whole process is the operator's", () => {
  attempts(() => besieged, {
    "the metrics, to an administrator of a workspace": {
      who: alice,
      request: ["GET", "/metrics"],
      says: /cannot get path/,
    },
    "the metrics below a workspace": {
      who: alice,
      request: ["GET", `${mine}/metrics`],
      code: 501,
      says: /not available at workspace scope/,
    },
    "a backup, even to the administrator of everything": {
      who: admin,
      request: ["GET", "/backup"],
      says: /only members of system:masters/,
    },
    "a backup below a workspace": {
      who: alice,
      request: ["GET", `${mine}/backup`],
      code: 404,
      says: /could not find/,
    },
    "debug endpoints, which do not exist": {
      who: master,
      request: ["GET", "/debug/pprof/heap"],
      code: 404,
      says: /could not find/,
    },
    "log files, which do not exist either": {
      who: master,
      request: ["GET", "/logs/"],
      code: 404,
      says: /could not find/,
    },
  });
});
