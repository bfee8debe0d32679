/**
 * Goal: an agent sends a heartbeat every two seconds while it has no tunnel, and seldom while it
 * has one; at no time does it send heartbeats at a longer interval than it has promised.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { Client, InProcessTransport } from "@kcp-ts/sdk";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { heartbeatIntervalMsOf } from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { runHeartbeat } from "./heartbeat.ts";
import { Lease } from "./lease.ts";
import { TunnelState } from "./tunnel-state.ts";

const target = { cluster: "root", name: "east", uid: "t-1" };
const longMs = 20_000;

/** A heartbeat as it was sent, accepted or not. */
interface Sent {
  readonly atMs: number;
  readonly promisedMs: number | undefined;
  readonly status: JsonObject;
}

class Stage {
  readonly clock = new FakeClock();
  readonly tunnel = new TunnelState();
  readonly sent: Sent[] = [];
  /** How the control plane responds. */
  answers: "well" | "with an error" | "that it is held for silent" = "well";
  /** How long a response takes. */
  tookMs = 0;

  constructor(t: TestContext, { leaseMs = 60_000, hasTunnel = true } = {}) {
    const transport = new InProcessTransport(async ({ method, body }) => {
      if (method === "GET") return this.#answer({});
      const { status } = JSON.parse(String(body)) as { status: Record<string, string> };
      this.sent.push({
        atMs: this.clock.monotonic(),
        promisedMs: heartbeatIntervalMsOf(status),
        status,
      });
      const { tookMs } = this;
      if (tookMs > 0) await new Promise<void>((done) => this.clock.schedule(tookMs, done));
      if (this.answers === "with an error") throw new Error("nobody is there");
      const health = this.answers === "well" ? "True" : "Unknown";
      return this.#answer({ conditions: [{ type: "HeartbeatHealthy", status: health }] });
    });
    const stop = new AbortController();
    const context = {
      target,
      clock: this.clock,
      random: new SeededRandom(1),
      signal: stop.signal,
      lease: new Lease(this.clock, leaseMs),
      onError: () => {},
    } as unknown as SyncContext;
    const running = runHeartbeat({
      context,
      client: new Client({ transport, clock: this.clock }),
      tunnel: hasTunnel ? this.tunnel : undefined,
      onLost: (message) => assert.fail(message),
    });
    t.after(async () => {
      stop.abort();
      await this.pass(2000);
      await running;
    });
  }

  #answer(status: JsonObject) {
    const metadata = { name: target.name, uid: target.uid };
    const headers = { "content-type": "application/json" };
    return { status: 200, headers, body: JSON.stringify({ metadata, status }) };
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) await this.clock.advanceAndFlush(100);
  }

  /** The heartbeats since the last call, as `<milliseconds since then>: <promised interval>`. */
  async heard(ms: number): Promise<string[]> {
    const [sinceMs, known] = [this.clock.monotonic(), this.sent.length];
    await flushEventLoop(4);
    await this.pass(ms);
    return this.sent.slice(known).map((one) => `${one.atMs - sinceMs}: ${one.promisedMs}`);
  }
}

describe("heartbeat of an agent", () => {
  it("a heartbeat is sent every two seconds without a tunnel, and every third of the lease with one", async (t) => {
    const stage = new Stage(t);
    assert.deepEqual(await stage.heard(6000), [
      "0: 2000",
      "2000: 2000",
      "4000: 2000",
      "6000: 2000",
    ]);
    await stage.pass(500);
    stage.tunnel.set(true);
    assert.deepEqual(await stage.heard(45_000), ["0: 20000", "20000: 20000", "40000: 20000"]);
  });

  it("a heartbeat is sent immediately when the tunnel breaks", async (t) => {
    const stage = new Stage(t);
    stage.tunnel.set(true);
    await stage.heard(7300);
    stage.tunnel.set(false);
    assert.deepEqual(await stage.heard(4000), ["0: 2000", "2000: 2000", "4000: 2000"]);
  });

  it("heartbeats are sent every one or two seconds until the control plane has accepted a longer interval", async (t) => {
    for (const answers of ["with an error", "that it is held for silent"] as const) {
      const stage = new Stage(t);
      await stage.heard(3000);
      stage.answers = answers;
      stage.tunnel.set(true);
      const tried = await stage.heard(20_000);
      assert.ok(tried.length >= 10 && tried.length <= 20, tried.join());
      assert.ok(tried.every((one) => one.endsWith(`: ${longMs}`)));
      stage.answers = "well";
      assert.equal((await stage.heard(2000)).length, 1);
      assert.deepEqual(await stage.heard(15_000), []);
    }
  });

  it("a tunnel state that changes while a heartbeat is in flight is sent next", async (t) => {
    const stage = new Stage(t);
    stage.tunnel.set(true);
    await stage.heard(1000);
    stage.tookMs = 1000;
    assert.deepEqual(await stage.heard(19_500), ["19000: 20000"]);
    stage.tunnel.set(false);
    assert.deepEqual(await stage.heard(1000), ["500: 2000"]);
  });

  it("a slow response does not delay the next heartbeat", async (t) => {
    const stage = new Stage(t);
    stage.tookMs = 1500;
    assert.deepEqual(await stage.heard(4000), ["0: 2000", "2000: 2000", "4000: 2000"]);
  });

  it("a short lease shortens the interval, with a tunnel and without", async (t) => {
    const stage = new Stage(t, { leaseMs: 3000 });
    assert.deepEqual(await stage.heard(2000), ["0: 1000", "1000: 1000", "2000: 1000"]);
    stage.tunnel.set(true);
    assert.deepEqual(await stage.heard(2000), ["0: 1000", "1000: 1000", "2000: 1000"]);
  });

  it("an agent without tunnels removes the interval that another agent promised", async (t) => {
    const stage = new Stage(t, { hasTunnel: false });
    assert.deepEqual(await stage.heard(20_000), ["0: undefined", "20000: undefined"]);
    assert.equal(stage.sent[0]?.status["nextHeartbeatTime"], null);
  });
});
