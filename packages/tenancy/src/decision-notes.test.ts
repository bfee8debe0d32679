/**
 * Goal: the audit log records each authorization step's decision and reason, and members of
 * system:masters can ask for the decision of roles alone.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { parseAuditPolicy } from "@kcp-ts/apiserver/audit";
import { bootstrapAuthorizer, unionAuthorizer } from "@kcp-ts/apiserver/authorization";
import type { RequestOptions } from "@kcp-ts/apiserver/testing";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { workspaceContentAuthorizer } from "./access/index.ts";
import { tenancy } from "./tenancy-extension.ts";
import { TestServer } from "./testing/index.ts";

type Notes = Readonly<Record<string, string>>;

let test: TestServer;
let notes: Notes[] = [];
afterEach(() => test.close());

async function started(): Promise<void> {
  notes = [];
  const rules = [{ level: "Metadata" }];
  test = await TestServer.start({
    extension: tenancy({ gate: workspaceContentAuthorizer }),
    authorization: (rbac) => unionAuthorizer([bootstrapAuthorizer, rbac]),
    audit: {
      policy: parseAuditPolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }),
      backends: () => [
        {
          name: "test",
          write: (event: JsonObject) => {
            if (event["stage"] === "ResponseComplete")
              notes.push((event["annotations"] ?? {}) as Notes);
          },
          close: async () => undefined,
        },
      ],
    },
  });
  await test.requestOk("POST", "/clusters/root/apis/core.kcp.io/v1alpha1/logicalclusters", {
    user: "masters",
    body: { metadata: { name: "cluster" }, status: { phase: "Ready" } },
  });
}

/** The steps of the last request, each with its decision and its reason. */
function steps(domain: string): readonly string[] {
  const last = notes.at(-1) ?? {};
  const names = Object.keys(last).filter((key) => key.startsWith(`${domain}/`));
  return names
    .filter((key) => key.endsWith("-decision"))
    .sort()
    .map((key) => {
      const step = key.slice(domain.length + 1, -"-decision".length);
      return `${step} ${last[key]}: ${last[key.replace(/-decision$/, "-reason")]}`;
    });
}

const roles = "/clusters/root/apis/rbac.authorization.k8s.io/v1";
const configMaps = "/clusters/root/api/v1/namespaces/default/configmaps";

async function allow(user: string, rules: readonly object[]): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  await test.requestOk("POST", `${roles}/clusterroles`, {
    user: "admin",
    body: { metadata: { name: "some" }, rules },
  });
  await test.requestOk("POST", `${roles}/clusterrolebindings`, {
    user: "admin",
    body: {
      metadata: { name: "some" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "some" },
      subjects: [{ apiGroup, kind: "User", name: user }],
    },
  });
}

describe("audit annotations of authorization", () => {
  it("record each step of an administrator's request", async () => {
    await started();
    assert.equal((await test.get(configMaps, { user: "admin" })).status, 200);
    const told = steps("request.auth.kcp.io");
    assert.deepEqual(told.slice(0, 4), [
      "01-requiredgroups Allowed: delegating due to logical cluster admin access",
      "02-content Allowed: delegating due to logical cluster admin access",
      "03-systemcrd Allowed: delegating due to no system CRD violation",
      "04-maxpermissionpolicy Allowed: delegating due to no relevant binding found",
    ]);
    assert.match(told[4] ?? "", /^05-bootstrap Allowed: bootstrap policy: RBAC: allowed by/);
  });

  it("record the reason of a denied access, which the response does not contain", async () => {
    await started();
    const { status, object } = await test.get(configMaps, { user: "nobody" });
    assert.equal(status, 403);
    assert.match(object.message ?? "", /access denied$/);
    assert.deepEqual(steps("request.auth.kcp.io"), [
      "02-content NoOpinion: no verb=access permission on /",
    ]);
    await test.get("/clusters/nowhere/api/v1/namespaces", { user: "nobody" });
    assert.deepEqual(steps("request.auth.kcp.io"), ["02-content Denied: LogicalCluster not found"]);
  });

  it("record the decision of local roles, and of the rules that the system reserves", async () => {
    await started();
    await allow("a", [
      { nonResourceURLs: ["/"], verbs: ["access"] },
      { apiGroups: ["", "apis.kcp.io"], resources: ["*"], verbs: ["*"] },
    ]);
    assert.equal((await test.get(configMaps, { user: "a" })).status, 200);
    const told = steps("request.auth.kcp.io");
    assert.ok(told.includes("02-content Allowed: delegating due to user logical cluster access"));
    assert.ok(told.includes("05-bootstrap NoOpinion: bootstrap policy: "));
    assert.match(told.at(-1) ?? "", /^05-local Allowed: local cluster "root" policy: RBAC: allow/);
    const status = "/clusters/root/apis/apis.kcp.io/v1alpha2/apiexports/x/status";
    assert.equal((await test.patch(status, "merge", {}, { user: "a" })).status, 403);
    assert.ok(
      steps("request.auth.kcp.io").includes(
        "03-systemcrd Denied: apiexport status updates not permitted",
      ),
    );
  });

  it("record the result of a SubjectAccessReview, beside the permissions of its sender", async () => {
    await started();
    await review("nobody", { user: "admin" });
    assert.deepEqual(steps("sar.auth.kcp.io"), [
      "02-content NoOpinion: no verb=access permission on /",
    ]);
    assert.equal(steps("request.auth.kcp.io").length, 5);
  });
});

