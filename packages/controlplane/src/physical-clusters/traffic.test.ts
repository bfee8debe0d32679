/** Goal: an unmodified workload with a Service is reached from every cluster that it is in, whatever happens to the clusters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serviceImports } from "@kcp-ts/multicluster";
import { eventually } from "./fixture.ts";
import {
  exportCondition,
  importOf,
  readyBySource,
  services,
  TrafficStage,
} from "./traffic-stage.ts";

const both = ["us-east1", "us-west1"];

describe("a Service over two clusters", () => {
  it("is where its Pods are, exported by itself, and imported in both with the endpoints of both", async (t) => {
    const stage = await TrafficStage.start(t, both);
    const { client } = stage.plane;
    for (const name of both) await stage.join(name);
    await stage.deploy(5);
    await eventually(async () =>
      assert.deepEqual(await readyBySource(client), { "us-east1": 3, "us-west1": 2 }),
    );
    const made = await importOf(client);
    assert.deepEqual(made?.spec, {
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    });
    assert.equal((await exportCondition(client, "Valid"))?.status, "True");
    await eventually(async () => {
      assert.equal((await exportCondition(client, "Ready"))?.reason, "Exported");
      assert.equal((await exportCondition(client, "Conflict"))?.status, "False");
      const clusters = (await importOf(client))?.status?.clusters;
      assert.deepEqual(clusters, [{ cluster: "us-east1" }, { cluster: "us-west1" }]);
    });
    for (const name of both) {
      const inside = stage.physical(name).client;
      await eventually(async () => {
        assert.deepEqual(await readyBySource(inside), { "us-east1": 3, "us-west1": 2 });
        const { items } = await inside.resource(serviceImports).list();
        assert.deepEqual(
          items.map(({ metadata, spec }) => [metadata.name, spec.type]),
          [["web", "ClusterSetIP"]],
        );
        assert.deepEqual(items[0]?.status?.clusters?.length, 2);
      });
      // The Service itself has the Pods of its own cluster behind it, as in any cluster.
      const { items } = await inside.resource(services).list();
      assert.equal(items.filter(({ metadata }) => metadata.name === "web").length, 1);
    }
  });
});
