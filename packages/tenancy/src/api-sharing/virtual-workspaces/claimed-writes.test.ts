/**
 * Goal: the writes of a provider through a permission claim grant it nothing that the claim does
 * not.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../../testing/index.ts";
import { apis, bind, flushPendingWork, offer } from "../test-support/cowboys.ts";

const view = (cluster: string) => `/services/apiexport/a/cowboys/clusters/${cluster}`;
const inDefault = (resource: string) => `/api/v1/namespaces/default/${resource}`;
const secrets = inDefault("secrets");
const asProvider = { user: "a" } as const;
const asConsumer = { user: "masters" } as const;

interface Agreed {
  readonly group?: string;
  readonly resource: string;
  readonly verbs?: readonly string[];
  readonly selector?: object;
}

/** Provider a, consumer b, and the claims that b accepted. */
async function started(...agreed: readonly Agreed[]): Promise<TestServer> {
  const test = await TestServer.start();
  const claims = agreed.map(({ group = "", resource, verbs = ["*"] }) => ({
    group,
    resource,
    verbs,
  }));
  await offer(test, "a", { permissionClaims: claims });
  await test.requestOk("POST", "/clusters/b/api/v1/namespaces", {
    ...asConsumer,
    body: { metadata: { name: "default" } },
  });
  const accepted = agreed.map(({ selector = { matchAll: true } }, at) => ({
    ...claims[at],
    selector,
    state: "Accepted",
  }));
  await bind(test, "b", "a", "cowboys", accepted);
  await flushPendingWork(test);
  return test;
}

const labelled = { matchLabels: { show: "yes" } };
const tokenSecret = (account: string, metadata: object = { name: "gift" }) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "kubernetes.io/service-account-token",
  metadata: {
    labels: { show: "yes" },
    annotations: { "kubernetes.io/service-account.name": account },
    ...metadata,
  },
});
const account = (name: string, labels: object = {}) => ({ metadata: { name, labels } });

describe("a service account token Secret", () => {
  for (const [how, selector] of Object.entries({ some: labelled, all: { matchAll: true } }))
    it(`cannot be made by a claim on ${how} Secrets, however it is sent`, async () => {
      const test = await started({ resource: "secrets", selector });
      await test.requestOk("POST", `/clusters/b${inDefault("serviceaccounts")}`, {
        ...asConsumer,
        body: account("admin"),
      });
      const at = `${view("b")}${secrets}`;
      const body = tokenSecret("admin");
      const generated = tokenSecret("admin", { generateName: "gift-" });
      const answers = [
        await test.request("POST", at, { ...asProvider, body }),
        await test.request("POST", `${at}?dryRun=All`, { ...asProvider, body }),
        await test.request("POST", at, { ...asProvider, body: generated }),
        await test.patch(`${at}/gift?fieldManager=p&force=true`, "apply", body, asProvider),
      ];
      for (const { status, object } of answers) {
        assert.equal(status, 403);
        assert.match(
          object.message ?? "",
          /is forbidden: no accepted permission claim to create serviceaccounts covers service account "admin"$/,
        );
      }
      const plain = { metadata: { name: "plain" }, stringData: { a: "b" } };
      await test.requestOk("POST", at, { ...asProvider, body: plain });
      await test.close();
    });

  it("that the consumer exposes cannot be redirected to another ServiceAccount", async () => {
    const test = await started({ resource: "secrets", selector: labelled });
    await test.requestOk("POST", `/clusters/b${secrets}`, {
      ...asConsumer,
      body: tokenSecret("mine"),
    });
    const at = `${view("b")}${secrets}/gift`;
    const seen = await test.requestOk("GET", at, asProvider);
    const annotations = { "kubernetes.io/service-account.name": "admin" };
    const turned = { ...seen, metadata: { ...seen.metadata, annotations } };
    assert.equal((await test.request("PUT", at, { ...asProvider, body: turned })).status, 403);
    const patch = { metadata: { annotations: { "kubernetes.io/service-account.name": "admin" } } };
    for (const type of ["merge", "strategic"] as const)
      assert.equal((await test.patch(at, type, patch, asProvider)).status, 403);
    const touched = { metadata: { annotations: { note: "seen" } } };
    assert.equal((await test.patch(at, "merge", touched, asProvider)).status, 200);
    await test.close();
  });

  it("is created for ServiceAccounts that the provider may create, and for no others", async () => {
    const test = await started(
      { resource: "secrets" },
      { resource: "serviceaccounts", selector: labelled },
    );
    for (const body of [account("admin"), account("theirs", { show: "yes" })])
      await test.requestOk("POST", `/clusters/b${inDefault("serviceaccounts")}`, {
        ...asConsumer,
        body,
      });
    const make = (name: string) =>
      test.request("POST", `${view("b")}${secrets}`, {
        ...asProvider,
        body: tokenSecret(name, { name: `of-${name}` }),
      });
    assert.equal((await make("theirs")).status, 201);
    assert.equal((await make("admin")).status, 403);
    assert.equal((await make("not-there")).status, 403);
    await test.close();
  });

  it("is not created by a provider that may only read ServiceAccounts, nor requested as a token of an account", async () => {
    const test = await started(
      { resource: "secrets" },
      { resource: "serviceaccounts", verbs: ["get", "list"] },
    );
    await test.requestOk("POST", `/clusters/b${inDefault("serviceaccounts")}`, {
      ...asConsumer,
      body: account("admin"),
    });
    const at = `${view("b")}${secrets}`;
    const made = await test.request("POST", at, { ...asProvider, body: tokenSecret("admin") });
    assert.equal(made.status, 403);
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const asked = `${view("b")}${inDefault("serviceaccounts")}/admin/token`;
    const { status } = await test.request("POST", asked, { ...asProvider, body });
    assert.ok([403, 404, 405].includes(status), String(status));
    await test.close();
  });
});

