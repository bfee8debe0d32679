/** A server that releases its idle memory holds no events, and clients see no difference. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

describe("a server that has released its idle memory", () => {
  it("has sent its watches a bookmark", async (t) => {
    const server = await TestServer.start();
    t.after(() => server.close());
    const made = await server.requestOk("POST", configmaps, { body: { metadata: { name: "x" } } });
    const from = `resourceVersion=${made.metadata.resourceVersion}&allowWatchBookmarks=true`;
    const reader = await server.watch(`${configmaps}?watch=1&${from}`);
    const first = reader.next();
    await new Promise((resolve) => setImmediate(resolve));
    const other = "/clusters/b/api/v1/namespaces/default/configmaps";
    const elsewhere = await server.requestOk("POST", other, { body: { metadata: { name: "y" } } });
    await server.server.releaseMemory();
    const event = await first;
    assert.equal(event?.type, "BOOKMARK");
    assert.equal(event?.object.metadata.resourceVersion, elsewhere.metadata.resourceVersion);
    await reader.leave();
  });

  it("serves watches that begin before the last revision", async (t) => {
    const server = await TestServer.start();
    t.after(() => server.close());
    const made = await server.requestOk("POST", configmaps, { body: { metadata: { name: "x" } } });
    await server.patch(`${configmaps}/x`, "merge", { data: { n: "1" } });
    await server.requestOk("DELETE", `${configmaps}/x`);
    await server.server.releaseMemory();
    const { resourceVersion } = made.metadata;
    const reader = await server.watch(`${configmaps}?watch=1&resourceVersion=${resourceVersion}`);
    const types = (await reader.take(2)).map(({ type }) => type);
    assert.deepEqual(types, ["MODIFIED", "DELETED"]);
    await server.requestOk("POST", configmaps, { body: { metadata: { name: "z" } } });
    assert.equal((await reader.next())?.object.metadata.name, "z");
    await reader.leave();
  });
});
