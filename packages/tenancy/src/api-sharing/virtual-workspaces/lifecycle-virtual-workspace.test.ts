/**
 * The view that controllers of WorkspaceTypes have of workspaces that wait for them, and the writes
 * that are rejected.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { RequestOptions } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../../testing/index.ts";
import { until } from "../test-support/cowboys.ts";

const masters: RequestOptions = { user: "masters" };
const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
const logicalClusters = "apis/core.kcp.io/v1alpha1/logicalclusters";
const view = (id: string) => `/services/terminatingworkspaces/${id}/clusters`;

interface Waiting {
  readonly terminators?: readonly string[];
}

describe("the virtual workspace of a terminator", () => {
  let test: TestServer;
  before(async () => {
    test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
    for (const [name, extended] of [
      ["slow", "universal"],
      ["slower", "slow"],
    ] as const) {
      const spec = { extend: { with: [{ name: extended, path: "root" }] }, terminator: true };
      const body = { metadata: { name }, spec };
      await test.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body });
    }
  });
  after(() => test.close());

  const made = async (name: string) => {
    const spec = { type: { name: "slower", path: "root" } };
    const body = { metadata: { name }, spec };
    const { spec: stored } = (await test.requestOk("POST", `${tenancy}/workspaces`, {
      ...masters,
      body,
    })) as unknown as { spec: { cluster: string } };
    return stored.cluster;
  };
  const waiting = async (name: string) =>
    (await test.requestOk("GET", `${tenancy}/workspaces/${name}`, masters))["status"] as Waiting;

  it("sends a workspace that is being deleted as MODIFIED with its deletionTimestamp, and its end likewise", async () => {
    await made("watched");
    const query =
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const watch = await test.watch(`${view("root:slow")}/*/${logicalClusters}?${query}`, masters);
    assert.equal((await watch.next())?.type, "BOOKMARK");
    const other = await made("other");
    await test.requestOk("DELETE", `${tenancy}/workspaces/watched`, masters);
    const ending = await watch.next();
    assert.equal(ending?.type, "MODIFIED");
    assert.notEqual(ending.object.metadata.deletionTimestamp, undefined);
    assert.notEqual(ending.object.metadata.annotations?.["kcp.io/cluster"], other);
    await watch.leave();
  });

  it("has the types that its workspace names from the start, as long as the workspace waits", async () => {
    const cluster = await made("named");
    const { terminators = [] } = await waiting("named");
    assert.deepEqual(terminators.toSorted(), ["root:slow", "root:slower"]);
    await test.requestOk("DELETE", `${tenancy}/workspaces/named`, masters);
    const at = `${view("root:slow")}/${cluster}/${logicalClusters}/cluster`;
    await until(test, "it waits", async () => (await test.get(at, masters)).status === 200);
    const left = terminators.filter((one) => one !== "root:slow");
    const removed = await test.patch(
      `${at}/status`,
      "merge",
      { status: { terminators: left } },
      masters,
    );
    assert.equal(removed.status, 200, removed.text);
    await until(
      test,
      "the workspace says who is left",
      async () => String((await waiting("named")).terminators) === String(left),
    );
  });

  it("removes its own identifier and nothing else, with kcp's error messages", async () => {
    const cluster = await made("refused");
    await test.requestOk("DELETE", `${tenancy}/workspaces/refused`, masters);
    const at = `${view("root:slow")}/${cluster}/${logicalClusters}/cluster`;
    await until(test, "it waits", async () => (await test.get(at, masters)).status === 200);
    const whole = await test.patch(at, "merge", { metadata: { annotations: {} } }, masters);
    assert.equal(whole.status, 405, whole.text);
    for (const terminators of [["wrong:wrong"], ["root:slow"], []]) {
      const wrong = await test.patch(`${at}/status`, "merge", { status: { terminators } }, masters);
      assert.equal(wrong.status, 422, wrong.text);
      assert.ok(wrong.object.message?.includes('only removing the "root:slow" terminator'));
    }
  });

  it("of an unknown identifier is served to system:masters, and empty", async () => {
    const unknown = `${view("something")}/*`;
    assert.equal((await test.get(`${unknown}/apis`, masters)).status, 200);
    assert.deepEqual((await test.get(`${unknown}/${logicalClusters}`, masters)).items, []);
    assert.equal((await test.get(`${unknown}/apis`, { user: "a" })).status, 403);
  });
});

/** Expected values are those of kcp v0.32.3. */
describe("discovery of the waiting workspaces", () => {
  const aggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
  for (const service of ["initializingworkspaces", "terminatingworkspaces"])
    it(`is in the legacy form, with LogicalClusters alone, for ${service}`, async () => {
      const test = await TestServer.start();
      try {
        const base = `/services/${service}/whatever/clusters/*`;
        const options = { ...masters, headers: { accept: aggregated } };
        const core = await test.requestOk("GET", `${base}/api`, options);
        assert.deepEqual([core.kind, core["versions"]], ["APIVersions", ["v1"]]);
        assert.equal((await test.request("GET", `${base}/api/v1`, options)).status, 404);
        const { kind, groups } = await test.requestOk("GET", `${base}/apis`, options);
        assert.equal(kind, "APIGroupList");
        const names = (groups as unknown as { name: string }[]).map(({ name }) => name);
        assert.deepEqual(names, ["core.kcp.io"]);
        assert.deepEqual(
          await test.requestOk("GET", `${base}/apis/core.kcp.io/v1alpha1`, options),
          {
            kind: "APIResourceList",
            apiVersion: "v1",
            groupVersion: "core.kcp.io/v1alpha1",
            resources: [
              {
                name: "logicalclusters",
                singularName: "logicalcluster",
                namespaced: false,
                kind: "LogicalCluster",
                verbs: ["get", "list", "watch"],
                categories: ["kcp"],
                storageVersionHash: "l84hS/aun10=",
              },
              {
                name: "logicalclusters/status",
                singularName: "",
                namespaced: false,
                kind: "LogicalCluster",
                verbs: null,
              },
            ],
          },
        );
      } finally {
        await test.close();
      }
    });
});
