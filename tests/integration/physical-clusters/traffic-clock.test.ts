/**
 * Goal: how long after a cluster is not Ready its endpoints are withdrawn. Method: the controller
 * alone, on a clock that stands still; what syncers would bring up and what the cluster controller
 * would say, the test writes.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { serviceExports, syncTargets, traffic } from "@kcp-ts/multicluster";
import { type Client, timestamp } from "@kcp-ts/sdk";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { flushEventLoop } from "@kcp-ts/testkit";
import { eventually } from "./fixture.ts";
import { createUpsyncedSlice, defineTrafficKinds } from "./traffic-clock-fixture.ts";
import { namespace, readyBySource, services } from "./traffic-fixture.ts";

async function startTraffic(t: TestContext) {
  const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
  const { client, clock } = plane;
  await defineTrafficKinds(client);
  const stop = new AbortController();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const running = traffic({ client: plane.clientFor("*"), clock, onError }).run(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.advanceAndFlush(60_000);
    await running;
    await plane.close();
  });
  return { client, clock, errors };
}

async function report(client: Client, nowMs: number, name: string, status: "True" | "False") {
  const lastTransitionTime = timestamp(nowMs);
  const condition = { type: "Ready", status, reason: "ForTest", message: "", lastTransitionTime };
  const patch = { status: { conditions: [condition], syncedResources: ["services"] } };
  await client.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
}

describe("endpoints of a cluster that is not Ready", () => {
  it("are withdrawn within ten seconds of that moment, and come back when it is Ready", async (t) => {
    const { client, clock, errors } = await startTraffic(t);
    const states = Object.fromEntries(
      ["east", "west"].map((name) => [`state.workload.kcp.io/${name}`, "Sync"]),
    );
    for (const name of ["east", "west"]) {
      await client.resource(syncTargets).create({ metadata: { name }, spec: {} });
      await report(client, clock.now(), name, "True");
    }
    const spec = { ports: [{ name: "http", port: 80 }] };
    const metadata = { name: "web", namespace, labels: states };
    await eventually(() => client.resource(services).create({ metadata, spec }));
    for (const name of ["east", "west"]) await eventually(() => createUpsyncedSlice(client, name));
    await client.resource(serviceExports).create({ metadata: { name: "web", namespace } });
    const untilBoth = () =>
      eventually(async () => {
        await clock.advanceAndFlush(1000);
        assert.deepEqual(await readyBySource(client), { east: 1, west: 1 });
      });
    await untilBoth();

    const lostAtMs = clock.now();
    await report(client, lostAtMs, "west", "False");
    await flushEventLoop();
    let withdrawnAtMs: number | undefined;
    while (withdrawnAtMs === undefined && clock.now() < lostAtMs + 60_000) {
      await clock.advanceAndFlush(100);
      const counts = await readyBySource(client);
      assert.equal(counts["east"], 1);
      if (counts["west"] === 0) withdrawnAtMs = clock.now();
    }
    assert.ok(withdrawnAtMs !== undefined);
    const tookMs = withdrawnAtMs - lostAtMs;
    assert.ok(tookMs <= 10_000, `withdrawn after ${tookMs} ms`);
    // A silence that is over sooner changes nothing.
    assert.ok(tookMs >= 4000, `withdrawn after ${tookMs} ms`);

    await report(client, clock.now(), "west", "True");
    await untilBoth();
    await report(client, clock.now(), "west", "False");
    await clock.advanceAndFlush(3000);
    await report(client, clock.now(), "west", "True");
    for (let step = 0; step < 100; step++) {
      await clock.advanceAndFlush(100);
      assert.deepEqual(await readyBySource(client), { east: 1, west: 1 });
    }
    assert.deepEqual(errors, []);
  });
});