describe("a permission claim", () => {
  it("on APIBindings accepts no claims", async () => {
    const test = await started(
      { group: "apis.kcp.io", resource: "apibindings" },
      { resource: "secrets", selector: labelled },
    );
    const at = `${view("b")}/apis/apis.kcp.io/v1alpha2/apibindings`;
    const own = await test.requestOk("GET", `${at}/cowboys`, asProvider);
    const { permissionClaims, ...spec } = own["spec"] as { permissionClaims: readonly AnyObject[] };
    const wider = permissionClaims.map((one) => ({ ...one, selector: { matchAll: true } }));
    const patch = { spec: { permissionClaims: wider } };
    const refusal = await test.patch(`${at}/cowboys`, "merge", patch, asProvider);
    assert.equal(refusal.status, 403);
    assert.match(refusal.object.message ?? "", /cannot be accepted by a permission claim$/);
    const second = {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIBinding",
      metadata: { name: "second" },
      spec: { ...spec, permissionClaims: wider },
    };
    assert.equal((await test.request("POST", at, { ...asProvider, body: second })).status, 403);
    const old = `${view("b")}/apis/apis.kcp.io/v1alpha1/apibindings/cowboys`;
    const all = [{ resource: "secrets", state: "Accepted", all: true }];
    const widened = { spec: { permissionClaims: all } };
    assert.equal((await test.patch(old, "merge", widened, asProvider)).status, 403);
    const touched = { metadata: { annotations: { note: "seen" } } };
    assert.equal((await test.patch(`${at}/cowboys`, "merge", touched, asProvider)).status, 200);
    await test.close();
  });

  it("on APIBindings that selects others leaves the provider's own binding visible, and unchanged", async () => {
    for (const verbs of [["*"], ["get", "list", "update", "patch", "delete"]]) {
      const claim = { group: "apis.kcp.io", resource: "apibindings", verbs, selector: labelled };
      const test = await started(claim);
      const path = "/apis/apis.kcp.io/v1alpha2/apibindings";
      for (const cluster of ["b", "*"]) {
        const list = await test.get(`${view(cluster)}${path}`, asProvider);
        assert.deepEqual(list.names, ["cowboys"]);
      }
      const at = `${view("b")}${path}/cowboys`;
      assert.equal((await test.get(at, asProvider)).status, 200);
      const patch = { metadata: { labels: { show: "yes" } } };
      assert.equal((await test.patch(at, "merge", patch, asProvider)).status, 403);
      assert.equal((await test.request("DELETE", at, asProvider)).status, 403);
      const state = { spec: { permissionClaims: [] } };
      const own = `${apis("b")}/apibindings/cowboys`;
      assert.equal((await test.patch(own, "merge", state, asConsumer)).status, 200);
      await flushPendingWork(test);
      assert.equal((await test.get(at, asProvider)).status, 200);
      assert.equal((await test.patch(at, "merge", patch, asProvider)).status, 403);
      await test.close();
    }
  });

  it("without the verb delete deletes nothing through an owner that does not exist", async () => {
    const test = await started({ resource: "configmaps", verbs: ["get", "update", "patch"] });
    const at = inDefault("configmaps");
    const body = { metadata: { name: "kept" } };
    await test.requestOk("POST", `/clusters/b${at}`, { ...asConsumer, body });
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "no-such-uid" };
    const patch = { metadata: { ownerReferences: [owner] } };
    const refusal = await test.patch(`${view("b")}${at}/kept`, "merge", patch, asProvider);
    assert.equal(refusal.status, 403);
    assert.match(refusal.object.message ?? "", /cannot set an ownerRef on a resource you can't/);
    await test.close();
  });

  it("moves no object into or out of its selection", async () => {
    const resource = "namespaces";
    const test = await started({ resource, selector: labelled });
    const at = "/api/v1/namespaces";
    const body = { metadata: { name: "shown", labels: { show: "yes" } } };
    await test.requestOk("POST", `/clusters/b${at}`, { ...asConsumer, body });
    for (const path of [`${at}/shown`, `${at}/shown/status`])
      for (const show of ["no", null]) {
        const patch = { metadata: { labels: { show } } };
        await test.patch(`${view("b")}${path}`, "merge", patch, asProvider);
        const seen = await test.requestOk("GET", `/clusters/b${at}/shown`, asConsumer);
        assert.equal(seen.metadata.labels?.["show"], "yes", `${path} ${show}`);
      }
    const into = { metadata: { labels: { show: "yes" } } };
    const hidden = await test.patch(`${view("b")}${at}/default`, "merge", into, asProvider);
    assert.equal(hidden.status, 404);
    await test.close();
  });

  it("deletes a collection only as far as it selects", async () => {
    const test = await started({ resource: "configmaps", selector: labelled });
    const at = inDefault("configmaps");
    for (const [name, show] of Object.entries({ shown: "yes", hidden: "no" }))
      await test.requestOk("POST", `/clusters/b${at}`, {
        ...asConsumer,
        body: { metadata: { name, labels: { show } } },
      });
    await flushPendingWork(test);
    await test.requestOk("DELETE", `${view("b")}${at}`, asProvider);
    assert.deepEqual((await test.get(`/clusters/b${at}`, asConsumer)).names, ["hidden"]);
    await test.close();
  });

  it("without the verb create creates nothing by an apply", async () => {
    const test = await started({ resource: "configmaps", verbs: ["get", "update", "patch"] });
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "new" } };
    const at = `${view("b")}${inDefault("configmaps")}/new?fieldManager=p`;
    assert.equal((await test.patch(at, "apply", body, asProvider)).status, 403);
    await test.close();
  });

  it("on roles grants no permission that the provider does not have in the consumer's workspace", async () => {
    const group = "rbac.authorization.k8s.io";
    const test = await started(
      { group, resource: "clusterroles" },
      { group, resource: "clusterrolebindings" },
    );
    const at = `${view("b")}/apis/${group}/v1`;
    const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
    const role = { metadata: { name: "all" }, rules };
    const refused = await test.request("POST", `${at}/clusterroles`, { ...asProvider, body: role });
    assert.equal(refused.status, 403);
    const body = {
      metadata: { name: "all" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "User", apiGroup: group, name: "a" }],
    };
    const bound = await test.request("POST", `${at}/clusterrolebindings`, { ...asProvider, body });
    assert.equal(bound.status, 403);
    await test.close();
  });
});

