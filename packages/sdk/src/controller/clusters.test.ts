import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { sleep } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject, silentLog } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import type { ObjectKey } from "../informer/index.ts";
import { LeaderElector } from "../leader-election/index.ts";
import { ClusterSet } from "./cluster-set.ts";
import { type Clusters, logicalClusters, singleCluster } from "./clusters.ts";
import { Controller } from "./controller.ts";
import { exportConsumers } from "./export-consumers.ts";
import { Manager } from "./manager.ts";

interface Thing extends KubernetesObject {
  readonly size?: number;
}

const things = defineResource<Thing>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});
const resource = "example.io/v1/things";
const root = "root" as ClusterName;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function world() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const random = new SeededRandom(3);
  const client = new Client({ transport: server.transport(), clock, random });
  return { clock, server, client };
}

/**
 * Sets `size` to the length of the cluster's name: the same code for all three kinds of clusters.
 */
function sizer(clusters: Clusters, clock: FakeClock) {
  const source = clusters.source(things);
  const reconcile = async (key: ObjectKey, { client }: { client: Client }) => {
    const object = source.store.get(key);
    if (object === undefined || object.size === key.cluster.length) return;
    const { namespace, name } = key;
    const patch = { size: key.cluster.length };
    await client.resource(things).patch({ namespace, name }, { type: "merge", patch });
  };
  return new Controller({ name: "sizer", clusters, reconcile, clock }).watch(things);
}

const run = async (clusters: Clusters, clock: FakeClock) => {
  const stop = new AbortController();
  const controllers = [sizer(clusters, clock)];
  const done = new Manager({ clusters: [clusters], controllers }).run(stop.signal);
  stops.push(async () => {
    stop.abort();
    await clock.advanceAndFlush(60_000);
    await done;
  });
  await clock.advanceAndFlush(0);
};
const sizeOf = (server: FakeApiServer, cluster: string) =>
  server.store.get(`${resource}|${cluster}|default|a`)?.["size"];

describe("one reconciler", () => {
  it("serves one cluster", async () => {
    const { server, client, clock } = world();
    server.put({ resource, cluster: "root", namespace: "default", name: "a" });
    await run(singleCluster({ client, cluster: root }), clock);
    assert.equal(sizeOf(server, "root"), 4);
  });

  it("serves all logical clusters, through one watch, and writes to each through its own path", async () => {
    const { server, client, clock } = world();
    for (const cluster of ["root", "tenant-b", "x1"]) {
      server.put({ resource, cluster, namespace: "default", name: "a" });
    }
    await run(logicalClusters({ client }), clock);
    server.put({ resource, cluster: "later", namespace: "default", name: "a" });
    await clock.advanceAndFlush(0);
    const sizes = ["root", "tenant-b", "x1", "later"].map((cluster) => sizeOf(server, cluster));
    assert.deepEqual(sizes, [4, 8, 2, 5]);
    assert.equal(server.openWatches, 1);
  });

  it("serves clusters that are added, removed, and unavailable", async () => {
    const clock = new FakeClock();
    const clusterSet = new ClusterSet({ clock, random: new SeededRandom(1) });
    const join = (name: string) => {
      const server = new FakeApiServer({ clock });
      server.put({ resource, cluster: "root", namespace: "default", name: "a" });
      clusterSet.addCluster(
        name as ClusterName,
        new Client({ transport: server.transport(), clock }),
      );
      return server;
    };
    const east = join("east");
    const down = join("down-one");
    down.restart(30_000);
    await run(clusterSet, clock);
    assert.equal(sizeOf(east, "root"), 4);
    const west = join("westernmost");
    await clock.advanceAndFlush(0);
    assert.equal(sizeOf(west, "root"), 11);
    assert.equal(sizeOf(down, "root"), undefined);
    await clock.advanceAndFlush(120_000);
    assert.equal(sizeOf(down, "root"), 8);
    clusterSet.removeCluster("east" as ClusterName);
    east.put({ resource, cluster: "root", namespace: "default", name: "a" }, { size: 0 });
    await clock.advanceAndFlush(1000);
    assert.equal(sizeOf(east, "root"), 0);
    assert.equal(clusterSet.source(things).store.size, 2);
    assert.throws(() => clusterSet.client("east" as ClusterName), /not a member/);
  });
});

