/**
 * Goal: a provider sees its consumers' objects and acts on them within its permissions, and no
 * other user can.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject, TestUser } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../../testing/index.ts";
import { apis, bind, cowboy, flushPendingWork, offer } from "../test-support/cowboys.ts";

const view = (cluster: string) => `/services/apiexport/a/cowboys/clusters/${cluster}`;
const cowboys = "/apis/wildwest.dev/v1alpha1/cowboys";
const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
const configMaps = "/api/v1/namespaces/default/configmaps";
const claimOn = (resource: string, more: object = {}) => ({
  group: "",
  resource,
  verbs: ["*"],
  ...more,
});
const accepted = (resource: string, selector: object = { matchAll: true }) =>
  claimOn(resource, { selector, state: "Accepted" });

/** Provider a, consumers b and c; only system:masters use c. */
async function started(spec: object = {}, claims: object[] = []): Promise<TestServer> {
  const test = await TestServer.start();
  await offer(test, "a", spec);
  for (const cluster of ["b", "c"]) {
    await test.requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, {
      user: "masters",
      body: { metadata: { name: "default" } },
    });
    await bind(test, cluster, "a", "cowboys", claims);
  }
  await flushPendingWork(test);
  return test;
}

const names = (list: AnyObject) => (list.items ?? []).map(({ metadata }) => metadata.name).sort();