describe("an object that intercepts requests", () => {
  const group = "admissionregistration.k8s.io";
  const webhook = (apiGroups: string[], resources: string[]) => ({
    metadata: { name: "spy" },
    webhooks: [
      {
        name: "spy.example.com",
        clientConfig: { url: "https://127.0.0.1:9/" },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        rules: [{ apiGroups, apiVersions: ["*"], operations: ["*"], resources }],
      },
    ],
  });

  it("covers the provider's own resources and those that it may read completely", async () => {
    const test = await started(
      { group, resource: "validatingwebhookconfigurations" },
      { resource: "configmaps" },
      { resource: "secrets", selector: labelled },
    );
    const at = `${view("b")}/apis/${group}/v1/validatingwebhookconfigurations`;
    const post = (apiGroups: string[], resources: string[]) =>
      test.request("POST", `${at}?dryRun=All`, {
        ...asProvider,
        body: webhook(apiGroups, resources),
      });
    for (const [groups, resources] of [
      [[""], ["secrets"]],
      [["*"], ["*"]],
      [[""], ["configmaps", "*/*"]],
      [["", "apps"], ["configmaps"]],
    ] as const)
      assert.equal((await post([...groups], [...resources])).status, 403);
    assert.equal((await post([""], ["configmaps"])).status, 201);
    assert.equal((await post(["wildwest.dev"], ["cowboys", "cowboys/status"])).status, 201);
    await test.close();
  });

  it("is not redirected to another address", async () => {
    const test = await started({ group, resource: "validatingwebhookconfigurations" });
    const at = `apis/${group}/v1/validatingwebhookconfigurations`;
    const body = webhook(["*"], ["*"]);
    await test.requestOk("POST", `/clusters/b/${at}`, { ...asConsumer, body });
    const [hook] = body.webhooks;
    const patch = { webhooks: [{ ...hook, clientConfig: { url: "https://127.0.0.1:10/" } }] };
    const turned = await test.patch(`${view("b")}/${at}/spy`, "merge", patch, asProvider);
    assert.equal(turned.status, 403);
    await test.close();
  });

  it("has no conversion webhooks of CRDs", async () => {
    const test = await started({
      group: "apiextensions.k8s.io",
      resource: "customresourcedefinitions",
    });
    const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
    const schema = { openAPIV3Schema: { type: "object" } };
    const clientConfig = { url: "https://127.0.0.1:9/" };
    const conversion = {
      strategy: "Webhook",
      webhook: { clientConfig, conversionReviewVersions: ["v1"] },
    };
    const body = {
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        names,
        scope: "Namespaced",
        conversion,
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
    const at = `${view("b")}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
    assert.equal((await test.request("POST", at, { ...asProvider, body })).status, 403);
    const { conversion: _, ...plain } = body.spec;
    await test.requestOk("POST", at, { ...asProvider, body: { ...body, spec: plain } });
    await test.close();
  });
});
