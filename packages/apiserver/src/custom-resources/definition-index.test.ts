/** The index of definitions: loaded on demand, updated by the hub, limited. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type AnyObject,
  definitionsPath,
  install,
  supervisorFor,
  TestServer,
} from "../testing/index.ts";
import { WatchCache } from "../watch-cache/index.ts";
import { DefinitionIndex } from "./definition-index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const noConversion = {
  convert: async (_definition: unknown, objects: readonly object[]) => objects as never,
};

async function filled(clusters: number): Promise<{ server: TestServer; cache: WatchCache }> {
  const server = await TestServer.start();
  for (let i = 0; i < clusters; i++) await install(server, cronTabs(), `c${i}`);
  const { storage, clock } = server;
  const cache = new WatchCache({
    storage,
    clock,
    supervisor: supervisorFor(clock),
    onError: () => {},
  });
  await cache.start();
  return { server, cache };
}

const cluster = (i: number) => `c${i}` as ClusterName;

describe("the index of definitions", () => {
  for (const [what, bound] of [
    ["clusters", { clustersMax: 2 }],
    ["definitions", { definitionsMax: 2 }],
  ] as const) {
    it(`keeps no more ${what} than it may, and forgets the longest unused`, async (t) => {
      const { server, cache } = await filled(3);
      t.after(() => server.close());
      t.after(() => cache.close());
      const index = new DefinitionIndex({
        storage: server.storage,
        hub: cache.hub,
        conversion: noConversion,
        ...bound,
      });
      await index.load(cluster(0));
      await index.load(cluster(1));
      assert.equal(index.size, 2);
      index.peek(cluster(0));
      await index.load(cluster(2));
      assert.equal(index.size, 2);
      assert.equal(index.peek(cluster(1)), undefined);
      assert.ok(index.peek(cluster(0)) !== undefined);
      const again = await index.load(cluster(1));
      assert.equal(again.records.size, 1);
    });
  }

  it("reports the retirement of a definition, also to callbacks that register late", async (t) => {
    const { server, cache } = await filled(1);
    t.after(() => server.close());
    t.after(() => cache.close());
    const { storage } = server;
    const index = new DefinitionIndex({ storage, hub: cache.hub, conversion: noConversion });
    const definitions = await index.load(cluster(0));
    const record = definitions.records.get("crontabs.stable.example.com");
    assert.ok(record !== undefined);
    const told: string[] = [];
    const crd = `/clusters/c0${definitionsPath}/crontabs.stable.example.com`;
    const seen = () => cache.waitUntilFresh({ kind: "latest" }, new AbortController().signal);
    record.onRetired(() => told.push("early"));
    const forget = record.onRetired(() => told.push("forgotten"));
    await server.patch(crd, "merge", { metadata: { labels: { a: "b" } } });
    await seen();
    assert.equal(told.join(), "", "labels change nothing of what is served");
    record.onRetired(() => told.push("late"));
    forget();
    await server.patch(crd, "merge", { spec: { names: { categories: ["all"] } } });
    await seen();
    assert.equal(told.join(), "early,late");
    record.onRetired(() => told.push("too late"));
    assert.equal(told.join(), "early,late,too late");
  });

  it("includes definitions that are created after it was loaded", async (t) => {
    const { server, cache } = await filled(1);
    t.after(() => server.close());
    t.after(() => cache.close());
    const { storage } = server;
    const index = new DefinitionIndex({ storage, hub: cache.hub, conversion: noConversion });
    const definitions = await index.load(cluster(0));
    assert.deepEqual([...definitions.records.keys()], ["crontabs.stable.example.com"]);
    const names = { plural: "others", singular: "other", kind: "Other", shortNames: [] };
    const other: AnyObject = await install(server, cronTabs({ names }), "c0");
    await cache.waitUntilFresh({ kind: "latest" }, new AbortController().signal);
    const record = definitions.records.get("others.stable.example.com");
    assert.equal(record?.uid, other.metadata.uid);
    assert.equal(record?.isServed, true);
    assert.equal(definitions.served.length, 2);
  });
});