describe("the consumers of an export", () => {
  const sliceResource = "apis.kcp.io/v1alpha1/apiexportendpointslices";
  const url = (shard: string) => `https://${shard}.example/services/apiexport/provider/things`;

  /** A hub with the endpoints of these shards, each of which is a server. */
  function exported(shards: readonly string[]) {
    const { clock, server: hub, client } = world();
    const servers = new Map<string, FakeApiServer>();
    const put = (some: readonly string[]) =>
      hub.put(
        { resource: sliceResource, cluster: "root", name: "things" },
        { status: { endpoints: some.map((shard) => ({ url: url(shard) })) } },
      );
    for (const shard of shards) servers.set(url(shard), new FakeApiServer({ clock }));
    const connect = (asked: string) => {
      const server = servers.get(asked);
      assert.ok(server !== undefined, asked);
      return new Client({ transport: server.transport(), clock });
    };
    return { clock, client, put, connect, on: (shard: string) => servers.get(url(shard)) };
  }

  it("are on every shard with an endpoint, also on those that come later and go", async () => {
    const { clock, client, put, connect, on } = exported(["one", "two"]);
    const [one, two] = [on("one"), on("two")];
    assert.ok(one !== undefined && two !== undefined);
    one.put({ resource, cluster: "blue", namespace: "default", name: "a" });
    two.put({ resource, cluster: "crimson", namespace: "default", name: "a" });
    put(["one"]);
    const clusters = await exportConsumers({ client, endpointSlice: "things", connect });
    await run(clusters, clock);
    assert.equal(sizeOf(one, "blue"), 4);
    assert.equal(sizeOf(two, "crimson"), undefined);
    put(["one", "two"]);
    await clock.advanceAndFlush(1000);
    assert.equal(sizeOf(two, "crimson"), 7);
    assert.equal(clusters.source(things).store.size, 2);
    put(["two"]);
    await clock.advanceAndFlush(1000);
    assert.equal(clusters.source(things).store.size, 1);
    assert.throws(() => clusters.client("blue" as ClusterName), /blue is not a member/);
  });

  it("are waited for, and the log says what is missing and what to do, once", async () => {
    const { clock, client, put } = exported([]);
    const lines: string[] = [];
    const log = { ...silentLog, info: (line: string) => void lines.push(line) };
    const waiting = exportConsumers({ client, endpointSlice: "things", log });
    await clock.advanceAndFlush(1000);
    assert.deepEqual(lines, []);
    await clock.advanceAndFlush(10_000);
    put([]);
    await clock.advanceAndFlush(10_000);
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", /has none\. Next: create the APIExport there, or connect to/);
    assert.match(
      lines[1] ?? "",
      /no workspace has bound things yet\. Next, .*apiexport root:things/,
    );
    put(["one"]);
    await clock.advanceAndFlush(1000);
    await waiting;
  });

  it("on other servers are reported where no way to them is given", async () => {
    const { client, put } = exported([]);
    put(["one", "two"]);
    const lines: string[] = [];
    const log = { ...silentLog, warn: (line: string) => void lines.push(line) };
    await exportConsumers({ client, endpointSlice: "things", log });
    assert.match(lines.join(), /things has endpoints on 2 servers.*connection\.clientAt/);
  });
});

describe("a manager", () => {
  it("runs controllers only while it leads, and reports the loss of leadership", async () => {
    const { clock, server, client } = world();
    const clusters = singleCluster({ client, cluster: root });
    const seen: string[] = [];
    const signals: AbortSignal[] = [];
    const controller = new Controller({
      name: "test",
      clusters,
      clock,
      reconcile: async ({ name }, { signal }) => {
        seen.push(name);
        signals.push(signal);
        await sleep(clock, 1e8, signal);
      },
    }).watch(things);
    const lease = { namespace: "system", name: "lease" };
    const leaseResource = "coordination.k8s.io/v1/leases";
    const spec = { holderIdentity: "other", leaseDurationSeconds: 15, leaseTransitions: 0 };
    server.put({ resource: leaseResource, ...lease }, { spec });
    const elector = new LeaderElector({ client, lease, identity: "me" });
    const stop = new AbortController();
    const manager = new Manager({ clusters: [clusters], controllers: [controller], elector });
    const done = manager.run(stop.signal);
    server.put({ resource, namespace: "default", name: "a" });
    await clock.advanceAndFlush(10_000);
    assert.deepEqual(seen, []);
    await clock.advanceAndFlush(10_000);
    assert.deepEqual(seen, ["a"]);
    server.put({ resource: leaseResource, ...lease }, { spec: { ...spec, leaseTransitions: 9 } });
    const rejected = assert.rejects(done, { name: "LeadershipLostError" });
    await clock.advanceAndFlush(2500);
    assert.equal(signals[0]?.aborted, true);
    await clock.advanceAndFlush(30_000);
    await rejected;
  });
});
