import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { TestServer } from "@kcp-ts/apiserver/testing";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { TenancyExtension } from "../tenancy-extension.ts";
import { startTestShards, type TestShards } from "../testing/index.ts";

const onB = "0123456789abcdef--b";
const maps = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const configMap = (name: string) => ({ metadata: { name }, data: { is: name } });

describe("the front proxy of a shard", () => {
  let shards: TestShards;
  let root: TestServer<TenancyExtension>;
  let b: TestServer<TenancyExtension>;
  before(async () => {
    shards = await startTestShards({ names: ["root", "b"] });
    root = shards.get("root");
    b = shards.get("b");
  });
  after(() => shards.close());

  it("sends requests for a cluster on to the shard that its name carries", async () => {
    const made = await root.request("POST", maps(onB), { body: configMap("one") });
    assert.equal(made.status, 201, made.text);
    assert.equal((await b.get(`${maps(onB)}/one`)).object.data?.["is"], "one");
    assert.deepEqual((await root.get(maps(onB))).names, ["one"]);
    const merged = await root.patch(`${maps(onB)}/one`, "merge", { data: { is: "two" } });
    assert.equal(merged.object.data?.["is"], "two");
    assert.equal((await root.request("DELETE", `${maps(onB)}/one`)).status, 200);
    assert.deepEqual((await b.get(maps(onB))).names, []);
  });

  it("sends requests for root on to the shard that has it", async () => {
    await b.requestOk("POST", "/clusters/root/api/v1/namespaces", {
      body: { metadata: { name: "made-by-b" } },
    });
    assert.equal((await root.get("/clusters/root/api/v1/namespaces/made-by-b")).status, 200);
    assert.equal((await b.get("/api/v1/namespaces/made-by-b")).status, 200);
  });

  it("sends on the events of a watch, and ends it with its client", async () => {
    const watch = await root.watch(`${maps(onB)}?watch=true&resourceVersion=0`);
    await b.requestOk("POST", maps(onB), { body: configMap("seen") });
    const event = await watch.next();
    assert.equal(event?.type, "ADDED");
    await watch.leave();
  });

  it("answers 503 with the name of the shard that does not answer", async () => {
    shards.disconnect("b");
    const answer = await root.get(maps(onB));
    assert.equal(answer.status, 503);
    assert.match(answer.object.message ?? "", /the shard b does not answer/);
    shards.connect("b");
    assert.equal((await root.get(maps(onB))).status, 200);
  });

  it("follows a moved cluster within one more hop, and then goes there at once", async () => {
    const moved = "1123456789abcdef--b" as ClusterName;
    await root.requestOk("POST", maps(moved), { body: configMap("there") });
    assert.equal(root.server.extension.routes.shardOf(moved), "b");
    await b.server.extension.routes.setRoute(moved, { shard: "root", version: 1 });
    // What is stored on b is not moved here: root has an empty cluster of that name.
    assert.deepEqual((await root.get(maps(moved))).names, []);
    assert.equal(root.server.extension.routes.shardOf(moved), undefined);
    assert.deepEqual((await b.get(maps(moved))).names, []);
  });
});