async function review(user: string, options: RequestOptions): Promise<boolean> {
  const path = "/clusters/root/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const resourceAttributes = { verb: "list", resource: "configmaps", namespace: "default" };
  const { status } = await test.requestOk("POST", path, {
    ...options,
    body: { spec: { user, resourceAttributes } },
  });
  return (status as { allowed: boolean }).allowed;
}

describe("a deep SubjectAccessReview", () => {
  const headers = { "x-kcp-internal-deep-subjectaccessreview": "true" };

  it("evaluates roles alone, for members of system:masters only", async () => {
    await started();
    await allow("a", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]);
    assert.equal(await review("a", { user: "masters" }), false, "may not enter");
    assert.equal(await review("a", { user: "masters", headers }), true);
    assert.equal(await review("nobody", { user: "masters", headers }), false);
    assert.equal(await review("a", { user: "admin", headers }), false);
  });

  it("is only a review: the header authorizes no other request", async () => {
    await started();
    await allow("a", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]);
    assert.equal((await test.get(configMaps, { user: "a", headers })).status, 403);
  });
});

describe("roles of system:admin", () => {
  const grant = async (subject: object) => {
    const base = "/clusters/system:admin/apis/rbac.authorization.k8s.io/v1";
    const apiGroup = "rbac.authorization.k8s.io";
    const rules = [
      { nonResourceURLs: ["/"], verbs: ["access"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] },
    ];
    const role = { metadata: { name: "reader" }, rules };
    const binding = {
      metadata: { name: "reader" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "reader" },
      subjects: [subject],
    };
    for (const [path, body] of Object.entries({
      clusterroles: role,
      clusterrolebindings: binding,
    })) {
      const refused = await test.request("POST", `${base}/${path}`, { user: "admin", body });
      assert.equal(refused.status, 403, "written by members of system:masters only");
      await test.requestOk("POST", `${base}/${path}`, { user: "masters", body });
    }
  };
  const asUser = (name: string) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name });

  it("apply in every logical cluster, to the users that they name", async () => {
    await started();
    assert.equal((await test.get(configMaps, { user: "a" })).status, 403);
    await grant(asUser("a"));
    assert.equal((await test.get(configMaps, { user: "a" })).status, 200);
    const told = steps("request.auth.kcp.io").find((one) => one.startsWith("05-bootstrap"));
    assert.match(
      told ?? "",
      /Allowed: bootstrap policy: RBAC: allowed by ClusterRoleBinding "reader"/,
    );
    assert.equal((await test.get(configMaps, { user: "nobody" })).status, 403);
    assert.equal((await test.get(`${configMaps}/x`, { user: "a" })).status, 403);
    const base = "/clusters/system:admin/apis/rbac.authorization.k8s.io/v1";
    await test.requestOk("DELETE", `${base}/clusterrolebindings/reader`, { user: "masters" });
    assert.equal((await test.get(configMaps, { user: "a" })).status, 403);
  });

  it("do not apply to users that are scoped to one logical cluster", async () => {
    await started();
    await grant(asUser("alice"));
    const headers = { "impersonate-user": "alice" };
    assert.equal((await test.get(configMaps, { user: "masters", headers })).status, 200);
    assert.equal((await test.get(configMaps, { user: "admin", headers })).status, 403);
  });

  it("are referenced by bindings of any logical cluster, whose own roles take precedence", async () => {
    await started();
    const base = "/clusters/system:admin/apis/rbac.authorization.k8s.io/v1";
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    const role = { metadata: { name: "operators-reader" }, rules };
    await test.requestOk("POST", `${base}/clusterroles`, { user: "masters", body: role });
    await allow("a", [{ nonResourceURLs: ["/"], verbs: ["access"] }]);
    assert.equal((await test.get(configMaps, { user: "a" })).status, 403);
    const local = base.replace("system:admin", "root");
    const apiGroup = "rbac.authorization.k8s.io";
    const binding = {
      metadata: { name: "of-operators" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "operators-reader" },
      subjects: [asUser("a")],
    };
    await test.requestOk("POST", `${local}/clusterrolebindings`, { user: "admin", body: binding });
    assert.equal((await test.get(configMaps, { user: "a" })).status, 200);
    const review = await test.requestOk(
      "POST",
      `/clusters/root/apis/authorization.k8s.io/v1/selfsubjectrulesreviews`,
      { user: "a", body: { spec: { namespace: "default" } } },
    );
    assert.match(JSON.stringify(review), /"resources":\["configmaps"\]/);
    await test.requestOk("POST", `${local}/clusterroles`, {
      user: "admin",
      body: { metadata: { name: "operators-reader" }, rules: [] },
    });
    assert.equal((await test.get(configMaps, { user: "a" })).status, 403);
  });

  it("do not apply to ServiceAccounts, which any tenant creates under any name", async () => {
    await started();
    await grant({ kind: "ServiceAccount", namespace: "default", name: "robot" });
    const headers = { "impersonate-user": "system:serviceaccount:default:robot" };
    assert.equal((await test.get(configMaps, { user: "masters", headers })).status, 403);
  });
});
