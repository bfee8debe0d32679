/** A simulated cluster in process: its faults, its nodes, its generations, and that it is one cluster and no more. */
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
  isLevelEnabled: () => false,
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
  await clock.advanceAndSettle(1000);
  return { clock, cluster };
}

async function stop({ clock, cluster }: Started): Promise<void> {
  const closing = cluster.close();
  await clock.advanceAndSettle(60_000);
  await closing;
}

const target = (name: string) => ({ name, namespace: "default" });

function podInput(name: string, annotations: Record<string, string> = {}, spec: object = {}) {
  const containers = [{ name: "main", image: "x:1" }];
  return {
    metadata: { ...target(name), annotations },
    spec: { containers, ...spec },
  };
}

async function phaseOf({ cluster }: Started, name: string): Promise<string | undefined> {
  return (await cluster.client.resource(pods).get(target(name))).status?.phase;
}

describe("a simulated cluster", () => {
  let started: Started;
  before(async () => {
    started = await start();
  });
  after(() => stop(started));

  const create = (...args: Parameters<typeof podInput>) =>
    started.cluster.client.resource(pods).create(podInput(...args));

  it("starts Pods on its nodes, spread over them", async () => {
    for (const name of ["a", "b", "c", "d"]) await create(name);
    const list = () => started.cluster.client.resource(pods).list({ namespace: "default" });
    // The first requests of a server take turns of the event loop that the clock knows nothing of.
    let { items } = await list();
    for (let second = 0; second < 30 && !items.every(isReady); second++) {
      await started.clock.advanceAndSettle(1000);
      ({ items } = await list());
    }
    assert.ok(items.every(isReady));
    const counts = started.cluster.nodes.names.map(
      (node) => items.filter(({ spec }) => spec.nodeName === node).length,
    );
    assert.deepEqual(counts, [2, 2]);
    assert.equal(new Set(items.map(({ status }) => status?.podIP)).size, 4);
  });

  it("takes the time for a Pod that its annotations say", async () => {
    await create("late", { "sim.kcp.io/start-delay": "10s", "sim.kcp.io/ready-delay": "5s" });
    await started.clock.advanceAndSettle(9000);
    assert.equal(await phaseOf(started, "late"), "Pending");
    await started.clock.advanceAndSettle(2000);
    assert.equal(await phaseOf(started, "late"), "Running");
    const late = () => started.cluster.client.resource(pods).get(target("late"));
    assert.equal(isReady(await late()), false);
    await started.clock.advanceAndSettle(5000);
    assert.equal(isReady(await late()), true);
  });

  it("ends Pods that are meant to end, with the code that they are told", async () => {
    await create("good", { "sim.kcp.io/exit-after": "1s" }, { restartPolicy: "Never" });
    const bad = { "sim.kcp.io/exit-after": "1s", "sim.kcp.io/exit-code": "3" };
    await create("bad", bad, { restartPolicy: "Never" });
    await started.clock.advanceAndSettle(5000);
    assert.equal(await phaseOf(started, "good"), "Succeeded");
    assert.equal(await phaseOf(started, "bad"), "Failed");
  });

  it("says why a Pod fits nowhere, and places it when there is room", async () => {
    const resources = { requests: { cpu: "64" } };
    const containers = [{ name: "main", image: "x:1", resources }];
    await create("huge", {}, { containers });
    await started.clock.advanceAndSettle(2000);
    const huge = () => started.cluster.client.resource(pods).get(target("huge"));
    const scheduled = (pod: Pod) =>
      pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    const refused = scheduled(await huge());
    assert.equal(refused?.reason, "Unschedulable");
    assert.equal(refused?.message, "0/2 nodes are available: 2 Insufficient cpu.");
    await started.cluster.nodes.add({ name: "large", capacity: { cpu: "128" } });
    await started.clock.advanceAndSettle(5000);
    assert.equal((await huge()).spec.nodeName, "large");
  });

  it("deletes a running Pod when its kubelet has stopped it, and not before", async () => {
    await started.cluster.client.resource(pods).delete(target("a"));
    await flushEventLoop(10);
    const { metadata } = await started.cluster.client.resource(pods).get(target("a"));
    assert.equal(metadata.deletionGracePeriodSeconds, 30);
    await started.clock.advanceAndSettle(2000);
    assert.equal(await started.cluster.client.resource(pods).find(target("a")), undefined);
  });

  it("gives Ingresses an address, unless they say that nobody does", async () => {
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
    await clock.advanceAndSettle(1000);
    assert.deepEqual(await addressOf("chosen"), [{ ip: "192.0.2.1" }]);
    assert.match(JSON.stringify(await addressOf("plain")), /"198\.18\.\d+\.\d+"/);
    assert.equal(await addressOf("none"), undefined);
  });

  it("is one cluster: others cannot be named in it", async () => {
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

  it("cut off, it is refused, and watches end; healed, it is as it was", async () => {
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

  it("frozen, it does not answer until it thaws", async () => {
    started.cluster.faults.freeze();
    let isAnswered = false;
    const answer = list().finally(() => {
      isAnswered = true;
    });
    await started.clock.advanceAndSettle(5000);
    assert.equal(isAnswered, false);
    await started.cluster.faults.heal();
    assert.equal((await answer).items.length, 2);
  });

  it("slow, it answers so much later", async () => {
    started.cluster.faults.slow(3000);
    let isAnswered = false;
    const answer = list().finally(() => {
      isAnswered = true;
    });
    await started.clock.advanceAndSettle(2999);
    assert.equal(isAnswered, false);
    await started.clock.advanceAndSettle(1);
    await answer;
    await started.cluster.faults.heal();
  });

  it("without credentials that it knows, it says 401, and its controllers go on", async () => {
    await started.cluster.client.resource(pods).create(podInput("p"));
    started.cluster.faults.unauthorize();
    await assert.rejects(list(), (error) => isStatusError(error, "Unauthorized"));
    await started.clock.advanceAndSettle(5000);
    await started.cluster.faults.heal();
    assert.equal(await phaseOf(started, "p"), "Running");
  });

  it("a node that falls silent is lost after forty seconds, and found when it is back", async () => {
    const [name = ""] = started.cluster.nodes.names;
    const readiness = async () => {
      const node = await started.cluster.client.resource(nodes).get({ name });
      const taints = node.spec?.taints?.length ?? 0;
      return [node.status?.conditions?.find(({ type }) => type === "Ready")?.status, taints];
    };
    started.cluster.nodes.takeDown(name);
    await started.clock.advanceAndSettle(25_000);
    assert.deepEqual(await readiness(), ["True", 0]);
    await started.clock.advanceAndSettle(30_000);
    assert.deepEqual(await readiness(), ["Unknown", 2]);
    started.cluster.nodes.bringUp(name);
    await started.clock.advanceAndSettle(2000);
    assert.deepEqual(await readiness(), ["True", 0]);
  });
});

describe("generations of a simulated cluster", () => {
  it("differ in version, kinds and fields", async () => {
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
