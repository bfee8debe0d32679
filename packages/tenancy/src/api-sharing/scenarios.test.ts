/**
 * Goal: the scenarios of upstream's own end-to-end tests of API sharing hold: conditions of claims,
 * identities, protected groups, and the permissions of a provider.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  bind,
  binding,
  bindingTo,
  cowboyExport,
  cowboySchema,
  offer,
  until,
} from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;

function conditionIn(object: AnyObject, type: string): string {
  const { conditions = [] } = (object["status"] ?? {}) as {
    conditions?: { type: string; status: string; reason?: string }[];
  };
  const found = conditions.find((one) => one.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason ?? ""}`.trim();
}

const claim = (resource: string, verbs: string[], group = "") => ({ group, resource, verbs });
const accepted = (resource: string, verbs: string[], group = "") => ({
  ...claim(resource, verbs, group),
  selector: { matchAll: true },
  state: "Accepted",
});

describe("conditions of permission claims", () => {
  it("report accepted claims that the export does not have, claims that differ, and success", async () => {
    const test = await TestServer.start();
    await offer(test, "a", { permissionClaims: [claim("configmaps", ["get", "list"])] });
    await bind(test, "b", "a");
    const answer = async (permissionClaims: object[], expected: string) => {
      const path = `${apis("b")}/apibindings/cowboys`;
      const { status } = await test.patch(path, "merge", { spec: { permissionClaims } }, masters);
      assert.equal(status, 200);
      await until(test, `the condition is ${expected}`, async () =>
        conditionIn(await binding(test, "b"), "PermissionClaimsValid").startsWith(expected),
      );
    };
    await answer([accepted("configmaps", ["get"])], "False PermissionClaimsMismatch");
    await answer([accepted("secrets", ["get"])], "False InvalidPermissionClaims");
    await answer([accepted("configmaps", ["get", "list"])], "True");
    await answer([accepted("configmaps", ["*"])], "True");
    const exported = `${apis("a")}/apiexports/cowboys`;
    const defaultSelector = { matchLabels: { team: "west" } };
    const proposed = [{ ...claim("configmaps", ["get", "list"]), defaultSelector }];
    await test.patch(exported, "merge", { spec: { permissionClaims: proposed } }, masters);
    await answer([accepted("configmaps", ["list"])], "False PermissionClaimsMismatch");
    // The changed selector alone is a mismatch, too: both are reported when both were seen.
    const words =
      "1 permission claim(s) have mismatched verbs or selectors (showing first 1): configmaps. (verbs: accepted [list], exported [get list]; selector differs from defaultSelector)";
    await until(test, "verbs and selector are reported", async () =>
      JSON.stringify((await binding(test, "b"))["status"]).includes(words),
    );
    const agreed = { ...accepted("configmaps", ["list", "get"]), selector: defaultSelector };
    await answer([agreed], "True");
    await until(test, "the claim is applied", async () => {
      const { appliedPermissionClaims = [] } = (await binding(test, "b"))["status"] as {
        appliedPermissionClaims?: object[];
      };
      return appliedPermissionClaims.length === 1;
    });
    await test.close();
  });

  it("of default bindings begin with the selector of the export's claim", async () => {
    const test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
    const defaultSelector = { matchLabels: { team: "west" } };
    await offer(test, "provider", {
      permissionClaims: [{ ...claim("configmaps", ["*"]), defaultSelector }],
    });
    const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
    const defaultAPIBindings = [{ path: "provider", export: "cowboys" }];
    const type = { metadata: { name: "western" }, spec: { defaultAPIBindings } };
    await test.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body: type });
    const made = await test.requestOk("POST", `${tenancy}/workspaces`, {
      ...masters,
      body: { metadata: { name: "w" }, spec: { type: { name: "western", path: "root" } } },
    });
    const { cluster } = made["spec"] as { cluster: string };
    const { items } = await test.requestOk("GET", `${apis(cluster)}/apibindings`, masters);
    const spec = items?.[0]?.["spec"] as { permissionClaims: { selector: object }[] } | undefined;
    assert.deepEqual(
      spec?.permissionClaims.map(({ selector }) => selector),
      [defaultSelector],
    );
    await test.close();
  });
});

describe("the identity of an export", () => {
  it("is valid when its Secret exists, is the hash of the key, and never changes", async () => {
    const test = await TestServer.start();
    const secretRef = { name: "own", namespace: "keys" };
    const body = cowboySchema("today");
    await test.requestOk("POST", `${apis("a", "v1alpha1")}/apiresourceschemas`, {
      ...masters,
      body,
    });
    const exported = cowboyExport("today", { identity: { secretRef } });
    await test.requestOk("POST", `${apis("a")}/apiexports`, { ...masters, body: exported });
    const found = () => test.requestOk("GET", `${apis("a")}/apiexports/cowboys`, masters);
    await until(test, "the secret is missed", async () =>
      conditionIn(await found(), "IdentityValid").startsWith("False"),
    );
    await test.requestOk("POST", "/clusters/a/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "keys" } },
    });
    const key = "k".repeat(43);
    await test.requestOk("POST", "/clusters/a/api/v1/namespaces/keys/secrets", {
      ...masters,
      body: { metadata: { name: "own" }, data: { key: Buffer.from(key).toString("base64") } },
    });
    await until(test, "the identity is valid", async () =>
      conditionIn(await found(), "IdentityValid").startsWith("True"),
    );
    const { identityHash } = (await found())["status"] as { identityHash: string };
    assert.equal(identityHash, createHash("sha256").update(key).digest("hex"));
    await test.close();
  });
});

describe("an API group of the Kubernetes community", () => {
  it("is shared when its schema has the approval annotation, and not otherwise", async () => {
    const test = await TestServer.start();
    const schema = cowboySchema("today");
    const things = (annotations: object) => ({
      ...schema,
      metadata: { name: "today.cowboys.things.k8s.io", annotations },
      spec: { ...schema.spec, group: "things.k8s.io" },
    });
    const path = `${apis("a", "v1alpha1")}/apiresourceschemas`;
    const refused = await test.request("POST", path, { ...masters, body: things({}) });
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.text, /api-approved\.kubernetes\.io/);
    const approval = { "api-approved.kubernetes.io": "https://github.com/kcp-dev/kcp/pull/1" };
    await test.requestOk("POST", path, { ...masters, body: things(approval) });
    const resources = [
      { name: "cowboys", group: "things.k8s.io", schema: "today.cowboys.things.k8s.io" },
    ];
    await test.requestOk("POST", `${apis("a")}/apiexports`, {
      ...masters,
      body: cowboyExport("today", { resources }),
    });
    await test.requestOk("POST", `${apis("b")}/apibindings`, { ...masters, body: bindingTo("a") });
    await until(test, "it is bound", async () =>
      conditionIn(await binding(test, "b"), "InitialBindingCompleted").startsWith("True"),
    );
    const { status } = await test.get("/clusters/b/apis/things.k8s.io/v1alpha1/cowboys", masters);
    assert.equal(status, 200);
    await test.close();
  });
});

describe("a provider in the workspace of a consumer", () => {
  const rbac = "rbac.authorization.k8s.io";
  const claimed = [
    ["clusterroles", rbac],
    ["clusterrolebindings", rbac],
    ["apibindings", "apis.kcp.io"],
    ["configmaps", ""],
  ] as const;
  const view = "/services/apiexport/a/cowboys/clusters/b";

  async function started(): Promise<TestServer> {
    const test = await TestServer.start();
    const permissionClaims = claimed.map(([resource, group]) => claim(resource, ["*"], group));
    await offer(test, "a", { permissionClaims });
    await offer(test, "c");
    const answers = claimed.map(([resource, group]) => accepted(resource, ["*"], group));
    await bind(test, "b", "a", "cowboys", answers);
    await test.requestOk("POST", "/clusters/b/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "default" } },
    });
    return test;
  }

  it("may write the resources of accepted claims, as itself", async () => {
    const test = await started();
    const path = `${view}/api/v1/namespaces/default/configmaps`;
    await until(test, "the claim is in effect", async () => {
      const answer = await test.request("POST", path, {
        user: "a",
        body: { metadata: { generateName: "made-" } },
      });
      return answer.status === 201;
    });
    await test.close();
  });

  it("grants no permission there that it does not have itself", async () => {
    const test = await started();
    const role = {
      metadata: { name: "all" },
      rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    };
    const made = await test.request("POST", `${view}/apis/${rbac}/v1/clusterroles`, {
      user: "a",
      body: role,
    });
    assert.equal(made.status, 403, made.text);
    const given = {
      metadata: { name: "mine" },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: rbac, kind: "User", name: "a" }],
    };
    const bound = await test.request("POST", `${view}/apis/${rbac}/v1/clusterrolebindings`, {
      user: "a",
      body: given,
    });
    assert.equal(bound.status, 403, bound.text);
    assert.equal((await test.get("/clusters/b/api/v1/secrets", { user: "a" })).status, 403);
    await test.close();
  });

  it("binds the consumer to no export that it may not bind itself", async () => {
    const test = await started();
    const path = `${view}/apis/apis.kcp.io/v1alpha2/apibindings`;
    const foreign = await test.request("POST", path, { user: "a", body: bindingTo("c", "other") });
    assert.equal(foreign.status, 403);
    assert.match(foreign.text, /no permission to bind to export c:cowboys/);
    await test.close();
  });
});
