/**
 * Goal: many physical clusters in one process do not cost one another anything and do not see one
 * another, and logical clusters may define a kind each in its own way.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { syncTargets } from "@kcp-ts/multicluster";
import { type DynamicObject, defineResource, findCondition, type ObjectInput } from "@kcp-ts/sdk";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { configMaps, type FaultyServer, widgets } from "./faulty-server.ts";
import { SyncedClusterSet } from "./synced-cluster-set.ts";

async function startFleet(t: TestContext): Promise<SyncedClusterSet> {
  const clusterSet = await SyncedClusterSet.start();
  t.after(() => clusterSet.close());
  return clusterSet;
}

async function namesIn(faultyServer: FaultyServer, resource = widgets): Promise<string[]> {
  const { items } = await faultyServer.client.resource(resource).list();
  return items.map(({ metadata }) => metadata.name);
}

function widget(name: string, target: string) {
  const labels = { "workload.kcp.io/cluster": target };
  return { metadata: { name, namespace: "shop", labels }, spec: { color: "red" } };
}

describe("syncers of one logical cluster", () => {
  it("share one upstream watch per kind, and end alone", async (t) => {
    const clusterSet = await startFleet(t);
    const watches: string[] = [];
    clusterSet.up.injectFault(({ target }) => {
      const text = decodeURIComponent(target);
      if (/widgets.*watch=/.test(text)) watches.push(text);
      return undefined;
    });
    await clusterSet.namespace("root");
    const [east, west] = [
      await clusterSet.join("root", "east"),
      await clusterSet.join("root", "west"),
    ];
    const resource = clusterSet.up.client.inCluster("root").resource(widgets);
    await resource.create(widget("a", "east"));
    await resource.create(widget("b", "west"));
    await eventually(async () => {
      assert.deepEqual(await namesIn(east), ["a"]);
      assert.deepEqual(await namesIn(west), ["b"]);
    });
    assert.equal(watches.length, 1, watches.join("\n"));
    clusterSet.disconnect("root", "east");
    await resource.create(widget("c", "east"));
    await resource.create(widget("d", "west"));
    await eventually(async () => assert.deepEqual(await namesIn(west), ["b", "d"]));
    assert.deepEqual(await namesIn(east), ["a"]);
  });

  it("say on their SyncTarget what they sync, and that they see it", async (t) => {
    const clusterSet = await startFleet(t);
    await clusterSet.join("root", "east");
    await eventually(async () => {
      const found = await clusterSet.up.client
        .inCluster("root")
        .resource(syncTargets)
        .get({ name: "east" });
      assert.equal(findCondition(found.status?.conditions, "SyncerReady")?.status, "True");
      assert.deepEqual(found.status?.syncedResources, ["configmaps", "widgets.example.com"]);
    });
  });

  it("report the last state, though an earlier report is still being written", async (t) => {
    const clusterSet = await startFleet(t);
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isReport = (target: string) =>
      /\/synctargets\/east\/status\?.*fieldManager=kcp-syncers/.test(target);
    let [sent, answered] = [0, 0];
    clusterSet.up.beforeWrite = async (_method, target) => {
      if (isReport(target) && ++sent === 1) await isReleased;
    };
    clusterSet.up.onAnswer = ({ target }) => {
      if (isReport(target)) answered++;
    };
    await clusterSet.join("root", "east", [{ resource: widgets, hasStatus: true }]);
    await eventually(() => assert.equal(sent, 1));
    await clusterSet.importKind("root", "east", { resource: configMaps, hasStatus: false });
    // Long enough for a second report, if the first does not hold it back.
    await sleep(systemClock, 1500);
    release();
    await eventually(() => assert.equal(answered, sent));
    await eventually(async () => {
      const { status } = await clusterSet.up.client
        .inCluster("root")
        .resource(syncTargets)
        .get({ name: "east" });
      assert.deepEqual(status?.syncedResources, ["configmaps", "widgets.example.com"]);
    });
  });

  it("name the verb that is missing, or the kind, in the condition of the SyncTarget", async (t) => {
    const clusterSet = await startFleet(t);
    const east = await clusterSet.join("root", "east");
    const condition = async () => {
      const found = await clusterSet.up.client
        .inCluster("root")
        .resource(syncTargets)
        .get({ name: "east" });
      return findCondition(found.status?.conditions, "SyncerReady");
    };
    await eventually(async () => assert.equal((await condition())?.status, "True"));
    east.injectFault(({ target }) => (target.includes("widgets") ? { status: 403 } : undefined));
    await eventually(async () => {
      const found = await condition();
      assert.deepEqual([found?.status, found?.reason], ["False", "Forbidden"]);
      assert.match(found?.message ?? "", /grant the verb "\w+" on "widgets" .*SyncTarget east/);
    });
    east.injectFault(({ target }) => (target.includes("widgets") ? { status: 404 } : undefined));
    await eventually(async () => {
      const found = await condition();
      assert.deepEqual([found?.status, found?.reason], ["False", "KindMissing"]);
      assert.match(found?.message ?? "", /does not serve widgets.*install it in SyncTarget east/);
    });
    east.heal();
    await eventually(async () => assert.equal((await condition())?.status, "True"));
  });
});

const gadgets = defineResource<DynamicObject>({
  group: "example.org",
  version: "v1",
  resource: "gadgets",
  kind: "Gadget",
  namespaced: true,
});
const definitions = defineResource<DynamicObject>(customResourceDefinitions);

function gadgetDefinition(properties: JsonObject): ObjectInput<DynamicObject> {
  const spec = { type: "object", properties };
  const openAPIV3Schema = { type: "object", properties: { spec } };
  const version: JsonObject = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema },
  };
  return {
    metadata: { name: "gadgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural: "gadgets", singular: "gadget", kind: "Gadget" },
      versions: [version],
    },
  };
}

describe("logical clusters that define a kind in different ways", () => {
  it("have their objects synced whole, each to its own cluster", async (t) => {
    const clusterSet = await startFleet(t);
    const anything = { size: { "x-kubernetes-preserve-unknown-fields": true } };
    const schemas = { red: { size: { type: "integer" } }, blue: { size: { type: "string" } } };
    const sides: Record<string, FaultyServer> = {};
    for (const [home, properties] of Object.entries(schemas)) {
      await clusterSet.namespace(home);
      const client = clusterSet.up.client.inCluster(home);
      await client.resource(definitions).create(gadgetDefinition(properties));
      const side = await clusterSet.join(home, "east", []);
      sides[home] = side;
      await side.client.resource(definitions).create(gadgetDefinition(anything));
    }
    const create = (home: string, size: JsonValue) =>
      eventually(() =>
        clusterSet.up.client
          .inCluster(home)
          .resource(gadgets)
          .create({
            metadata: {
              name: "g",
              namespace: "shop",
              labels: { "workload.kcp.io/cluster": "east" },
            },
            spec: { size },
          }),
      );
    await create("red", 3);
    await create("blue", "three");
    for (const home of ["red", "blue"]) {
      await clusterSet.importKind(home, "east", { resource: gadgets, hasStatus: false });
    }
    await eventually(async () => {
      const sizes = await Promise.all(
        ["red", "blue"].map(async (home) => {
          const { items } = await (sides[home] as FaultyServer).client.resource(gadgets).list();
          return items.map(({ spec }) => (spec as { size: unknown }).size);
        }),
      );
      assert.deepEqual(sizes, [[3], ["three"]]);
    });
    assert.deepEqual(await namesIn(sides["red"] as FaultyServer, configMaps), []);
  });
});
