/**
 * Goal: the objects of the API sharing kinds belong to one workspace: tenants of other workspaces
 * neither read, change nor detect them, by any request.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type AnyObject,
  register,
  rulesFor,
  type TestUser,
  WebhookServer,
} from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import { apis, bind, bindingTo, cowboy, flushPendingWork, offer } from "./test-support/cowboys.ts";

const kinds = [
  ["v1alpha1", "apiresourceschemas", "today.cowboys.wildwest.dev"],
  ["v1alpha2", "apiexports", "cowboys"],
  ["v1alpha1", "apiexports", "cowboys"],
  ["v1alpha2", "apibindings", "cowboys"],
  ["v1alpha1", "apibindings", "cowboys"],
  ["v1alpha1", "apiexportendpointslices", "cowboys"],
] as const;
const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";

/** Workspace b exports an API, and has bound it itself; workspace a has nothing. */
async function started(): Promise<TestServer> {
  const test = await TestServer.start();
  await offer(test, "b");
  await bind(test, "b", "b");
  for (const cluster of ["a", "b"])
    await test.requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, {
      user: "masters",
      body: { metadata: { name: "default" } },
    });
  await test.requestOk("POST", `/clusters/b${inDefault}`, {
    user: "b",
    body: cowboy("secret-of-b"),
  });
  await flushPendingWork(test);
  return test;
}

describe("shared APIs of cluster b", () => {
  for (const [version, resource, name] of kinds) {
    it(`${resource} in ${version} cannot be read, changed or deleted from outside`, async () => {
      const test = await started();
      const path = `${apis("b", version)}/${resource}`;
      const before = (await test.get(`${path}/${name}`, { user: "b" })).text;
      for (const user of ["a", "nobody", "anonymous"] as TestUser[]) {
        for (const target of [path, `${path}/${name}`, `${path}?watch=1`])
          assert.equal((await test.get(target, { user })).status, 403, `${user} ${target}`);
        for (const method of ["PUT", "DELETE"])
          assert.equal((await test.request(method, `${path}/${name}`, { user })).status, 403);
        const everywhere = path.replace("/clusters/b/", "/clusters/*/");
        assert.equal((await test.get(everywhere, { user })).status, 403);
      }
      const own = await test.requestOk("GET", path.replace("/b/", "/a/"), { user: "a" });
      assert.deepEqual(own.items, []);
      assert.equal((await test.get(`${path}/${name}`, { user: "b" })).text, before);
      await test.close();
    });
  }

  it("cannot be bound without permission, and the error is the same for exports that do not exist", async () => {
    const test = await started();
    const refusal = async (body: object) => {
      const answer = await test.request("POST", `${apis("a")}/apibindings`, { user: "a", body });
      assert.equal(answer.status, 403);
      return answer.object.message;
    };
    const there = await refusal(bindingTo("b"));
    const nowhere = await refusal({
      ...bindingTo("b"),
      spec: { reference: { export: { path: "b", name: "nowhere" } } },
    });
    assert.equal(
      there?.replaceAll("cowboys", "nowhere"),
      nowhere?.replaceAll("cowboys", "nowhere"),
    );
    assert.match(there ?? "", /no permission to bind to export b:cowboys/);
    await test.close();
  });

  it("are not revealed to a webhook that is called for changes of a binding", async () => {
    const test = await started();
    const webhook = await WebhookServer.start();
    webhook.respondWith("/see", () => ({}));
    await register(test, "mutating", {
      name: "see.example.com",
      clientConfig: webhook.client("/see"),
      rules: rulesFor("apibindings", ["CREATE"], "apis.kcp.io"),
    });
    const create = (name: string) =>
      test.request("POST", `${apis("a")}/apibindings`, {
        user: "a",
        body: { ...bindingTo("b"), spec: { reference: { export: { path: "b", name } } } },
      });
    for (const name of ["cowboys", "nowhere"]) assert.equal((await create(name)).status, 403);
    assert.deepEqual(webhook.receivedReviews, []);
    await webhook.close();
    await test.close();
  });

  it("are not revealed by a WorkspaceType, nor bound by a type that names them before they exist", async () => {
    const test = await started();
    const types = "/clusters/a/apis/tenancy.kcp.io/v1alpha1/workspacetypes";
    const make = (name: string, defaultAPIBindings: object[]) =>
      test.request("POST", types, {
        user: "a",
        body: { metadata: { name }, spec: { defaultAPIBindings } },
      });
    const refusal = async (path: string, name: string) => {
      const { status, object } = await make("foreign", [{ path, export: name }]);
      assert.equal(status, 403, `${path}:${name}`);
      return object.message?.replace(`${path}:${name}`, "<export>");
    };
    const words =
      'workspacetypes.tenancy.kcp.io "foreign" is forbidden: unable to create or update WorkspaceType: no permission to bind to export <export>';
    assert.equal(await refusal("b", "cowboys"), words);
    assert.equal(await refusal("b", "nowhere"), words);
    assert.equal(await refusal("root:nowhere", "cowboys"), words);
    assert.equal(await refusal("not a path", "cowboys"), words);

    // A type may name an export of its own workspace before the export exists, and entries that it
    // has already are not authorized again.
    assert.equal((await make("own", [{ export: "later" }])).status, 201);
    const own = `${types}/own`;
    const added = {
      spec: { defaultAPIBindings: [{ export: "later" }, { path: "b", export: "x" }] },
    };
    assert.equal((await test.patch(own, "merge", added, { user: "a" })).status, 403);
    const labels = { metadata: { labels: { touched: "yes" } } };
    assert.equal((await test.patch(own, "merge", labels, { user: "a" })).status, 200);
    await test.close();
  });

  it("have objects that only b and users with access to the export's content can read", async () => {
    const test = await started();
    const seenBy = async (user: TestUser, path: string) => {
      const { status, text } = await test.get(path, { user });
      return status === 200 && text.includes("secret-of-b");
    };
    const view = "/services/apiexport/b/cowboys/clusters";
    const table: [path: string, readers: TestUser[]][] = [
      [`/clusters/b${inDefault}`, ["b", "admin", "masters"]],
      [`${view}/*/apis/wildwest.dev/v1alpha1/cowboys`, ["b", "admin", "masters"]],
      [`${view}/b${inDefault}`, ["b", "admin", "masters"]],
      [`${view}/a${inDefault}`, []],
      [`/clusters/a${inDefault}`, []],
      ["/clusters/*/apis/wildwest.dev/v1alpha1/cowboys", []],
    ];
    for (const [path, readers] of table)
      for (const user of ["a", "b", "nobody", "anonymous", "admin", "masters"] as TestUser[])
        assert.equal(await seenBy(user, path), readers.includes(user), `${user} ${path}`);
    await test.close();
  });

  it("have statuses that only the system writes", async () => {
    const test = await started();
    const status = { status: { identityHash: "0".repeat(64), phase: "", boundResources: [] } };
    for (const resource of ["apiexports", "apibindings"]) {
      const path = `${apis("b")}/${resource}/cowboys`;
      const before = (await test.requestOk("GET", path, { user: "b" })) as AnyObject;
      assert.equal(
        (await test.patch(`${path}/status`, "merge", status, { user: "admin" })).status,
        403,
      );
      assert.equal((await test.patch(path, "merge", status, { user: "b" })).status, 200);
      assert.deepEqual(
        (await test.requestOk("GET", path, { user: "b" }))["status"],
        before["status"],
      );
    }
    await test.close();
  });
});
