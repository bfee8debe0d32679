/**
 * Goal: consumers of an export with virtual storage read all objects that its provider publishes,
 * and no others, and change nothing.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, RoleWriter } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../../testing/index.ts";
import { apis, flushPendingWork, until } from "../test-support/cowboys.ts";
import {
  bindToLaw,
  cache,
  cachedResource,
  cachedSlice,
  masters,
  publish,
  readyResource,
  sheriff,
  sheriffSchema,
  sheriffs,
  statusOf,
  virtualExport,
} from "../test-support/sheriffs.ts";

const selector = { labelSelector: { matchLabels: { public: "true" } } };
const publicly = { public: "true" };
const own = "/clusters/a";
const names = (list: AnyObject) => (list.items ?? []).map(({ metadata }) => metadata.name);
const clusterOf = ({ metadata }: AnyObject) => metadata.annotations?.["kcp.io/cluster"];

describe("a resource with virtual storage", () => {
  let test: TestServer;

  before(async () => {
    test = await TestServer.start();
    await publish(test, "a", selector);
    for (const [name, labels] of [
      ["wyatt", publicly],
      ["pat", publicly],
      ["secret", {}],
    ] as const)
      await test.requestOk("POST", `${own}${sheriffs}`, {
        ...masters,
        body: sheriff(name, labels),
      });
    await bindToLaw(test, "b", "a");
    await flushPendingWork(test);
  });
  after(() => test.close());

  const inB = (rest = "", options: object = { user: "b" }) =>
    test.get(`/clusters/b${sheriffs}${rest}`, options);

  it("is bound without storage versions, and has read-only verbs in discovery and OpenAPI", async () => {
    const bound = await test.requestOk("GET", `${apis("b")}/apibindings/law`, masters);
    const { phase, boundResources } = bound["status"] as {
      phase: string;
      boundResources: readonly AnyObject[];
    };
    assert.equal(phase, "Bound");
    assert.equal(boundResources[0]?.["storageVersions"], undefined);
    const list = await test.requestOk("GET", "/clusters/b/apis/wildwest.dev/v1alpha1", {
      user: "b",
    });
    const resources = list["resources"] as readonly { name: string; verbs: readonly string[] }[];
    assert.deepEqual(
      resources.map(({ name, verbs }) => [name, verbs]),
      [
        ["sheriffs", ["get", "list", "watch"]],
        ["sheriffs/status", ["get"]],
      ],
    );
    const openApi = await test.requestOk(
      "GET",
      "/clusters/b/openapi/v3/apis/wildwest.dev/v1alpha1",
      { user: "b" },
    );
    const paths = openApi["paths"] as Readonly<Record<string, object>>;
    assert.deepEqual(
      Object.keys(paths[sheriffs] ?? {}).filter((key) => key !== "parameters"),
      ["get"],
    );
  });

  it("shows the published objects as the consumer's own, and no others", async () => {
    const list = await inB();
    assert.deepEqual(list.names, ["pat", "wyatt"]);
    assert.deepEqual(list.items.map(clusterOf), ["b", "b"]);
    assert.ok(!list.text.includes('"a"'));
    const wyatt = await inB("/wyatt");
    assert.equal(clusterOf(wyatt.object), "b");
    assert.deepEqual(wyatt.object["spec"], { intent: "keep the peace" });
    assert.equal((await inB("/wyatt/status")).status, 200);
    const [hidden, unknown] = [await inB("/secret"), await inB("/nobody")];
    assert.equal(hidden.status, 404);
    assert.equal(hidden.text.replaceAll("secret", "nobody"), unknown.text);
    const byName = await inB("?fieldSelector=metadata.name%3Dsecret");
    assert.deepEqual(byName.names, []);
    const table = await inB("", {
      user: "b",
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    assert.deepEqual(
      (table.object["rows"] as readonly { cells: readonly string[] }[]).map(
        ({ cells }) => cells[0],
      ),
      ["pat", "wyatt"],
    );
  });

  it("is listed in pages whose continue tokens are valid nowhere else", async () => {
    const first = await inB("?limit=1");
    assert.deepEqual(first.names, ["pat"]);
    const { continue: token = "" } = first.object.metadata;
    const second = await inB(`?limit=1&continue=${encodeURIComponent(token)}`);
    assert.deepEqual(second.names, ["wyatt"]);
  });

  it("notifies watches of objects that are published, changed, and withdrawn", async () => {
    const { resourceVersion } = (await inB()).object.metadata;
    const path = `/clusters/b${sheriffs}?watch=1&resourceVersion=${resourceVersion}`;
    const watch = await test.watch(path, { user: "b" });
    const label = (is: string | null) =>
      test.patch(
        `${own}${sheriffs}/secret`,
        "merge",
        { metadata: { labels: { public: is } } },
        masters,
      );
    await label("true");
    await test.patch(`${own}${sheriffs}/secret`, "merge", { spec: { intent: "rest" } }, masters);
    await label(null);
    await test.patch(`${own}${sheriffs}/secret`, "merge", { spec: { intent: "hide" } }, masters);
    await test.requestOk("DELETE", `${own}${sheriffs}/pat`, masters);
    const events = await watch.take(4);
    assert.deepEqual(
      events.map(({ type, object }) => `${type} ${object.metadata.name} ${clusterOf(object)}`),
      ["ADDED secret b", "MODIFIED secret b", "DELETED secret b", "DELETED pat b"],
    );
    await watch.leave();
  });

  it("is read-only: both in the workspace and through a virtual workspace", async () => {
    const body = sheriff("mine", publicly);
    for (const at of ["/clusters/b", "/services/apiexport/a/law/clusters/b"]) {
      const { status: code } = await test.request("POST", `${at}${sheriffs}`, { ...masters, body });
      assert.equal(code, 405, at);
      for (const [method, rest] of [
        ["PUT", "/wyatt"],
        ["DELETE", "/wyatt"],
        ["DELETE", ""],
        ["PUT", "/wyatt/status"],
      ] as const) {
        const answer = await test.request(method, `${at}${sheriffs}${rest}`, { ...masters, body });
        assert.equal(answer.status, 405, `${method} ${at}${rest}`);
      }
      const patched = await test.patch(`${at}${sheriffs}/wyatt`, "merge", { spec: {} }, masters);
      assert.equal(patched.status, 405, at);
    }
    const path = "/services/replication/a/sheriffs/clusters/b";
    const answer = await test.request("POST", `${path}${sheriffs}`, { ...masters, body });
    assert.equal(answer.status, 403);
    assert.match(answer.text, /write access to Replication virtual workspace is not allowed/);
    assert.deepEqual(names(await test.requestOk("GET", `${own}${sheriffs}`, masters)), [
      "secret",
      "wyatt",
    ]);
  });

  it("is served in the virtual workspaces of the export and of the slice, to users with access to the export's content", async () => {
    for (const service of ["apiexport/a/law", "replication/a/sheriffs"]) {
      const at = `/services/${service}/clusters`;
      const list = await test.get(`${at}/b${sheriffs}`, { user: "a" });
      assert.deepEqual([list.names, list.items.map(clusterOf)], [["wyatt"], ["b"]], service);
      assert.equal((await test.get(`${at}/b${sheriffs}/wyatt`, { user: "a" })).status, 200);
      const all = await test.get(`${at}/*${sheriffs}`, { user: "a" });
      assert.equal(all.status, 400, service);
      assert.match(all.text, /Wildcard request not supported/);
      const found = await test.requestOk("GET", `${at}/*/apis/wildwest.dev/v1alpha1`, {
        user: "a",
      });
      assert.match(JSON.stringify(found), /"sheriffs"/);
      assert.equal((await test.get(`${at}/c${sheriffs}`, { user: "a" })).status, 403, service);
    }
    const others = await test.get(
      "/services/replication/a/sheriffs/clusters/b/api/v1/secrets",
      masters,
    );
    assert.equal(others.status, 403);
  });

  it("is rejected for other users like a resource that does not exist", async () => {
    const refusals = [];
    for (const [slice, cluster] of [
      ["a/sheriffs", "b"],
      ["a/nothing", "b"],
      ["nowhere/nothing", "b"],
    ]) {
      const answer = await test.get(
        `/services/replication/${slice}/clusters/${cluster}${sheriffs}`,
        { user: "b" },
      );
      refusals.push([answer.status, answer.object.message]);
    }
    assert.equal(refusals[0]?.[0], 403);
    assert.deepEqual(refusals[1], refusals[0]);
    assert.deepEqual(refusals[2], refusals[0]);
  });

  it("ends the watches of published objects when the publication changes, and shows the new selection", async () => {
    const watch = await test.watch(`/clusters/b${sheriffs}?watch=1`, { user: "b" });
    assert.deepEqual(
      (await watch.take(1)).map(({ object }) => object.metadata.name),
      ["wyatt"],
    );
    const path = `${cache("a")}/clustercachedresources/sheriffs`;
    const spec = { labelSelector: { matchLabels: { public: "no" } } };
    await test.patch(path, "merge", { spec }, masters);
    assert.deepEqual(await watch.rest(), []);
    assert.deepEqual((await inB()).names, []);
    await test.patch(path, "merge", { spec: selector }, masters);
    assert.deepEqual((await inB()).names, ["wyatt"]);
    const counted = await test.watch(`/clusters/b${sheriffs}?watch=1`, { user: "b" });
    await counted.take(1);
    await test.requestOk("POST", `${own}${sheriffs}`, {
      ...masters,
      body: sheriff("ike", publicly),
    });
    await until(test, "it is counted", async () => {
      const resource = await test.requestOk("GET", path, masters);
      return statusOf(resource).resourceCounts?.local === 2;
    });
    await test.requestOk("POST", `${own}${sheriffs}`, {
      ...masters,
      body: sheriff("bat", publicly),
    });
    assert.deepEqual(
      (await counted.take(2)).map(({ object }) => object.metadata.name),
      ["ike", "bat"],
    );
    await counted.leave();
  });

  it("cannot be published again by a consumer", async () => {
    const at = `${cache("b")}/clustercachedresources`;
    await test.requestOk("POST", at, { ...masters, body: cachedResource() });
    await until(test, "it is refused", async () => {
      const { conditions = [] } = statusOf(await test.requestOk("GET", `${at}/sheriffs`, masters));
      return conditions.some(({ message }) => message?.endsWith("is not stored in this workspace"));
    });
  });

  it("leaves the provider's objects alone when the binding is deleted", async () => {
    const before = names(await test.requestOk("GET", `${own}${sheriffs}`, masters));
    await test.requestOk("DELETE", `${apis("b")}/apibindings/law`, masters);
    await until(test, "the binding is gone", async () => {
      return (await test.get(`${apis("b")}/apibindings/law`, masters)).status === 404;
    });
    assert.equal((await inB()).status, 404);
    assert.deepEqual(names(await test.requestOk("GET", `${own}${sheriffs}`, masters)), before);
  });
});

describe("published objects of a workspace", () => {
  it("are exported by another workspace only with its permission, and with its identity", async () => {
    const test = await TestServer.start();
    const made = await publish(test, "a");
    await test.requestOk("POST", `${own}${sheriffs}`, { ...masters, body: sheriff("wyatt") });
    const slices = `${cache("b")}/clustercachedresourceendpointslices`;
    const foreign = (path: string, name: string) =>
      test.request("POST", slices, {
        user: "b",
        body: cachedSlice({ clusterCachedResource: { path, name } }),
      });
    const [there, missing] = [await foreign("a", "sheriffs"), await foreign("x", "sheriffs")];
    assert.equal(there.status, 403);
    assert.match(there.text, /no permission to bind to ClusterCachedResource a:sheriffs/);
    assert.equal(missing.text, there.text.replace("a:sheriffs", "x:sheriffs"));
    const roles = new RoleWriter(test, "a");
    await roles.clusterRole("lender", [
      { verbs: ["bind"], apiGroups: ["cache.kcp.io"], resources: ["clustercachedresources"] },
    ]);
    await roles.clusterBinding("lender", "lender", "b");
    assert.equal((await foreign("a", "sheriffs")).status, 201);

    await test.requestOk("POST", `${apis("b", "v1alpha1")}/apiresourceschemas`, {
      ...masters,
      body: sheriffSchema,
    });
    await readyResource(test, "a");
    const offer = (identityHash: string) =>
      test.request("POST", `${apis("b")}/apiexports`, {
        user: "b",
        body: virtualExport(identityHash),
      });
    assert.equal((await offer("guessed")).status, 201);
    await flushPendingWork(test);
    await bindToLaw(test, "c", "b");
    assert.equal((await test.get(`/clusters/c${sheriffs}`, masters)).status, 500);
    await test.patch(
      `${apis("b")}/apiexports/law`,
      "merge",
      { spec: virtualExport(statusOf(made).identityHash ?? "").spec },
      { user: "b" },
    );
    assert.deepEqual((await test.get(`/clusters/c${sheriffs}`, masters)).names, ["wyatt"]);
    await test.close();
  });
});
