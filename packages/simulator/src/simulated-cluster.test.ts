/**
 * A simulated cluster in process: its faults, its nodes, its generations, and its isolation from
 * other logical clusters.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { ingresses, isReady, nodes, type Pod, pods } from "./api/index.ts";
import { type SimulatedCluster, startSimulatedCluster } from "./simulated-cluster.ts";

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};

interface Started {
  readonly clock: FakeClock;
  readonly cluster: SimulatedCluster;
}

async function start(options: object = {}): Promise<Started> {
  const clock = new FakeClock();
  const random = new SeededRandom(7);
  const given = { name: "one", nodes: 2, clock, random, log: silent, ...options };
  const cluster = await startSimulatedCluster(given);
  await clock.advanceAndFlush(1000);
  return { clock, cluster };
}

async function stop({ clock, cluster }: Started): Promise<void> {
  const closing = cluster.close();
  await clock.advanceAndFlush(60_000);
  await closing;
}

const target = (name: string) => ({ name, namespace: "default" });

function podInput(name: string, annotations: Record<string, string> = {}, spec: object = {}) {
  const containers = [{ name: "main", image: "x:1" }];
  return { metadata: { ...target(name), annotations }, spec: { containers, ...spec } };
}

async function phaseOf({ cluster }: Started, name: string): Promise<string | undefined> {
  return (await cluster.client.resource(pods).get(target(name))).status?.phase;
}

describe("simulated cluster", () => {
  let started: Started;
  before(async () => {
    started = await start();
  });
  after(() => stop(started));

  const create = (...args: Parameters<typeof podInput>) =>
    started.cluster.client.resource(pods).create(podInput(...args));

  it("starts Pods on its nodes, spread over the nodes", async () => {
    for (const name of ["a", "b", "c", "d"]) await create(name);
    const list = () => started.cluster.client.resource(pods).list({ namespace: "default" });
    // The first requests of a server take turns of the event loop that the fake clock does not
    // count.
    let { items } = await list();
    for (let second = 0; second < 30 && !items.every(isReady); second++) {
      await started.clock.advanceAndFlush(1000);
      ({ items } = await list());
    }
    assert.ok(items.every(isReady));
    const counts = started.cluster.nodes.names.map(
      (node) => items.filter(({ spec }) => spec.nodeName === node).length,
    );
    assert.deepEqual(counts, [2, 2]);
    assert.equal(new Set(items.map(({ status }) => status?.podIP)).size, 4);
  });

  it("a Pod starts after the time in its annotations", async () => {
    await create("late", { "sim.kcp.io/start-delay": "10s", "sim.kcp.io/ready-delay": "5s" });
    await started.clock.advanceAndFlush(9000);
    assert.equal(await phaseOf(started, "late"), "Pending");
    await started.clock.advanceAndFlush(2000);
    assert.equal(await phaseOf(started, "late"), "Running");
    const late = () => started.cluster.client.resource(pods).get(target("late"));
    assert.equal(isReady(await late()), false);
    await started.clock.advanceAndFlush(5000);
    assert.equal(isReady(await late()), true);
  });

  it("a Pod that is meant to terminate does so with the exit code in its annotations", async () => {
    await create("good", { "sim.kcp.io/exit-after": "1s" }, { restartPolicy: "Never" });
    const bad = { "sim.kcp.io/exit-after": "1s", "sim.kcp.io/exit-code": "3" };
    await create("bad", bad, { restartPolicy: "Never" });
    await started.clock.advanceAndFlush(5000);
    assert.equal(await phaseOf(started, "good"), "Succeeded");
    assert.equal(await phaseOf(started, "bad"), "Failed");
  });

  it("a Pod that fits no node reports the reason, and is scheduled when a node has capacity", async () => {
    const resources = { requests: { cpu: "64" } };
    const containers = [{ name: "main", image: "x:1", resources }];
    await create("huge", {}, { containers });
    await started.clock.advanceAndFlush(2000);
    const huge = () => started.cluster.client.resource(pods).get(target("huge"));
    const scheduled = (pod: Pod) =>
      pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    const refused = scheduled(await huge());
    assert.equal(refused?.reason, "Unschedulable");
    assert.equal(refused?.message, "0/2 nodes are available: 2 Insufficient cpu.");
    await started.cluster.nodes.add({ name: "large", capacity: { cpu: "128" } });
    await started.clock.advanceAndFlush(5000);
    assert.equal((await huge()).spec.nodeName, "large");
  });

  it("a deleted Pod stays until its kubelet has stopped it", async () => {
    await started.cluster.client.resource(pods).delete(target("a"));
    await flushEventLoop(10);
    const { metadata } = await started.cluster.client.resource(pods).get(target("a"));
    assert.equal(metadata.deletionGracePeriodSeconds, 30);
    await started.clock.advanceAndFlush(2000);
    assert.equal(await started.cluster.client.resource(pods).find(target("a")), undefined);
  });

  it("an Ingress gets an address, unless its annotation says that it gets none", async () => {
    const { clock, cluster } = started;
    const resource = cluster.client.resource(ingresses);
    const service = { name: "web", port: { number: 80 } };
    const made = (name: string, annotations: Record<string, string> = {}) =>
      resource.create({
        metadata: { ...target(name), annotations },
        spec: { defaultBackend: { service } },
      });
    await made("plain");
    await made("chosen", { "sim.kcp.io/address": "192.0.2.1" });
    await made("none", { "sim.kcp.io/address": "false" });
    const addressOf = async (name: string) =>
      (await resource.get(target(name))).status?.loadBalancer?.ingress;
    await clock.advanceAndFlush(1000);
    assert.deepEqual(await addressOf("chosen"), [{ ip: "192.0.2.1" }]);
    assert.match(JSON.stringify(await addressOf("plain")), /"198\.18\.\d+\.\d+"/);
    assert.equal(await addressOf("none"), undefined);
  });

  it("requests cannot name another logical cluster", async () => {
    for (const path of ["/clusters/root/api/v1/pods", "/clusters/*/api/v1/pods", "/clusters"]) {
      const request = { method: "GET", path } as const;
      await assert.rejects(started.cluster.client.json(request), (error) =>
        isStatusError(error, "NotFound"),
      );
    }
    const headers = { "x-kubernetes-cluster": "other" };
    const path = "/api/v1/nodes";
    const list = (await started.cluster.client.json({
      method: "GET",
      path,
      headers,
    })) as JsonObject;
    assert.equal((list["items"] as unknown[]).length, 3);
  });
});

