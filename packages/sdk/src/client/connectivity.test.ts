import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { rootCluster } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Informer } from "../informer/index.ts";
import { configMaps } from "../kinds/index.ts";
import { Client } from "./client.ts";
import { Connectivity } from "./connectivity.ts";
import { InProcessTransport } from "./in-process-transport.ts";
import { onAbort } from "./index.ts";
import { TransportError } from "./transport.ts";

/** A server of ConfigMaps that can be cut off. */
function serverOf(clock: FakeClock) {
  const state = { isCut: false, watches: 0 };
  const open = new Set<() => void>();
  async function* watched(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const annotations = { "k8s.io/initial-events-end": "true" };
    const metadata = { resourceVersion: "1", annotations };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata };
    yield new TextEncoder().encode(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
    state.watches++;
    await new Promise<void>((resolve, reject) => {
      onAbort(signal, resolve);
      open.add(() => reject(new TransportError("connection-lost", "cut")));
    }).finally(() => state.watches--);
  }
  const transport = new InProcessTransport(({ path, signal }) => {
    if (state.isCut) throw new TransportError("connection-lost", "cut");
    const body = path.includes("watch=true") ? watched(signal) : "{}";
    return { status: 200, body };
  });
  const cut = () => {
    state.isCut = true;
    for (const end of open) end();
    open.clear();
  };
  return { client: new Client({ transport, clock, random: new SeededRandom(1) }), state, cut };
}

async function startInformers(
  t: TestContext,
  client: Client,
  clock: FakeClock,
  onError = (_error: unknown) => {},
) {
  const stop = new AbortController();
  const running = [1, 2, 3].map(() => {
    const scope = { cluster: rootCluster };
    const informer = new Informer({ client, resource: configMaps, scope, onError });
    return informer.run(stop.signal);
  });
  t.after(async () => {
    stop.abort();
    await clock.advanceAndFlush(60_000);
    await Promise.all(running);
  });
  await clock.advanceAndFlush(0);
}

describe("connectivity", () => {
  it("watches are back when any request is answered after an outage, whatever their back-off", async (t) => {
    const clock = new FakeClock();
    const { client, state, cut } = serverOf(clock);
    await startInformers(t, client, clock);
    assert.equal(state.watches, 3);
    cut();
    for (let second = 0; second < 90; second++) await clock.advanceAndFlush(1000);
    assert.equal(state.watches, 0);
    state.isCut = false;
    await client.inCluster("other").json({ method: "GET", path: "/version" });
    await clock.advanceAndFlush(0);
    assert.equal(state.watches, 3);
  });

  it("watches that break together are one report, and another one every ten seconds", async (t) => {
    const clock = new FakeClock();
    const { client, cut } = serverOf(clock);
    let reports = 0;
    await startInformers(t, client, clock, () => reports++);
    cut();
    await clock.advanceAndFlush(0);
    assert.equal(reports, 1);
    for (let second = 0; second < 90; second++) await clock.advanceAndFlush(1000);
    assert.ok(reports <= 10, String(reports));
  });

  it("a failure among answers ends no back-off", async () => {
    const clock = new FakeClock();
    const connectivity = new Connectivity(clock);
    let isOver = false;
    void connectivity.pause(clock, 60_000, new AbortController().signal).then(() => {
      isOver = true;
    });
    for (let second = 0; second < 30; second++) {
      connectivity.failed();
      await clock.advanceAndFlush(1000);
      connectivity.answered();
    }
    assert.equal(isOver, false);
    connectivity.failed();
    await clock.advanceAndFlush(3000);
    connectivity.answered();
    await clock.advanceAndFlush(0);
    assert.equal(isOver, true);
  });

  it("a signal ends the wait with its reason", async () => {
    const stop = new AbortController();
    const clock = new FakeClock();
    const waiting = new Connectivity(clock).pause(clock, 1000, stop.signal);
    stop.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
  });
});
