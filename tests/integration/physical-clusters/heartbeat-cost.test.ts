/**
 * Goal: a heartbeat, which comes every two seconds from an agent without a tunnel, starts no work
 * but a look at its own SyncTarget. Method: all controllers of physical clusters over a client that
 * counts, with something for each of them that could look at a SyncTarget, on a clock that stands
 * still: what is asked then is asked because of the heartbeat.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runMulticluster, syncTargets } from "@kcp-ts/multicluster";
import { Client, type TransportRequest, timestamp } from "@kcp-ts/sdk";
import { persistentVolumeClaims as claims } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { flushEventLoop } from "@kcp-ts/testkit";
import { eventually } from "./fixture.ts";
import { createUpsyncedSlice, defineKinds, defineTrafficKinds } from "./traffic-clock-fixture.ts";
import { namespace, services } from "./traffic-fixture.ts";

async function started(t: TestContext) {
  const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
  const { client, clock } = plane;
  await defineTrafficKinds(client);
  await defineKinds(client, [["", "persistentvolumeclaims", "PersistentVolumeClaim"]]);
  const { transport, basePath, random } = plane.clientFor("*");
  const asked: string[] = [];
  const counting = {
    send: (request: TransportRequest) => {
      asked.push(`${request.method} ${request.path.split("?")[0]}`);
      return transport.send(request);
    },
    close: () => transport.close(),
  };
  const system = new Client({ transport: counting, basePath, clock, random });
  const stop = new AbortController();
  let isOver = false;
  const running = runMulticluster(
    { client: system, clock, onError: () => {} },
    stop.signal,
  ).finally(() => {
    isOver = true;
  });
  t.after(async () => {
    stop.abort();
    while (!isOver) await clock.advanceAndFlush(100);
    await running;
    await plane.close();
  });
  return { client, clock, asked };
}

describe("a heartbeat", () => {
  it("starts no work but a look at its own SyncTarget", async (t) => {
    const { client, clock, asked } = await started(t);
    const targets = client.resource(syncTargets);
    // Whoever drains it looks at everything in it when it changes.
    await targets.create({ metadata: { name: "east" }, spec: { mode: "Pull", drain: {} } });
    const beat = async (atMs: number) => {
      const times = {
        lastHeartbeatTime: timestamp(atMs),
        nextHeartbeatTime: timestamp(atMs + 2000),
      };
      const status = { ...times, leaseDurationSeconds: 60 };
      await targets.patchStatus({ name: "east" }, { type: "merge", patch: { status } });
    };
    const syncedResources = ["services", "persistentvolumeclaims", "deployments.apps"];
    const status = { syncedResources };
    await targets.patchStatus({ name: "east" }, { type: "merge", patch: { status } });
    const labels = { "state.workload.kcp.io/east": "Sync" };
    const about = { namespace, labels };
    const made = {
      services: { metadata: { ...about, name: "web" } },
      claims: { metadata: { ...about, name: "data" } },
    };
    await eventually(() => client.resource(services).create(made.services));
    await eventually(() => client.resource(claims).create(made.claims));
    await eventually(() => createUpsyncedSlice(client, "east"));
    for (let seconds = 0; seconds < 30; seconds++) {
      await clock.advanceAndFlush(1000);
      await beat(clock.now());
    }
    const isKnown = (part: string) => asked.some((one) => one.includes(part));
    for (const part of ["persistentvolumeclaims", "endpointslices", "synctargets", "services"])
      assert.ok(isKnown(part), `${part} were never asked for`);

    // From here on time stands still.
    for (let rounds = 0; rounds < 50; rounds++) await flushEventLoop(4);
    asked.length = 0;
    const beats = 5;
    for (let beaten = 1; beaten <= beats; beaten++) {
      await beat(clock.now() + beaten * 2000);
      for (let rounds = 0; rounds < 50; rounds++) await flushEventLoop(4);
    }
    const account = asked.filter((one) => /^GET .*\/serviceaccounts\//.test(one));
    assert.deepEqual(asked, account);
    assert.equal(asked.length, beats);
  });
});
