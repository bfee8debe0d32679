/**
 * Mutating webhooks over real HTTPS: the scenarios of the Kubernetes conformance tests, and further
 * ones.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  type AnyObject,
  install,
  register,
  registration,
  rulesFor,
  TestServer,
  WebhookServer,
} from "../../testing/index.ts";
import { cronTabs } from "../test-support/definitions.ts";

let webhook: WebhookServer;
let server: TestServer;

before(async () => {
  webhook = await WebhookServer.start();
});
after(() => webhook.close());
beforeEach(async () => {
  webhook.reset();
  server = await TestServer.start();
  await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
    body: { metadata: { name: "n" } },
  });
});
afterEach(() => server.close());

const configMaps = "/clusters/a/api/v1/namespaces/n/configmaps";
const configMap = (name: string, more: object = {}) => ({ metadata: { name }, ...more });
const everyOperation = ["CREATE", "UPDATE", "DELETE"];

function denyAll(path = "/deny"): void {
  webhook.respondWith(path, () => ({ allowed: false, status: { message: "no thank you" } }));
}

const validating = (more: object = {}) => ({
  name: "check.example.com",
  clientConfig: webhook.client("/deny"),
  rules: rulesFor("configmaps", everyOperation),
  ...more,
});

const mutating = (more: object = {}) => ({
  name: "change.example.com",
  clientConfig: webhook.client("/change"),
  rules: rulesFor("configmaps", ["CREATE", "UPDATE"]),
  ...more,
});

function setData(path: string, key: string, value: string): void {
  webhook.respondWith(path, ({ object }) => {
    const isThere = object?.data !== undefined;
    const patch = isThere
      ? [{ op: "add", path: `/data/${key}`, value }]
      : [{ op: "add", path: "/data", value: { [key]: value } }];
    return { patch };
  });
}

const custom = { apiVersion: "stable.example.com/v1", kind: "CronTab", spec: { image: "i" } };

describe("a mutating webhook", () => {
  it("changes the stored object, one webhook after the other in the order of names", async () => {
    setData("/change", "one", "1");
    webhook.respondWith("/then", ({ object }) => ({
      patch: [{ op: "add", path: "/data/two", value: `${object?.data?.["one"]}2` }],
    }));
    await register(
      server,
      "mutating",
      mutating({ name: "b-then.example.com", clientConfig: webhook.client("/then") }),
    );
    await register(server, "mutating", mutating({ name: "a-first.example.com" }));
    const created = await server.requestOk("POST", configMaps, { body: configMap("a") });
    assert.deepEqual(created.data, { one: "1", two: "12" });
    assert.deepEqual((await server.requestOk("GET", `${configMaps}/a`)).data, created.data);
  });

  it("adds fields that the client does not own", async () => {
    setData("/change", "seen", "yes");
    await register(server, "mutating", mutating());
    const owned = ({ metadata: { managedFields = [] } }: AnyObject) =>
      (managedFields as { fieldsV1: object }[]).map(({ fieldsV1 }) => fieldsV1);
    const labels = { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } };
    const body = { metadata: { name: "a", labels: { a: "b" } } };
    const created = await server.requestOk("POST", configMaps, { body });
    assert.deepEqual([created.data, owned(created)], [{ seen: "yes" }, [labels]]);
    const again = { ...body, data: { x: "1" } };
    const put = await server.requestOk("PUT", `${configMaps}/a`, { body: again });
    assert.deepEqual(put.data, { x: "1", seen: "yes" });
    assert.deepEqual(owned(put), [{ ...labels, "f:data": { "f:x": {} } }]);
    const patched = await server.patch(`${configMaps}/a`, "merge", { data: { y: "2" } });
    assert.deepEqual(owned(patched.object), [{ ...labels, "f:data": { "f:x": {}, "f:y": {} } }]);
  });

  const undecodable: readonly [string, object, RegExp][] = [
    [
      "no list of operations",
      { patchType: "JSONPatch", patch: btoa('{"op":"add"}') },
      /: received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch\.Patch$/,
    ],
    ["no JSON", { patchType: "JSONPatch", patch: btoa("x") }, /: received undecodable patch in/],
    [
      "no base64",
      { patchType: "JSONPatch", patch: "%" },
      /failed to call webhook: illegal base64 data at input byte 0$/,
    ],
    ...["1e400", "-1e400"].map((number): [string, object, RegExp] => [
      `one with the number ${number}`,
      { patchType: "JSONPatch", patch: btoa(`[{"op":"add","path":"/data/x","value":${number}}]`) },
      new RegExp(`cannot unmarshal number ${number} into Go value of type float64$`),
    ]),
    [
      "of another type",
      { patchType: "MergePatch", patch: btoa('[{"op":"remove","path":"/data"}]') },
      /failed calling webhook "change\.example\.com": unsupported patch type "MergePatch"$/,
    ],
  ];
  for (const [title, response, expected] of undecodable) {
    it(`fails when its patch is ${title}, and is ignored where failures are`, async () => {
      webhook.respondWith("/change", ({ uid }) => ({
        raw: {
          kind: "AdmissionReview",
          apiVersion: "admission.k8s.io/v1",
          response: { uid, allowed: true, ...response },
        },
      }));
      await register(server, "mutating", mutating());
      const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
      assert.equal(status, 500);
      assert.match(object.message ?? "", expected);
      const path = "/clusters/a/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
      const ignore = [{ op: "add", path: "/webhooks/0/failurePolicy", value: "Ignore" }];
      await server.patch(`${path}/change`, "json", ignore);
      await server.requestOk("POST", configMaps, { body: configMap("b") });
    });
  }

  it("cannot change the kind of the object", async () => {
    webhook.respondWith("/change", () => ({
      patch: [{ op: "replace", path: "/kind", value: "Secret" }],
    }));
    await register(server, "mutating", mutating());
    const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.deepEqual(
      [status, object.message],
      [500, "Internal error occurred: kind can not be changed"],
    );
  });

  it("changes updates, patches and applies, in every attempt anew", async () => {
    await server.requestOk("POST", configMaps, { body: configMap("a") });
    setData("/change", "seen", "yes");
    await register(server, "mutating", mutating());
    const target = `${configMaps}/a`;
    const put = await server.requestOk("PUT", target, {
      body: configMap("a", { data: { x: "1" } }),
    });
    assert.deepEqual(put.data, { x: "1", seen: "yes" });
    const patched = await server.patch(target, "merge", { data: { seen: null, y: "2" } });
    assert.deepEqual(patched.object.data, { x: "1", seen: "yes", y: "2" });
  });

  it("changes custom resources, which are pruned and defaulted again afterwards", async () => {
    const schema = {
      type: "object",
      properties: {
        data: {
          type: "object",
          properties: { stage: { type: "string" }, level: { type: "integer", default: 3 } },
        },
      },
    };
    await install(server, cronTabs({ schema }));
    const rules = rulesFor("crontabs", ["CREATE"], "stable.example.com");
    webhook.respondWith("/change", () => ({
      patch: [{ op: "add", path: "/data", value: { stage: "changed", unknown: "pruned" } }],
    }));
    await register(server, "mutating", mutating({ rules }));
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/n/crontabs";
    const body = { apiVersion: "stable.example.com/v1", kind: "CronTab", metadata: { name: "a" } };
    const created = await server.requestOk("POST", path, { body });
    assert.deepEqual(created["data"], { stage: "changed", level: 3 });
  });

  it("receives custom resources in the version that its rules name", async () => {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    await install(server, cronTabs({ versions: [version("v1", false), version("v2", true)] }));
    webhook.respondWith("/change", () => ({
      patch: [{ op: "add", path: "/stage", value: "changed" }],
    }));
    const rules = [
      { ...rulesFor("crontabs", ["CREATE"], "stable.example.com")[0], apiVersions: ["v2"] },
    ];
    await register(server, "mutating", mutating({ rules }));
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/n/crontabs";
    const created = await server.requestOk("POST", path, {
      body: { ...custom, metadata: { name: "a" } },
    });
    assert.equal(created.apiVersion, "stable.example.com/v1");
    assert.equal(created["stage"], "changed");
    const { request } = webhook.receivedReviews[0] as (typeof webhook.receivedReviews)[number];
    assert.equal(request.object?.apiVersion, "stable.example.com/v2");
    assert.deepEqual(request["kind"], {
      group: "stable.example.com",
      version: "v2",
      kind: "CronTab",
    });
    assert.deepEqual(request["requestKind"], {
      group: "stable.example.com",
      version: "v1",
      kind: "CronTab",
    });
    const exact = [{ op: "replace", path: "/webhooks/0/matchPolicy", value: "Exact" }];
    await server.patch(
      `/clusters/a${registration}/mutatingwebhookconfigurations/change`,
      "json",
      exact,
    );
    const other = await server.requestOk("POST", path, {
      body: { ...custom, metadata: { name: "b" } },
    });
    assert.equal(other["stage"], undefined);
  });

  it("is called again after later changes of the object if its reinvocationPolicy is IfNeeded", async () => {
    webhook.respondWith("/change", ({ object }) => ({
      patch: [
        {
          op: "add",
          path: "/data",
          value: { ...object?.data, seen: String(Object.keys(object?.data ?? {}).length) },
        },
      ],
    }));
    webhook.respondWith("/then", () => ({
      patch: [{ op: "add", path: "/data/later", value: "yes" }],
    }));
    await register(
      server,
      "mutating",
      mutating({ name: "a-first.example.com", reinvocationPolicy: "IfNeeded" }),
    );
    await register(
      server,
      "mutating",
      mutating({ name: "b-then.example.com", clientConfig: webhook.client("/then") }),
    );
    const created = await server.requestOk("POST", configMaps, { body: configMap("a") });
    assert.deepEqual(created.data, { seen: "2", later: "yes" });
    assert.deepEqual(
      webhook.receivedReviews.map(({ path }) => path.split("?")[0]),
      ["/change", "/then", "/change"],
    );
  });

  it("cannot produce an invalid object of the kind", async () => {
    webhook.respondWith("/change", () => ({ patch: [{ op: "add", path: "/data", value: 7 }] }));
    await register(server, "mutating", mutating());
    const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(status, 500);
    assert.match(object.message ?? "", /^Internal error occurred: /);
  });

  it("does not receive objects that its selectors do not match", async () => {
    setData("/change", "seen", "yes");
    const skip = [{ key: "skip", operator: "NotIn", values: ["yes"] }];
    await register(
      server,
      "mutating",
      mutating({
        objectSelector: { matchExpressions: skip },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "n" } },
      }),
    );
    const seen = (object: AnyObject) => object.data?.["seen"];
    assert.equal(seen(await server.requestOk("POST", configMaps, { body: configMap("a") })), "yes");
    const labelled = { metadata: { name: "b", labels: { skip: "yes" } } };
    assert.equal(seen(await server.requestOk("POST", configMaps, { body: labelled })), undefined);
    const elsewhere = "/clusters/a/api/v1/namespaces/default/configmaps";
    assert.equal(
      seen(await server.requestOk("POST", elsewhere, { body: configMap("a") })),
      undefined,
    );
  });

  it("does not apply to the kinds that configure admission, so that tenants cannot lock themselves out", async () => {
    denyAll();
    webhook.respondWith("/change", () => ({
      patch: [{ op: "add", path: "/metadata/labels", value: { changed: "yes" } }],
    }));
    const rules = rulesFor("*", ["*"], "*");
    await register(server, "validating", validating({ rules }));
    await register(server, "mutating", mutating({ rules }));
    const path = `/clusters/a${registration}/validatingwebhookconfigurations`;
    const body = { metadata: { name: "new" } };
    assert.equal((await server.requestOk("POST", path, { body })).metadata.labels, undefined);
    await server.requestOk("DELETE", `${path}/new`);
    await server.requestOk("DELETE", `${path}/check`);
  });
});
