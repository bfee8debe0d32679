/**
 * Goal: the requirements of upstream's own tests on shared APIs and lifecycle controllers hold,
 * where no other test covers them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import { apis, bind, binding, offer, until } from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;
const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
const logicalClusters = "/apis/core.kcp.io/v1alpha1/logicalclusters";
const matchAll = { selector: { matchAll: true }, state: "Accepted" };

async function started(): Promise<TestServer> {
  const test = await TestServer.start();
  await test.server.bootstrap("https://kcp.example.com");
  return test;
}

const post = (test: TestServer, path: string, body: object) =>
  test.requestOk("POST", path, { ...masters, body });

async function workspace(test: TestServer, name: string, type: string): Promise<string> {
  const spec = { type: { name: type, path: "root" } };
  const made = await post(test, `${tenancy}/workspaces`, { metadata: { name }, spec });
  return (made["spec"] as { cluster: string }).cluster;
}

describe("a binding", () => {
  it("keeps its reference to one export", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    const spec = { reference: { export: { path: "elsewhere", name: "cowboys" } } };
    const path = `${apis("consumer")}/apibindings/cowboys`;
    const answer = await test.patch(path, "merge", { spec }, masters);
    assert.equal(answer.status, 422);
    assert.match(answer.text, /APIExport reference must not be changed/);
    await test.close();
  });

  it("has the annotations that its export sets for its bindings, as long as the export has them", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    const key = "extra.apis.kcp.io/color";
    const isOnBinding = (value: string | undefined) =>
      until(test, `the binding says ${value}`, async () => {
        const { annotations } = (await binding(test, "consumer")).metadata;
        return annotations?.[key] === value;
      });
    const say = (color: string | null) => {
      const metadata = { annotations: { [key]: color, "other.example.com/color": "none" } };
      return test.patch(`${apis("provider")}/apiexports/cowboys`, "merge", { metadata }, masters);
    };
    await say("red");
    await isOnBinding("red");
    await bind(test, "later", "provider");
    await until(test, "a later one says it, too", async () => {
      const { annotations } = (await binding(test, "later")).metadata;
      return annotations?.[key] === "red";
    });
    await say("blue");
    await isOnBinding("blue");
    const { annotations } = (await binding(test, "consumer")).metadata;
    assert.equal(annotations?.["other.example.com/color"], undefined);
    await say(null);
    await isOnBinding(undefined);
    await test.close();
  });
});

describe("permission claims on kinds of the system", () => {
  it("show a provider the LogicalClusters and the CRDs of its consumers, and of no other workspace", async () => {
    const test = await started();
    const claims = [
      { group: "core.kcp.io", resource: "logicalclusters", verbs: ["*"] },
      { group: "apiextensions.k8s.io", resource: "customresourcedefinitions", verbs: ["*"] },
    ];
    await offer(test, "provider", { permissionClaims: claims });
    const consumer = await workspace(test, "consumer", "universal");
    await workspace(test, "stranger", "universal");
    const accepted = claims.map((claim) => ({ ...claim, ...matchAll }));
    await bind(test, consumer, "provider", "cowboys", accepted);
    const schema = { openAPIV3Schema: { type: "object" } };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const names = { plural: "horses", singular: "horse", kind: "Horse", listKind: "HorseList" };
    const definition = {
      metadata: { name: "horses.stable.dev" },
      spec: { group: "stable.dev", names, scope: "Namespaced", versions },
    };
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await post(test, `/clusters/${consumer}${definitions}`, definition);
    const view = "/services/apiexport/provider/cowboys/clusters/*";
    await until(test, "both are seen", async () => {
      const seen = await test.get(`${view}${logicalClusters}`, masters);
      const defined = await test.get(`${view}${definitions}`, masters);
      const clusters = seen.items.map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"]);
      return clusters.join() === consumer && defined.names.join() === "horses.stable.dev";
    });
    await test.close();
  });

  it("with matchExpressions allow a provider only the writes that they select", async () => {
    const test = await started();
    const claim = { group: "", resource: "configmaps", verbs: ["*"] };
    await offer(test, "provider", { permissionClaims: [claim] });
    const matchExpressions = [{ key: "env", operator: "In", values: ["test"] }];
    const selector = { matchExpressions };
    await post(test, "/clusters/consumer/api/v1/namespaces", { metadata: { name: "default" } });
    await bind(test, "consumer", "provider", "cowboys", [
      { ...claim, selector, state: "Accepted" },
    ]);
    const path =
      "/services/apiexport/provider/cowboys/clusters/consumer/api/v1/namespaces/default/configmaps";
    const create = (name: string, labels: object) =>
      test.request("POST", path, { ...masters, body: { metadata: { name, labels } } });
    const refused = await create("prod", { env: "prod" });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /object does not match required labels/);
    assert.equal((await create("test", { env: "test" })).status, 201);
    await test.close();
  });
});

describe("the view of the APIResourceSchemas that a consumer uses", () => {
  it("has exactly these schemas, and is read-only", async () => {
    const test = await started();
    await offer(test, "provider");
    await offer(test, "unused");
    await bind(test, "consumer", "provider");
    const name = "today.cowboys.wildwest.dev";
    for (const place of ["/clusters/*", "/clusters/consumer", ""]) {
      const root = `/services/apiresourceschema/consumer${place}`;
      const view = `${root}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`;
      const { items } = await test.get(view, masters);
      assert.deepEqual(
        items.map(({ metadata }) => [metadata.name, metadata.annotations?.["kcp.io/cluster"]]),
        [[name, "provider"]],
        place,
      );
      const one = await test.requestOk("GET", `${view}/${name}`, masters);
      assert.equal(one.metadata.annotations?.["kcp.io/cluster"], "provider");
      assert.equal((await test.get(`${view}/tomorrow.cowboys.wildwest.dev`, masters)).status, 404);
      const discovered = await test.requestOk("GET", `${root}/apis/apis.kcp.io/v1alpha1`, masters);
      assert.deepEqual(
        (discovered["resources"] as { name: string; verbs: string[] }[]).map(({ name, verbs }) => [
          name,
          verbs,
        ]),
        [["apiresourceschemas", ["get", "list", "watch"]]],
      );
      assert.equal((await test.get(`${root}/apis`, masters)).status, 200);
      const body = items[0] as AnyObject;
      const written = await test.request("POST", view, { ...masters, body });
      assert.ok(written.status === 403 || written.status === 405, written.text);
      assert.equal((await test.get(view, { user: "a" })).status, 403);
    }
    const elsewhere = "/services/apiresourceschema/consumer/clusters/provider";
    assert.equal((await test.get(`${elsewhere}/apis`, masters)).status, 404);
    await test.close();
  });
});

describe("a kind named Cluster", () => {
  it("is served beside the /clusters/ of paths, its status included", async () => {
    const test = await started();
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const schema = { openAPIV3Schema: open };
    const versions = [
      { name: "v1", served: true, storage: true, schema, subresources: { status: {} } },
    ];
    const names = {
      plural: "clusters",
      singular: "cluster",
      kind: "Cluster",
      listKind: "ClusterList",
    };
    await post(test, "/clusters/team/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "clusters.url.test" },
      spec: { group: "url.test", names, scope: "Cluster", versions },
    });
    const path = "/clusters/team/apis/url.test/v1/clusters";
    await until(test, "it is served", async () => (await test.get(path, masters)).status === 200);
    await post(test, path, { metadata: { name: "one" } });
    assert.equal((await test.get(`${path}/one/status`, masters)).status, 200);
    assert.equal((await test.get(`/clusters/team${path}`, masters)).status, 404);
    await test.close();
  });
});
