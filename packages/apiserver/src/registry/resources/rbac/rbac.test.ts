/** The rules of RBAC objects, through the server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ObjectMeta } from "@kcp-ts/machinery/meta";
import { TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";

const group = "rbac.authorization.k8s.io";
const base = `/clusters/a/apis/${group}/v1`;
const inDefault = `${base}/namespaces/default`;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const metadata = { name: "x" };
const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] };

describe("roles", () => {
  itRejects(() => server, "POST", `${inDefault}/roles`, { metadata }, [
    [
      { rules: [{ ...rule, verbs: [] }] },
      "rules[0].verbs: Required value: verbs must contain at least one value",
    ],
    [
      { rules: [rule, { verbs: ["get"], resources: ["x"] }] },
      "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
    ],
    [
      { rules: [{ verbs: ["get"], apiGroups: [""] }] },
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
    [
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ],
    [{ metadata: { name: "a/b" } }, /^metadata\.name: Invalid value: "a\/b": may not contain '\/'/],
  ]);

  it("have null rules by default, with a manager only if the client sends an empty list", async () => {
    const owned = ({ metadata: { managedFields } }: { metadata: ObjectMeta }) =>
      (managedFields ?? []).map(({ fieldsV1 }) => fieldsV1);
    const path = `${base}/clusterroles`;
    const body = { metadata: { name: "none", labels: { a: "b" } } };
    const made = await server.requestOk("POST", path, { body });
    assert.equal(made["rules"], null);
    const labels = { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } };
    assert.deepEqual(owned(made), [labels]);
    const sent = await server.requestOk("POST", path, {
      body: { metadata: { name: "empty" }, rules: [] },
    });
    assert.equal(sent["rules"], null);
    assert.deepEqual(owned(sent), [{ "f:rules": {} }]);
    const filled = await server.requestOk("PUT", `${path}/none`, {
      body: { ...body, rules: [rule] },
    });
    assert.deepEqual([filled["rules"], owned(filled)], [[rule], [{ ...labels, "f:rules": {} }]]);
    const emptied = await server.requestOk("PUT", `${path}/none`, { body });
    assert.deepEqual([emptied["rules"], owned(emptied)], [null, [{ ...labels, "f:rules": {} }]]);
    const again = await server.requestOk("PUT", `${path}/none`, { body });
    assert.equal(again.metadata.resourceVersion, emptied.metadata.resourceVersion);
  });

  it("lose the rules that an apply no longer has", async () => {
    const path = `${inDefault}/roles/applied?fieldManager=m`;
    const headers = { "content-type": "application/apply-patch+yaml" };
    const body = { apiVersion: `${group}/v1`, kind: "Role", metadata: { name: "applied" } };
    const apply = (more: object) =>
      server.requestOk("PATCH", path, { body: { ...body, ...more }, headers });
    assert.equal((await apply({}))["rules"], null);
    assert.deepEqual((await apply({ rules: [rule] }))["rules"], [rule]);
    assert.equal((await apply({}))["rules"], null);
  });

  it("may have colons in their names", async () => {
    const body = { metadata: { name: "system:controller:x" }, rules: [rule] };
    assert.equal((await server.request("POST", `${inDefault}/roles`, { body })).status, 201);
    assert.equal((await server.get(`${inDefault}/roles/system:controller:x`)).status, 200);
  });
});

describe("cluster roles", () => {
  itRejects(() => server, "POST", `${base}/clusterroles`, { metadata }, [
    [
      { rules: [{ ...rule, nonResourceURLs: ["/x"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      { aggregationRule: {} },
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ],
    [
      {
        aggregationRule: {
          clusterRoleSelectors: [{ matchExpressions: [{ key: "a", operator: "In" }] }],
        },
      },
      "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      {
        aggregationRule: {
          clusterRoleSelectors: [
            { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] },
          ],
        },
      },
      "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
    [
      {
        aggregationRule: {
          clusterRoleSelectors: [{ matchExpressions: [{ key: "a", operator: "Near" }] }],
        },
      },
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
    ],
  ]);

  it("a list of forty thousand invalid rules gets a bounded error message", async () => {
    const rules = Array.from({ length: 40_000 }, () => ({}));
    const answer = await server.request("POST", `${base}/clusterroles`, {
      body: { metadata, rules },
    });
    assert.equal(answer.status, 422);
    assert.ok(answer.bytes.length < 100_000, String(answer.bytes.length));
  });
});

describe("bindings", () => {
  const roleRef = { apiGroup: group, kind: "Role", name: "r" };
  const path = `${inDefault}/rolebindings`;

  itRejects(() => server, "POST", path, { metadata, roleRef }, [
    [
      { roleRef: { ...roleRef, apiGroup: "x" } },
      `roleRef.apiGroup: Unsupported value: "x": supported values: "${group}"`,
    ],
    [
      { roleRef: { ...roleRef, kind: "Group" } },
      'roleRef.kind: Unsupported value: "Group": supported values: "Role", "ClusterRole"',
    ],
    [{ roleRef: { ...roleRef, name: "" } }, "roleRef.name: Required value"],
    [
      { roleRef: { ...roleRef, name: "a%b" } },
      "roleRef.name: Invalid value: \"a%b\": may not contain '%'",
    ],
    [{ subjects: [{ kind: "User" }] }, "subjects[0].name: Required value"],
    [
      { subjects: [{ kind: "User", name: "u", apiGroup: "x" }] },
      `subjects[0].apiGroup: Unsupported value: "x": supported values: "${group}"`,
    ],
    [
      { subjects: [{ kind: "ServiceAccount", name: "u", apiGroup: "x" }] },
      'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
    ],
    [
      { subjects: [{ kind: "Robot", name: "u" }] },
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ],
  ]);

  itRejects(
    () => server,
    "POST",
    `${base}/clusterrolebindings`,
    { metadata, roleRef: { ...roleRef, kind: "ClusterRole" } },
    [
      [{ roleRef }, 'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
      [
        { subjects: [{ kind: "ServiceAccount", name: "u" }] },
        "subjects[0].namespace: Required value",
      ],
    ],
  );

  it("default the API group of users and groups and of the roleRef", async () => {
    const created = await server.requestOk("POST", path, {
      body: {
        metadata: { name: "filled" },
        roleRef: { kind: "Role", name: "r" },
        subjects: [
          { kind: "User", name: "u" },
          { kind: "Group", name: "g" },
          { kind: "ServiceAccount", name: "s", namespace: "default" },
        ],
      },
    });
    assert.deepEqual(created["roleRef"], roleRef);
    assert.deepEqual(created["subjects"], [
      { kind: "User", name: "u", apiGroup: group },
      { kind: "Group", name: "g", apiGroup: group },
      { kind: "ServiceAccount", name: "s", namespace: "default" },
    ]);
  });

  it("keep their roleRef", async () => {
    const name = "kept";
    await server.requestOk("POST", path, { body: { metadata: { name }, roleRef } });
    const { object, status } = await server.patch(`${path}/${name}`, "merge", {
      roleRef: { name: "other" },
    });
    assert.equal(status, 422);
    assert.equal(
      object.message,
      `RoleBinding.${group} "kept" is invalid: roleRef: Invalid value: {"apiGroup":"${group}","kind":"Role","name":"other"}: cannot change roleRef`,
    );
  });

  it("are printed with their role, and in wide output with their subjects", async () => {
    await server.requestOk("POST", path, {
      body: {
        metadata: { name: "printed" },
        roleRef,
        subjects: [
          { kind: "User", name: "u1" },
          { kind: "User", name: "u2" },
          { kind: "ServiceAccount", name: "s", namespace: "n" },
        ],
      },
    });
    const { object } = await server.get(`${path}/printed`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    const [row] = object["rows"] as { cells: unknown[] }[];
    assert.deepEqual(row?.cells, ["printed", "Role/r", "0s", "u1, u2", "", "n/s"]);
  });
});
