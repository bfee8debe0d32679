/**
 * Debugging of a simulated cluster: metrics of its Pods and nodes, and ephemeral containers in a
 * running Pod.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { pods } from "./api/index.ts";
import { type SimulatedCluster, startSimulatedCluster } from "./simulated-cluster.ts";

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};
const metrics = "/apis/metrics.k8s.io/v1beta1";

async function start(clock: FakeClock, options: object = {}): Promise<SimulatedCluster> {
  const random = new SeededRandom(7);
  const given = { name: "one", nodes: 1, clock, random, log: silent, ...options };
  const cluster = await startSimulatedCluster(given);
  await clock.advanceAndFlush(1000);
  return cluster;
}

async function stop(cluster: SimulatedCluster, clock: FakeClock): Promise<void> {
  const closing = cluster.close();
  await clock.advanceAndFlush(60_000);
  await closing;
}

describe("debugging of a simulated cluster", () => {
  const clock = new FakeClock();
  let cluster: SimulatedCluster;
  before(async () => {
    cluster = await start(clock);
    const made = (name: string, labels: Record<string, string>, more: object) =>
      cluster.client.resource(pods).create({
        metadata: { name, namespace: "default", labels, ...more },
        spec: {
          containers: [
            { name: "main", image: "x:1", resources: { requests: { cpu: "100m" } } },
            { name: "side", image: "y:1" },
          ],
        },
      });
    await made("asking", { app: "a" }, {});
    await made(
      "told",
      { app: "b" },
      { annotations: { "sim.kcp.io/usage": "cpu=2, memory=1Gi, disk=1" } },
    );
    await made("late", {}, { annotations: { "sim.kcp.io/start-delay": "1h" } });
    await clock.advanceAndFlush(5000);
  });
  after(() => stop(cluster, clock));

  it("a session answers 406 to a client that accepts JSON only, as a kubelet does", async () => {
    const path =
      "/api/v1/namespaces/default/pods/asking/exec?command=true&container=main&stdout=true";
    const asked = (accept: string) =>
      cluster.client.send({
        method: "POST",
        path,
        headers: { accept, upgrade: "SPDY/3.1", connection: "Upgrade" },
        retriesMax: 0,
      });
    await assert.rejects(asked("application/json"), /answered 406/);
    // It names no stream protocol, so it gets further, and not far.
    await assert.rejects(asked("*/*"), /unable to upgrade/);
  });

  const get = async (path: string) =>
    (await cluster.client.json({ method: "GET", path })) as JsonObject;
  const usageOf = (item: JsonObject) =>
    (item["containers"] as readonly JsonObject[]).map(({ name, usage }) => [name, usage]);

  it("metrics of running Pods are their requests, or the usage in their annotations", async () => {
    const list = await get(`${metrics}/pods`);
    assert.equal(list["kind"], "PodMetricsList");
    const items = list["items"] as readonly JsonObject[];
    const found = items.map((one) => [(one["metadata"] as JsonObject)["name"], usageOf(one)]);
    const idle = { cpu: "1m", memory: "8Mi" };
    const told = { cpu: "2", memory: "1Gi" };
    assert.deepEqual(found, [
      [
        "asking",
        [
          ["main", { ...idle, cpu: "100m" }],
          ["side", idle],
        ],
      ],
      [
        "told",
        [
          ["main", told],
          ["side", told],
        ],
      ],
    ]);
    const one = await get(`${metrics}/namespaces/default/pods/told`);
    assert.equal(one["kind"], "PodMetrics");
    const selected = await get(`${metrics}/namespaces/default/pods?labelSelector=app%3Da`);
    assert.equal((selected["items"] as readonly unknown[]).length, 1);
    await assert.rejects(get(`${metrics}/namespaces/default/pods/late`), { code: 404 });
  });

  it("metrics of a node are the sum over its Pods", async () => {
    const { items } = (await get(`${metrics}/nodes`)) as { items?: readonly JsonObject[] };
    assert.deepEqual(
      items?.map(({ usage }) => usage),
      [{ cpu: "4101000000n", memory: `${2 * 2 ** 20 + 16 * 2 ** 10}Ki` }],
    );
  });

  it("a cluster without metrics-server serves no metrics", async () => {
    const bare = await start(clock, { metrics: false });
    const asked = bare.client.json({ method: "GET", path: `${metrics}/pods` });
    await assert.rejects(asked, { code: 404 });
    await stop(bare, clock);
  });

  it("ephemeral containers are added to a running Pod, and cannot be removed", async () => {
    const at = { namespace: "default", name: "asking" };
    const path = "/api/v1/namespaces/default/pods/asking/ephemeralcontainers";
    const patched = (contentType: string, body: JsonObject) =>
      cluster.client.json({ method: "PATCH", path, contentType, body });
    const strategic = "application/strategic-merge-patch+json";
    const look = { name: "look", image: "busybox:1" };
    await patched(strategic, {
      metadata: { labels: { app: "other" } },
      spec: { ephemeralContainers: [look], nodeName: "elsewhere" },
    });
    await clock.advanceAndFlush(1000);
    const { metadata, spec, status } = await cluster.client.resource(pods).get(at);
    assert.deepEqual(metadata.labels, { app: "a" });
    assert.notEqual(spec.nodeName, "elsewhere");
    const [added] = status?.ephemeralContainerStatuses ?? [];
    assert.ok(added?.state?.running !== undefined);
    const response = await cluster.client.send({
      method: "GET",
      path: "/api/v1/namespaces/default/pods/asking/log?container=look",
    });
    assert.equal(
      await response.body.text(),
      "simulated container look of image busybox:1 started\n",
    );
    const merge = "application/merge-patch+json";
    for (const [containers, said] of [
      [[], /may not be removed/],
      [[{ ...look, image: "other:1" }], /may not be changed/],
      [[{ name: "look" }], /image/],
    ] as const)
      await assert.rejects(
        patched(merge, { spec: { ephemeralContainers: [...containers] } }),
        said,
      );
  });
});
