/** A server that settles holds no changes in memory, and no client sees a difference. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

describe("a server that has settled", () => {
  it("has told watches how far they have come", async (t) => {
    const server = await TestServer.start();
    t.after(() => server.close());
    const made = await server.must("POST", configmaps, { body: { metadata: { name: "x" } } });
    const from = `resourceVersion=${made.metadata.resourceVersion}&allowWatchBookmarks=true`;
    const reader = await server.watch(`${configmaps}?watch=1&${from}`);
    const first = reader.next();
    await new Promise((resolve) => setImmediate(resolve));
    const other = "/clusters/b/api/v1/namespaces/default/configmaps";
    const elsewhere = await server.must("POST", other, { body: { metadata: { name: "y" } } });
    await server.server.settle();
    const event = await first;
    assert.equal(event?.type, "BOOKMARK");
    assert.equal(event?.object.metadata.resourceVersion, elsewhere.metadata.resourceVersion);
    await reader.leave();
  });

  it("serves watches that begin before that", async (t) => {
    const server = await TestServer.start();
    t.after(() => server.close());
    const made = await server.must("POST", configmaps, { body: { metadata: { name: "x" } } });
    await server.patch(`${configmaps}/x`, "merge", { data: { n: "1" } });
    await server.must("DELETE", `${configmaps}/x`);
    await server.server.settle();
    const { resourceVersion } = made.metadata;
    const reader = await server.watch(`${configmaps}?watch=1&resourceVersion=${resourceVersion}`);
    const types = (await reader.take(2)).map(({ type }) => type);
    assert.deepEqual(types, ["MODIFIED", "DELETED"]);
    await server.must("POST", configmaps, { body: { metadata: { name: "z" } } });
    assert.equal((await reader.next())?.object.metadata.name, "z");
    await reader.leave();
  });
});