describe("the virtual workspace of an export", () => {
  it("shows the objects of all consumers, and notifies of new ones", async () => {
    const test = await started();
    for (const cluster of ["b", "c"])
      await test.requestOk("POST", `/clusters/${cluster}${inDefault}`, {
        user: "masters",
        body: cowboy(`of-${cluster}`),
      });
    const list = await test.requestOk("GET", `${view("*")}${cowboys}`, { user: "a" });
    assert.deepEqual(names(list), ["of-b", "of-c"]);
    assert.deepEqual(
      list.items?.map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"]),
      ["b", "c"],
    );
    const { resourceVersion } = list.metadata;
    const watch = await test.watch(
      `${view("*")}${cowboys}?watch=1&resourceVersion=${resourceVersion}`,
      { user: "a" },
    );
    await test.requestOk("POST", `/clusters/c${inDefault}`, {
      user: "masters",
      body: cowboy("late"),
    });
    const event = await watch.next();
    assert.equal(event?.type, "ADDED");
    assert.equal(event?.object.metadata.name, "late");
    await watch.leave();
    await test.close();
  });

  it("lets its provider work in the workspaces of consumers: create, update, patch, delete, status", async () => {
    const test = await started();
    const at = `${view("b")}${inDefault}`;
    const made = await test.requestOk("POST", at, { user: "a", body: cowboy("made") });
    assert.equal(made.metadata.annotations?.["kcp.io/cluster"], "b");
    const patched = await test.patch(
      `${at}/made`,
      "merge",
      { spec: { intent: "rest" } },
      { user: "a" },
    );
    assert.equal(patched.status, 200);
    const status = await test.patch(
      `${at}/made/status`,
      "merge",
      { status: { result: "done" } },
      { user: "a" },
    );
    assert.equal((status.object["status"] as { result: string }).result, "done");
    const seen = await test.requestOk("GET", `/clusters/b${inDefault}/made`, { user: "b" });
    assert.deepEqual(seen["spec"], { intent: "rest" });
    const applied = await test.patch(
      `${at}/applied?fieldManager=provider`,
      "apply",
      cowboy("applied"),
      { user: "a" },
    );
    assert.equal(applied.status, 201);
    await test.requestOk("DELETE", `${at}/made`, { user: "a" });
    assert.equal((await test.get(`/clusters/b${inDefault}/made`, { user: "b" })).status, 404);
    await test.close();
  });

  it("is the same whichever of two bindings of the export was changed last", async () => {
    const claim = accepted("configmaps", { matchLabels: { show: "yes" } });
    const test = await started({ permissionClaims: [claimOn("configmaps")] }, [claim]);
    const rejected = { ...claim, state: "Rejected" };
    await bind(test, "b", "a", "second", [rejected]);
    // This binding has the first one's resources, and accepts more claims than the first one.
    await bind(test, "b", "a", "third", [accepted("configmaps")]);
    await flushPendingWork(test);
    for (const [name, labels] of Object.entries({ shown: { show: "yes" }, hidden: {} }))
      await test.requestOk("POST", `/clusters/b${configMaps}`, {
        user: "masters",
        body: { metadata: { name, labels } },
      });
    const isAsAgreed = async () => {
      await flushPendingWork(test);
      assert.equal((await test.get(`${view("b")}${inDefault}`, { user: "a" })).status, 200);
      const list = await test.requestOk("GET", `${view("b")}${configMaps}`, { user: "a" });
      assert.deepEqual(names(list), ["shown"]);
      const everywhere = await test.requestOk("GET", `${view("*")}/api/v1/configmaps`, {
        user: "a",
      });
      assert.deepEqual(names(everywhere), ["shown"]);
    };
    await isAsAgreed();
    for (const [turn, changed] of ["cowboys", "second", "third", "cowboys"].entries()) {
      const at = `${apis("b")}/apibindings/${changed}`;
      const touched = { metadata: { labels: { touched: `in-turn-${turn}` } } };
      assert.equal((await test.patch(at, "merge", touched, { user: "masters" })).status, 200);
      await isAsAgreed();
    }
    // A claim that only one of the bindings accepts is accepted.
    const taken = { spec: { permissionClaims: [] } };
    const at = `${apis("b")}/apibindings/cowboys`;
    assert.equal((await test.patch(at, "merge", taken, { user: "masters" })).status, 200);
    await flushPendingWork(test);
    const list = await test.requestOk("GET", `${view("b")}${configMaps}`, { user: "a" });
    assert.deepEqual(names(list), ["hidden", "shown"]);
    await test.close();
  });

  it("has its own discovery and OpenAPI: exported resources, claimed resources, and bindings", async () => {
    const test = await started({ permissionClaims: [claimOn("configmaps")] });
    const groups = await test.requestOk("GET", `${view("*")}/apis`, { user: "a" });
    const found = (groups["groups"] as { name: string }[]).map(({ name }) => name).sort();
    assert.deepEqual(found, ["apis.kcp.io", "wildwest.dev"]);
    const core = await test.requestOk("GET", `${view("b")}/api/v1`, { user: "a" });
    const resources = (core["resources"] as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(resources, ["configmaps"]);
    const document = await test.requestOk(
      "GET",
      `${view("*")}/openapi/v3/apis/wildwest.dev/v1alpha1`,
      { user: "a" },
    );
    assert.match(JSON.stringify(document), /Cowboy/);
    const bindings = await test.requestOk(
      "GET",
      `${view("*")}/apis/apis.kcp.io/v1alpha2/apibindings`,
      { user: "a" },
    );
    assert.equal(bindings.items?.length, 2);
    await test.close();
  });

  it("is closed to users without access to the export's content", async () => {
    const test = await started();
    await test.requestOk("POST", `/clusters/c${inDefault}`, {
      user: "masters",
      body: cowboy("of-c"),
    });
    const paths = [`${view("*")}${cowboys}`, `${view("c")}${inDefault}`, `${view("*")}/apis`];
    for (const user of ["b", "nobody", "anonymous"] as TestUser[])
      for (const path of paths)
        assert.equal((await test.get(path, { user })).status, 403, `${user} ${path}`);
    const unknown = await test.get(`/services/apiexport/a/none/clusters/*${cowboys}`, {
      user: "b",
    });
    assert.equal(unknown.status, 403);
    assert.ok(
      unknown.object.message?.endsWith(
        'User "b" cannot list resource "cowboys" in API group "wildwest.dev" at the cluster scope: access denied',
      ),
      unknown.text,
    );
    await test.close();
  });

  it("reaches no workspace that has not bound the export, and no resource of others", async () => {
    const test = await started();
    await test.requestOk("POST", "/clusters/d/api/v1/namespaces", {
      user: "masters",
      body: { metadata: { name: "default" } },
    });
    assert.equal((await test.get(`${view("d")}${inDefault}`, { user: "a" })).status, 403);
    assert.equal((await test.get(`${view("b")}${configMaps}`, { user: "a" })).status, 403);
    assert.equal((await test.get(`${view("*")}/api/v1/secrets`, { user: "a" })).status, 404);
    assert.equal((await test.get(`${view("b")}/metrics`, { user: "a" })).status, 404);
    assert.equal((await test.get(`${view("*")}/backup`, { user: "a" })).status, 404);
    await test.close();
  });

  it("separates providers with the same names by their identity", async () => {
    const test = await started();
    await offer(test, "other");
    await bind(test, "e", "other");
    await test.requestOk("POST", "/clusters/e/api/v1/namespaces", {
      user: "masters",
      body: { metadata: { name: "default" } },
    });
    await test.requestOk("POST", `/clusters/e${inDefault}`, {
      user: "masters",
      body: cowboy("theirs"),
    });
    await test.requestOk("POST", `/clusters/b${inDefault}`, {
      user: "masters",
      body: cowboy("ours"),
    });
    const list = await test.requestOk("GET", `${view("*")}${cowboys}`, { user: "a" });
    assert.deepEqual(names(list), ["ours"]);
    const exported = await test.requestOk("GET", `${apis("a")}/apiexports/cowboys`, { user: "a" });
    const { identityHash } = exported["status"] as { identityHash: string };
    const wildcard = await test.requestOk("GET", `/clusters/*${cowboys}:${identityHash}`, {
      user: "masters",
    });
    assert.deepEqual(names(wildcard), ["ours"]);
    await test.close();
  });
});

describe("permission claims", () => {
  const spec = { permissionClaims: [claimOn("configmaps")] };

  it("grant access to existing and later objects, as far as they were accepted", async () => {
    const test = await TestServer.start();
    await offer(test, "a", spec);
    for (const cluster of ["b", "c"])
      await test.requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, {
        user: "masters",
        body: { metadata: { name: "default" } },
      });
    const put = (cluster: string, name: string) =>
      test.requestOk("POST", `/clusters/${cluster}${configMaps}`, {
        user: "masters",
        body: { metadata: { name } },
      });
    await put("b", "before");
    await put("c", "never");
    await bind(test, "b", "a", "cowboys", [accepted("configmaps")]);
    await bind(test, "c", "a");
    await flushPendingWork(test);
    await put("b", "after");
    await put("c", "never-either");
    const list = await test.requestOk("GET", `${view("*")}/api/v1/configmaps`, { user: "a" });
    assert.deepEqual(names(list), ["after", "before"]);
    assert.equal((await test.get(`${view("c")}${configMaps}`, { user: "a" })).status, 403);
    const binding = await test.requestOk("GET", `${apis("b")}/apibindings/cowboys`, { user: "b" });
    const { appliedPermissionClaims } = binding["status"] as { appliedPermissionClaims: object[] };
    assert.equal(appliedPermissionClaims.length, 1);
    await test.close();
  });

  it("grant nothing from the moment they are rejected", async () => {
    const test = await started(spec, [accepted("configmaps")]);
    const body = { metadata: { name: "x" } };
    await test.requestOk("POST", `/clusters/b${configMaps}`, { user: "b", body });
    assert.equal((await test.get(`${view("b")}${configMaps}/x`, { user: "a" })).status, 200);
    const rejected = { ...accepted("configmaps"), state: "Rejected" };
    const patch = { spec: { permissionClaims: [rejected] } };
    const path = `${apis("b")}/apibindings/cowboys`;
    assert.equal((await test.patch(path, "merge", patch, { user: "b" })).status, 200);
    assert.equal((await test.get(`${view("b")}${configMaps}/x`, { user: "a" })).status, 403);
    const list = await test.requestOk("GET", `${view("*")}/api/v1/configmaps`, { user: "a" });
    assert.deepEqual(names(list), []);
    await flushPendingWork(test);
    const object = await test.requestOk("GET", `/clusters/b${configMaps}/x`, { user: "b" });
    assert.equal(object.metadata.labels, undefined);
    await test.close();
  });

  it("cover the objects that their selector selects, and add its labels to the provider's writes", async () => {
    const selector = { matchLabels: { share: "yes" } };
    const test = await started(spec, [accepted("configmaps", selector)]);
    const put = (name: string, labels: object) =>
      test.requestOk("POST", `/clusters/b${configMaps}`, {
        user: "b",
        body: { metadata: { name, labels } },
      });
    await put("shared", { share: "yes" });
    await put("private", { share: "no" });
    const list = await test.requestOk("GET", `${view("b")}/api/v1/configmaps`, { user: "a" });
    assert.deepEqual(names(list), ["shared"]);
    const at = `${view("b")}${configMaps}`;
    assert.equal((await test.get(`${at}/private`, { user: "a" })).status, 404);
    const made = await test.requestOk("POST", at, {
      user: "a",
      body: { metadata: { name: "made" } },
    });
    assert.equal(made.metadata.labels?.["share"], "yes");
    const body = { metadata: { name: "bad", labels: { share: "no" } } };
    const refused = await test.request("POST", at, { user: "a", body });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /protected label share must have value yes/);
    assert.equal((await test.request("DELETE", `${at}/private`, { user: "a" })).status, 404);
    await test.requestOk("DELETE", at, { user: "a" });
    const left = await test.requestOk("GET", `/clusters/b${configMaps}`, { user: "b" });
    assert.deepEqual(names(left), ["private"]);
    await test.close();
  });

  it("allow the verbs that both the export and the binding name, and no others", async () => {
    const reading = claimOn("configmaps", { verbs: ["get", "list"] });
    const test = await started({ permissionClaims: [reading] }, [
      { ...reading, selector: { matchAll: true }, state: "Accepted" },
    ]);
    const at = `${view("b")}${configMaps}`;
    assert.equal((await test.get(at, { user: "a" })).status, 200);
    const body = { metadata: { name: "x" } };
    assert.equal((await test.request("POST", at, { user: "a", body })).status, 403);
    await test.close();
  });

  it("cannot be forged by labels", async () => {
    const test = await started(spec, [accepted("configmaps", { matchLabels: { share: "yes" } })]);
    await test.requestOk("POST", `/clusters/b${configMaps}`, {
      user: "b",
      body: { metadata: { name: "shared", labels: { share: "yes" } } },
    });
    const shared = await test.requestOk("GET", `/clusters/b${configMaps}/shared`, { user: "b" });
    const labels = { ...shared.metadata.labels, share: "no" };
    const body = { metadata: { name: "forged", labels } };
    const forged = await test.requestOk("POST", `/clusters/b${configMaps}`, { user: "b", body });
    assert.deepEqual(forged.metadata.labels, { share: "no" });
    await test.close();
  });
});
