/** Several processes of one controller: who works, who goes on, and what is done only once. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  Client,
  controlledBy,
  controllerFor,
  logicalClusters,
  responseBody,
  run,
  silentLog,
  type Transport,
} from "@kcp-ts/sdk";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { startTestControlPlane, type TestControlPlane } from "./test-control-plane.ts";

const lateMs = 400;

/** A transport whose watches are late, as those of a slow connection. */
function late(inner: Transport): Transport {
  async function* delayed(body: AsyncIterable<Uint8Array>) {
    for await (const chunk of body) {
      await sleep(systemClock, lateMs);
      yield chunk;
    }
  }
  return {
    close: () => inner.close(),
    async send(request) {
      const response = await inner.send(request);
      if (!/[?&]watch=/.test(request.path)) return response;
      return { ...response, body: responseBody(delayed(response.body)) };
    },
  };
}

interface Process {
  stop(): Promise<void>;
}

/** Makes a Secret with a name of the server's choice for each ConfigMap: work that shows twice. */
function start(k: TestControlPlane, identity: string, started: string[], client: Client): Process {
  const makes = controllerFor(configMaps, { name: "makes", selector: { labelSelector: "order" } })
    .owns(secrets)
    .reconcile(async (order, context) => {
      if (context.cached(secrets).ownedBy(order).length > 0) return;
      started.push(`${identity} ${order.metadata.name}`);
      // In flight when the process is asked to stop.
      await sleep(systemClock, 30);
      const { namespace } = order.metadata;
      const ownerReferences = [controlledBy(order)];
      const metadata = { generateName: "made-", namespace, ownerReferences };
      await context.client.resource(secrets).create({ metadata });
    });
  const stop = new AbortController();
  const lease = { namespace: "default", name: "makes" };
  const times = { leaseDurationMs: 1000, renewDeadlineMs: 700, retryPeriodMs: 50 };
  const running = run({
    clusters: client,
    controllers: [makes],
    leaderElection: { lease, identity, ...times, client: k.client },
    signal: stop.signal,
    log: silentLog,
  });
  return {
    async stop() {
      stop.abort();
      await running;
    },
  };
}

describe("two processes with one lease", () => {
  it("hand over without doing anything twice, also where the second one's watches are late", async () => {
    const k = await startTestControlPlane();
    const orders = k.client.resource(configMaps);
    const order = (name: string) =>
      orders.create({ metadata: { name, namespace: "default", labels: { order: "yes" } } });
    const started: string[] = [];
    const first = start(k, "first", started, k.client);
    await eventually(() => assert.equal(k.faults.openWatches >= 2, true));
    const { transport, basePath } = k.client;
    const second = start(
      k,
      "second",
      started,
      new Client({ transport: late(transport), basePath }),
    );
    for (const name of ["a", "b", "c"]) await order(name);
    await eventually(() => assert.ok(started.length >= 2));
    // The reconcile in flight ends, and its object is there once.
    await first.stop();
    await order("d");
    const made = async () => {
      const { items } = await k.client.resource(secrets).list({ namespace: "default" });
      return items.filter(({ metadata }) => metadata.name.startsWith("made-")).length;
    };
    await eventually(async () => assert.equal(await made(), 4));
    await sleep(systemClock, 2 * lateMs);
    assert.equal(await made(), 4);
    assert.deepEqual(started.map((one) => one.split(" ")[1]).sort(), ["a", "b", "c", "d"]);
    // Nobody worked before the other one had ended.
    const firstOfSecond = started.findIndex((one) => one.startsWith("second"));
    assert.ok(started.slice(firstOfSecond).every((one) => one.startsWith("second")));
    await second.stop();
    await k.close();
  });
});

describe("a controller of many tenants", () => {
  it("reaches a quiet tenant's object while another tenant has thousands of changes", async () => {
    const k = await startTestControlPlane();
    const order: string[] = [];
    const controller = controllerFor(configMaps, {
      name: "fair",
      selector: { labelSelector: "order" },
    }).reconcile(async (_, { key }) => {
      order.push(key.cluster);
      await sleep(systemClock, 1);
    });
    const labels = { order: "yes" };
    const create = (cluster: string, name: string) =>
      k
        .clientFor(cluster)
        .resource(configMaps)
        .create({ metadata: { name, namespace: "default", labels } });
    for (let i = 0; i < 300; i++) await create("loud", `c-${i}`);
    await create("quiet", "only");
    const stop = new AbortController();
    const clusters = logicalClusters({ client: k.client });
    const running = run({
      clusters,
      controllers: [controller],
      signal: stop.signal,
      log: silentLog,
    });
    await eventually(() => assert.ok(order.includes("quiet")));
    assert.ok(order.indexOf("quiet") < 10, `${order.indexOf("quiet")} others came first`);
    stop.abort();
    await running;
    await k.close();
  });
});
