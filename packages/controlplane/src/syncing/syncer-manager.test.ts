import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ResourceSet, SyncerManager } from "@kcp-ts/multicluster";
import { eventually } from "../testing/index.ts";
import { bothKinds } from "./pair.ts";
import { namespaces, Side, widgets } from "./side.ts";

describe("a manager of syncers", () => {
  it("starts one per connection over one upstream watch per kind, and ends it alone", async (t) => {
    const up = await Side.start(systemClock);
    const clusters = [await Side.start(systemClock), await Side.start(systemClock)];
    let watches = 0;
    up.suffer(({ target }) => {
      if (/\/clusters\/\*.*widgets.*watch=/.test(decodeURIComponent(target))) watches++;
      return undefined;
    });
    const manager = new SyncerManager({
      upstream: up.syncerClient,
      resourcesOf: () => new ResourceSet(bothKinds),
    });
    t.after(async () => {
      await manager.stop();
      for (const side of [up, ...clusters]) await side.close();
    });
    const connections = clusters.map((side, index) => ({
      cluster: "root" as ClusterName,
      name: `c${index}`,
      uid: `uid-${index}`,
      client: side.syncerClient,
    }));
    for (const connection of connections) manager.connected(connection);
    await up.client
      .inCluster("root")
      .resource(namespaces)
      .create({ metadata: { name: "shop" } });
    const create = (name: string, target: string) =>
      up.client
        .inCluster("root")
        .resource(widgets)
        .create({
          metadata: { name, namespace: "shop", labels: { "workloads.kcp.io/cluster": target } },
          spec: { color: "red" },
        });
    const namesIn = async (index: number) =>
      (await (clusters[index] as Side).client.resource(widgets).list()).items.map(
        ({ metadata }) => metadata.name,
      );
    await create("a", "c0");
    await create("b", "c1");
    await eventually(async () => {
      assert.deepEqual(await namesIn(0), ["a"]);
      assert.deepEqual(await namesIn(1), ["b"]);
    });
    assert.equal(watches, 1);
    const [first] = connections;
    assert.ok(first !== undefined);
    manager.gone(first);
    await create("c", "c0");
    await create("d", "c1");
    await eventually(async () => assert.deepEqual(await namesIn(1), ["b", "d"]));
    assert.deepEqual(await namesIn(0), ["a"]);
    assert.equal(manager.syncers.length, 1);
  });
});
