import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { grantsOf, matrixOfResource, matrixOfRules, whoMayEnter } from "./access-rules.ts";

const rbac = "rbac.authorization.k8s.io";
const bind = (name: string, role: string, subject: object, namespace?: string) => ({
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  roleRef: {
    apiGroup: rbac,
    kind: role.startsWith("role:") ? "Role" : "ClusterRole",
    name: role.replace("role:", ""),
  },
  subjects: [subject],
});
const user = (name: string) => ({ kind: "User", name });
const policy = {
  clusterRoles: [
    {
      metadata: { name: "reader" },
      rules: [{ verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] }],
    },
    { metadata: { name: "enter" }, rules: [{ verbs: ["access"], nonResourceURLs: ["/"] }] },
    {
      metadata: { name: "exec" },
      rules: [{ verbs: ["create"], apiGroups: [""], resources: ["pods/exec"] }],
    },
  ],
  roles: [
    {
      metadata: { name: "writer", namespace: "shop" },
      rules: [
        { verbs: ["*"], apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["web"] },
      ],
    },
  ],
  clusterRoleBindings: [
    bind("a", "reader", user("ann")),
    bind("b", "cluster-admin", { kind: "Group", name: "admins" }),
    bind("c", "view", user("vic")),
    bind("d", "enter", user("ann")),
  ],
  roleBindings: [
    bind("e", "role:writer", { kind: "ServiceAccount", name: "bot" }, "shop"),
    bind("f", "reader", user("bob"), "shop"),
    bind("g", "exec", user("bob"), "shop"),
    // Another namespace's role of the same name.
    bind("h", "role:writer", user("eve"), "other"),
  ],
};
const grants = grantsOf(policy as never);
const table = (rows: ReturnType<typeof matrixOfResource>) =>
  rows.map(({ title, cells, note }) => [title, Object.fromEntries(cells), note]);

describe("the matrix of access", () => {
  it("says for a kind who may do what, and where", () => {
    const all = Object.fromEntries(
      ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"].map(
        (verb) => [verb, "everywhere"],
      ),
    );
    const unknown = ["User eve", {}, "and by the role other/writer of the server"];
    const viewer = ["User vic", {}, "and by the role view of the server"];
    assert.deepEqual(table(matrixOfResource(grants, "configmaps")), [
      ["User ann", { get: "everywhere", list: "everywhere" }, ""],
      ["Group admins", all, ""],
      viewer,
      ["User bob", { get: "shop", list: "shop" }, ""],
      unknown,
    ]);
    const ofDeployments = matrixOfResource(grants, "deployments.apps");
    const bot = ofDeployments.find(({ title }) => title === "ServiceAccount shop/bot");
    assert.equal(bot?.cells.get("delete"), "shop (web)");
    assert.equal(matrixOfResource(grants, "deployments").length, 3, "the group is part of a kind");
  });

  it("keeps a kind and its subresources apart", () => {
    const titles = (resource: string) =>
      matrixOfResource(grants, resource).map(({ title }) => title);
    assert.ok(titles("pods/exec").includes("User bob"));
    assert.ok(!titles("pods").includes("User bob"));
  });

  it("says for a subject what its rules name", () => {
    const ofBob = grants.filter(({ subject }) => subject.name === "bob");
    assert.deepEqual(table(matrixOfRules(ofBob)), [
      ["configmaps", { get: "shop", list: "shop" }, ""],
      ["pods/exec", { create: "shop" }, ""],
    ]);
  });

  it("says who may enter", () => {
    assert.deepEqual(whoMayEnter(grants), ["Group admins", "User ann"]);
  });
});
