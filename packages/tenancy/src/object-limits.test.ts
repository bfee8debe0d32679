/**
 * The limit of objects that a logical cluster sets for itself: at the limit, and one object beyond.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { TestServer, type TestServerOptions } from "./testing/index.ts";

const pathOf = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const named = (name: string) => ({ metadata: { name } });

const servers: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function started(options: TestServerOptions): Promise<TestServer> {
  const server = await TestServer.start(options);
  servers.push(server);
  return server;
}

describe("objects of a logical cluster with an object limit", () => {
  const cluster = "/clusters/a/apis/core.kcp.io/v1alpha1/logicalclusters/cluster";

  async function limited(server: TestServer, objects: string): Promise<void> {
    const metadata = { annotations: { "core.kcp.io/max-total-objects": objects } };
    const options = { user: "masters" } as const;
    const { status } = await server.patch(cluster, "merge", { metadata }, options);
    assert.equal(status, 200);
  }

  async function withCluster(options: TestServerOptions): Promise<TestServer> {
    const server = await started(options);
    const all = cluster.slice(0, cluster.lastIndexOf("/"));
    await server.requestOk("POST", all, { body: named("cluster"), user: "masters" });
    return server;
  }

  it("are rejected beyond the limit, for any limit of the server or none", async () => {
    for (const tenantLimits of [{}, { objectsPerClusterMax: 100 }]) {
      const server = await withCluster({ tenantLimits });
      await limited(server, "2");
      await server.requestOk("POST", pathOf("a"), { body: named("one") });
      const refused = await server.request("POST", pathOf("a"), { body: named("two") });
      assert.equal(refused.status, 403);
      assert.match(refused.object.message ?? "", /total object count limit \(2\/2 objects\)/);
      await server.requestOk("POST", pathOf("b"), { body: named("two") });
      await limited(server, "0");
      await server.requestOk("POST", pathOf("a"), { body: named("two") });
    }
  });

  it("are held to the server's limit when the cluster's limit is not a number, and to none before the cluster is ready", async () => {
    const server = await withCluster({ tenantLimits: { objectsPerClusterMax: 2 } });
    await limited(server, "many");
    await server.requestOk("POST", pathOf("a"), { body: named("one") });
    const two = () => server.request("POST", pathOf("a"), { body: named("two") });
    assert.equal((await two()).status, 403);
    const status = { phase: "Initializing", initializers: ["x:y"] };
    await server.patch(`${cluster}/status`, "merge", { status }, { user: "masters" });
    assert.equal((await two()).status, 201);
  });

  it("are held to the limit that is set on root, to which the server's limit does not apply", async () => {
    const server = await started({ tenantLimits: { objectsPerClusterMax: 1 } });
    const metadata = { annotations: { "core.kcp.io/max-total-objects": "1" } };
    const root = cluster.replace("/a/", "/root/");
    await server.requestOk("POST", pathOf("root"), { body: named("one") });
    await server.requestOk("POST", root.slice(0, root.lastIndexOf("/")), {
      body: { metadata: { name: "cluster", ...metadata } },
      user: "masters",
    });
    const refused = await server.request("POST", pathOf("root"), { body: named("two") });
    assert.equal(refused.status, 403);
  });

  it("are limited by administrators, not by users of the cluster", async () => {
    const server = await withCluster({});
    const metadata = { annotations: { "core.kcp.io/max-total-objects": "0" } };
    const refused = await server.patch(cluster, "merge", { metadata }, { user: "a" });
    assert.equal(refused.status, 403);
  });
});
