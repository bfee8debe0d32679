/**
 * Goal: shared APIs in the lifecycle of workspaces: default bindings, deletion, initializers, and
 * the permissions that a provider grants to consumers.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  bind,
  binding,
  cowboy,
  cowboyExport,
  cowboySchema,
  flushPendingWork,
  offer,
  until,
} from "./test-support/cowboys.ts";

const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
const types = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes";
const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
const masters = { user: "masters" } as const;

async function started(): Promise<TestServer> {
  const test = await TestServer.start();
  await test.server.bootstrap("https://kcp.example.com");
  return test;
}

async function madeWorkspace(test: TestServer, type: string, name = "team"): Promise<string> {
  // A member of system:masters creates the workspace for another owner, because no controller acts
  // as system:masters.
  const annotations = { "experimental.tenancy.kcp.io/owner": '{"username":"a"}' };
  const body = { metadata: { name, annotations }, spec: { type: { name: type, path: "root" } } };
  const made = await test.requestOk("POST", workspaces, { ...masters, body });
  return (made["spec"] as { cluster: string }).cluster;
}

const typeOf = (name: string, spec: object) => ({
  apiVersion: "tenancy.kcp.io/v1alpha1",
  kind: "WorkspaceType",
  metadata: { name },
  spec: { extend: { with: [{ name: "universal", path: "root" }] }, ...spec },
});

describe("workspaces whose type has default bindings", () => {
  it("serve the API from their first moment, and lose it with all other content when they are deleted", async () => {
    const test = await started();
    await offer(test, "provider");
    const defaultAPIBindings = [{ path: "provider", export: "cowboys" }];
    await test.requestOk("POST", types, {
      ...masters,
      body: typeOf("western", { defaultAPIBindings }),
    });
    const cluster = await madeWorkspace(test, "western");
    await test.requestOk("POST", `/clusters/${cluster}${inDefault}`, {
      ...masters,
      body: cowboy("x"),
    });
    const bindings = await test.requestOk("GET", `${apis(cluster)}/apibindings`, masters);
    assert.match(bindings.items?.[0]?.metadata.name ?? "", /^cowboys-[0-9a-z]{5}$/);
    await test.requestOk("DELETE", `${workspaces}/team`, masters);
    for (let turn = 0; turn < 20; turn++) {
      await flushPendingWork(test);
      test.clock.advance(1000);
    }
    assert.equal((await test.get(`${workspaces}/team`, masters)).status, 404);
    const { identityHash } = (
      await test.requestOk("GET", `${apis("provider")}/apiexports/cowboys`, masters)
    )["status"] as { identityHash: string };
    const left = await test.requestOk(
      "GET",
      `/clusters/*/apis/wildwest.dev/v1alpha1/cowboys:${identityHash}`,
      masters,
    );
    assert.deepEqual(left.items, []);
    await test.close();
  });
});

describe("a workspace that is being deleted", () => {
  it("keeps its bindings until its other content is deleted, so that providers can remove their finalizers", async () => {
    const test = await started();
    const claim = { group: "", resource: "configmaps", verbs: ["*"] };
    const held = { group: "", resource: "namespaces", verbs: ["*"] };
    await offer(test, "provider", { permissionClaims: [claim, held] });
    const cluster = await madeWorkspace(test, "universal");
    const accepted = [claim, held].map((one) => ({
      ...one,
      selector: { matchAll: true },
      state: "Accepted",
    }));
    await bind(test, cluster, "provider", "cowboys", accepted);
    await flushPendingWork(test);
    const finalizers = ["wildwest.dev/hold"];
    const configMaps = "/api/v1/namespaces/default/configmaps";
    await test.requestOk("POST", `/clusters/${cluster}${inDefault}`, {
      ...masters,
      body: { ...cowboy("x"), metadata: { name: "x", finalizers } },
    });
    await test.requestOk("POST", `/clusters/${cluster}${configMaps}`, {
      ...masters,
      body: { metadata: { name: "held", finalizers } },
    });
    await test.requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, {
      ...masters,
      body: { metadata: { name: "held", finalizers } },
    });
    await test.requestOk("DELETE", `${workspaces}/team`, masters);

    const view = `/services/apiexport/provider/cowboys/clusters/${cluster}`;
    const isMarked = async (path: string) => {
      const { metadata } = await test.requestOk("GET", `${view}${path}`, { user: "admin" });
      return metadata["deletionTimestamp"] !== undefined;
    };
    for (const path of [`${configMaps}/held`, "/api/v1/namespaces/held", `${inDefault}/x`]) {
      await until(test, `${path} is to go`, () => isMarked(path));
      const released = { metadata: { finalizers: null } };
      const { status, text } = await test.patch(`${view}${path}`, "merge", released, {
        user: "admin",
      });
      assert.equal(status, 200, text);
    }
    await until(test, "the workspace is gone", async () => {
      return (await test.get(`${workspaces}/team`, masters)).status === 404;
    });
    await test.close();
  });
});

describe("a maximal permission policy", () => {
  it("limits all users in the workspaces of consumers, their owners included", async () => {
    const test = await started();
    await offer(test, "provider", { maximalPermissionPolicy: { local: {} } });
    await bind(test, "b", "provider");
    await test.requestOk("POST", "/clusters/b/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "default" } },
    });
    const rbac = "/clusters/provider/apis/rbac.authorization.k8s.io/v1";
    assert.equal((await test.get(`/clusters/b${inDefault}`, { user: "admin" })).status, 403);
    await test.requestOk("POST", `${rbac}/clusterroles`, {
      ...masters,
      body: {
        metadata: { name: "readers" },
        rules: [{ apiGroups: ["wildwest.dev"], resources: ["cowboys"], verbs: ["get", "list"] }],
      },
    });
    await test.requestOk("POST", `${rbac}/clusterrolebindings`, {
      ...masters,
      body: {
        metadata: { name: "readers" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "readers" },
        subjects: [
          {
            apiGroup: "rbac.authorization.k8s.io",
            kind: "Group",
            name: "apis.kcp.io:binding:system:authenticated",
          },
        ],
      },
    });
    assert.equal((await test.get(`/clusters/b${inDefault}`, { user: "admin" })).status, 200);
    const made = await test.request("POST", `/clusters/b${inDefault}`, {
      user: "admin",
      body: cowboy("x"),
    });
    assert.equal(made.status, 403);
    await test.close();
  });
});

describe("admission that a provider configures", () => {
  it("applies to its resources in the workspaces of consumers, and the consumers' own configuration does not", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    await test.requestOk("POST", "/clusters/consumer/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "default" } },
    });
    const policy = (intent: string) => ({
      metadata: { name: "intents" },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["wildwest.dev"],
              apiVersions: ["*"],
              resources: ["cowboys"],
              operations: ["CREATE"],
            },
          ],
        },
        validations: [{ expression: `object.spec.intent != "${intent}"`, message: "never" }],
      },
    });
    const configure = async (cluster: string, intent: string) => {
      const base = `/clusters/${cluster}/apis/admissionregistration.k8s.io/v1`;
      const body = policy(intent);
      await test.requestOk("POST", `${base}/validatingadmissionpolicies`, { ...masters, body });
      const spec = { policyName: "intents", validationActions: ["Deny"] };
      await test.requestOk("POST", `${base}/validatingadmissionpolicybindings`, {
        ...masters,
        body: { metadata: { name: "intents" }, spec },
      });
    };
    await configure("provider", "rob");
    await configure("consumer", "ride");
    await flushPendingWork(test);
    const make = (intent: string) =>
      test.request("POST", `/clusters/consumer${inDefault}`, {
        ...masters,
        body: cowboy(intent, { intent }),
      });
    assert.equal((await make("rob")).status, 422);
    assert.equal((await make("ride")).status, 201);
    await test.close();
  });
});

describe("an export that gets another schema", () => {
  it("serves stored objects with the new schema, and keeps serving the resources whose schema its provider deleted", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    await test.requestOk("POST", "/clusters/consumer/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "default" } },
    });
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("old"),
    });
    const schemas = `${apis("provider", "v1alpha1")}/apiresourceschemas`;
    const horse = { horse: { type: "string", default: "jolly" } };
    await test.requestOk("POST", schemas, { ...masters, body: cowboySchema("tomorrow", horse) });
    const exported = cowboyExport("tomorrow");
    const path = `${apis("provider")}/apiexports/cowboys`;
    assert.equal((await test.patch(path, "merge", { spec: exported.spec }, masters)).status, 200);
    await flushPendingWork(test);
    const shown = await test.requestOk("GET", `/clusters/consumer${inDefault}/old`, masters);
    assert.deepEqual(shown["spec"], { intent: "ride", horse: "jolly" });
    const seen = await test.requestOk(
      "GET",
      "/services/apiexport/provider/cowboys/clusters/*/apis/wildwest.dev/v1alpha1/cowboys",
      masters,
    );
    assert.deepEqual(seen.items?.[0]?.["spec"], { intent: "ride", horse: "jolly" });
    const bound = (await binding(test, "consumer"))["status"] as {
      boundResources: { schema: { name: string } }[];
    };
    assert.equal(bound.boundResources[0]?.schema.name, "tomorrow.cowboys.wildwest.dev");
    await test.requestOk("DELETE", path, masters);
    await test.requestOk("DELETE", `${schemas}/tomorrow.cowboys.wildwest.dev`, masters);
    await flushPendingWork(test);
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("new"),
    });
    const conditions = (
      (await binding(test, "consumer"))["status"] as {
        conditions: { type: string; reason?: string }[];
      }
    ).conditions;
    assert.equal(
      conditions.find(({ type }) => type === "APIExportValid")?.reason,
      "APIExportNotFound",
    );
    await test.close();
  });
});
