/**
 * The API groups that a server with workspaces serves in addition to those of an API server, in the
 * order of discovery.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "./testing/index.ts";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const groups = ["core.kcp.io", "tenancy.kcp.io", "topology.kcp.io", "apis.kcp.io", "cache.kcp.io"];

describe("the API groups of workspaces", () => {
  it("come last in discovery, as upstream ranks them", async () => {
    const { object } = await server.get("/apis");
    const names = (object["groups"] as { name: string }[]).map(({ name }) => name);
    assert.equal(names.length, 14);
    assert.deepEqual(names.slice(-groups.length), groups);
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const { items } = await server.get("/apis", { headers: { accept } });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      names,
    );
  });

  it("have OpenAPI documents, which clusters with the same APIs share", async () => {
    const indexOf = async (prefix: string) => {
      const { object } = await server.get(`${prefix}/openapi/v3`);
      return object["paths"] as Record<string, unknown>;
    };
    const index = await indexOf("");
    const ours = Object.keys(index).filter((path) => path.includes(".kcp.io"));
    assert.deepEqual(ours, [
      "apis/apis.kcp.io",
      "apis/apis.kcp.io/v1alpha1",
      "apis/apis.kcp.io/v1alpha2",
      "apis/cache.kcp.io",
      "apis/cache.kcp.io/v1alpha1",
      "apis/core.kcp.io",
      "apis/core.kcp.io/v1alpha1",
      "apis/tenancy.kcp.io",
      "apis/tenancy.kcp.io/v1alpha1",
      "apis/topology.kcp.io",
      "apis/topology.kcp.io/v1alpha1",
    ]);
    assert.deepEqual(await indexOf("/clusters/a"), await indexOf("/clusters/b"));
  });
});
