/**
 * Goal: what a cluster makes by itself and what is sent to it can be of one kind, and are never
 * taken for each other.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventually } from "@kcp-ts/testkit";
import { widgets } from "./faulty-server.ts";
import { SyncerFixture } from "./syncer-fixture.ts";

describe("kinds that go both ways", () => {
  it("send down what is assigned, and copy up what is born there under the cluster's name", async (t) => {
    const policies = {
      "widgets.example.com": { direction: "Both", upsyncedNames: "BySyncTarget" },
    } as const;
    const pair = await SyncerFixture.start(t, { policies });
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const down = pair.down.client.resource(widgets);
    const { namespace = "" } = metadata;
    // As controllers do: what they make has the labels of what it is made for.
    const labels = { ...metadata.labels, color: "pink", "workload.kcp.io/cluster": "east" };
    await down.create({ metadata: { name: "born", namespace, labels }, spec: { color: "pink" } });
    const copy = await eventually(async () => {
      const found = await pair.original("born--east");
      assert.deepEqual(found?.["spec"], { color: "pink", size: "medium" });
      return found;
    });
    assert.deepEqual(copy?.metadata.labels, {
      color: "pink",
      "state.workload.kcp.io/east": "Upsync",
    });
    await pair.untilQuiet();
    const names = async (resource: typeof down) =>
      (await resource.list()).items.map((one) => one.metadata.name).sort();
    assert.deepEqual(await names(down), ["a", "born"]);
    assert.deepEqual(await names(pair.in("*").resource(widgets)), ["a", "born--east"]);
    // Each side keeps to its own direction: what is theirs is put back, or followed.
    await down.delete({ name: "a", namespace });
    await pair.copied("a");
    await down.delete({ name: "born", namespace });
    await eventually(async () => assert.equal(await pair.original("born--east"), undefined));
    await pair.in("root").resource(widgets).delete({ namespace: "shop", name: "a" });
    await pair.gone("a");
  });
});