describe("faults of a simulated cluster", () => {
  let started: Started;
  before(async () => {
    started = await start();
  });
  after(() => stop(started));
  const list = () => started.cluster.client.resource(nodes).list();

  it("a disconnected cluster refuses connections and ends watches; a reconnected cluster continues unchanged", async () => {
    const watching = (async () => {
      for await (const _ of started.cluster.client.resource(nodes).watch());
    })();
    const ended = assert.rejects(watching, { name: "TransportError" });
    await flushEventLoop();
    await started.cluster.faults.cut();
    await ended;
    await assert.rejects(list(), { name: "TransportError" });
    await started.cluster.faults.heal();
    assert.equal((await list()).items.length, 2);
  });

  it("a frozen cluster does not respond until it thaws", async () => {
    started.cluster.faults.freeze();
    let isAnswered = false;
    const answer = list().finally(() => {
      isAnswered = true;
    });
    await started.clock.advanceAndFlush(5000);
    assert.equal(isAnswered, false);
    await started.cluster.faults.heal();
    assert.equal((await answer).items.length, 2);
  });

  it("a slow cluster responds with the given delay", async () => {
    started.cluster.faults.slow(3000);
    let isAnswered = false;
    const answer = list().finally(() => {
      isAnswered = true;
    });
    await started.clock.advanceAndFlush(2999);
    assert.equal(isAnswered, false);
    await started.clock.advanceAndFlush(1);
    await answer;
    await started.cluster.faults.heal();
  });

  it("requests with unknown credentials get 401, and the cluster's controllers continue", async () => {
    await started.cluster.client.resource(pods).create(podInput("p"));
    started.cluster.faults.unauthorize();
    await assert.rejects(list(), (error) => isStatusError(error, "Unauthorized"));
    await started.clock.advanceAndFlush(5000);
    await started.cluster.faults.heal();
    assert.equal(await phaseOf(started, "p"), "Running");
  });

  it("a silent node is NotReady after forty seconds, and Ready when it returns", async () => {
    const [name = ""] = started.cluster.nodes.names;
    const readiness = async () => {
      const node = await started.cluster.client.resource(nodes).get({ name });
      const taints = node.spec?.taints?.length ?? 0;
      return [node.status?.conditions?.find(({ type }) => type === "Ready")?.status, taints];
    };
    started.cluster.nodes.takeDown(name);
    await started.clock.advanceAndFlush(25_000);
    assert.deepEqual(await readiness(), ["True", 0]);
    await started.clock.advanceAndFlush(30_000);
    assert.deepEqual(await readiness(), ["Unknown", 2]);
    started.cluster.nodes.bringUp(name);
    await started.clock.advanceAndFlush(2000);
    assert.deepEqual(await readiness(), ["True", 0]);
  });
});

describe("generations of a simulated cluster", () => {
  it("generations differ in version, kinds and fields", async () => {
    const started = await start({ generation: "1.28" });
    try {
      const { client } = started.cluster;
      const version = (await client.json({ method: "GET", path: "/version" })) as JsonObject;
      assert.equal(version["gitVersion"], "v1.28.15");
      const path = "/apis/networking.k8s.io/v1/servicecidrs";
      await assert.rejects(client.json({ method: "GET", path }), (error) =>
        isStatusError(error, "NotFound"),
      );
      const input = podInput("p", {}, { hostnameOverride: "other" });
      const pod = await client.resource(pods).create(input);
      assert.equal(pod.spec["hostnameOverride"], undefined);
      assert.equal(pod.metadata.generation, undefined);
      await assert.rejects(
        client.resource(pods).create(input, { fieldValidation: "Strict" }),
        /unknown field "spec\.hostnameOverride"/,
      );
    } finally {
      await stop(started);
    }
  });
});
