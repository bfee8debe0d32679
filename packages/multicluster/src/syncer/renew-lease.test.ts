/**
 * Goal: an agent renews its Lease every two seconds while it has no tunnel, and seldom while it has
 * one; at no time does it renew the Lease at a longer interval than it has promised.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { Client, InProcessTransport } from "@kcp-ts/sdk";
import type { Lease as LeaseObject } from "@kcp-ts/sdk/kinds";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { acceptedLeaseAnnotation, renewalOf } from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { Lease } from "./lease.ts";
import { runLeaseRenewal } from "./renew-lease.ts";
import { TunnelState } from "./tunnel-state.ts";

const target = { cluster: "root", name: "east", uid: "t-1" };
const longMs = 20_000;

/** A renewal as it was sent, accepted or not. */
interface Sent {
  readonly atMs: number;
  readonly promisedMs: number | undefined;
  readonly annotations: JsonObject;
}

class Stage {
  readonly clock = new FakeClock();
  readonly tunnel = new TunnelState();
  readonly sent: Sent[] = [];
  /** How the control plane responds. */
  answers: "well" | "with an error" | "that it counts as lost" = "well";
  /** How long a response takes. */
  tookMs = 0;

  constructor(t: TestContext, { leaseMs = 60_000, hasTunnel = true } = {}) {
    const transport = new InProcessTransport(async ({ method, body }) => {
      if (method === "GET") return this.#answer({});
      const lease = JSON.parse(String(body)) as LeaseObject;
      const { annotations = {} } = lease.metadata;
      const promisedMs = renewalOf(lease)?.intervalMs;
      this.sent.push({ atMs: this.clock.monotonic(), promisedMs, annotations });
      const { tookMs } = this;
      if (tookMs > 0) await new Promise<void>((done) => this.clock.schedule(tookMs, done));
      if (this.answers === "with an error") throw new Error("nobody is there");
      const accepted = { [acceptedLeaseAnnotation]: String(leaseMs / 1000) };
      return this.#answer(this.answers === "well" ? accepted : {});
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
    const running = runLeaseRenewal({
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

  #answer(annotations: JsonObject) {
    const ownerReferences = [{ kind: "SyncTarget", name: target.name, uid: target.uid }];
    const metadata = { name: "kcp-syncer-east", uid: "l-1", annotations, ownerReferences };
    const headers = { "content-type": "application/json" };
    return { status: 200, headers, body: JSON.stringify({ metadata, spec: {} }) };
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) await this.clock.advanceAndFlush(100);
  }

  /** The renewals since the last call, as `<milliseconds since then>: <promised interval>`. */
  async heard(ms: number): Promise<string[]> {
    const [sinceMs, known] = [this.clock.monotonic(), this.sent.length];
    await flushEventLoop(4);
    await this.pass(ms);
    return this.sent.slice(known).map((one) => `${one.atMs - sinceMs}: ${one.promisedMs}`);
  }
}

describe("renewal of a Lease by an agent", () => {
  it("an agent renews its Lease every two seconds without a tunnel, and every third of the Lease with one", async (t) => {
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

  it("an agent renews its Lease immediately when the tunnel breaks", async (t) => {
    const stage = new Stage(t);
    stage.tunnel.set(true);
    await stage.heard(7300);
    stage.tunnel.set(false);
    assert.deepEqual(await stage.heard(4000), ["0: 2000", "2000: 2000", "4000: 2000"]);
  });

  it("an agent renews its Lease every one or two seconds until the control plane has accepted a longer interval", async (t) => {
    for (const answers of ["with an error", "that it counts as lost"] as const) {
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

  it("a tunnel state that changes while a renewal is in flight is sent next", async (t) => {
    const stage = new Stage(t);
    stage.tunnel.set(true);
    await stage.heard(1000);
    stage.tookMs = 1000;
    assert.deepEqual(await stage.heard(19_500), ["19000: 20000"]);
    stage.tunnel.set(false);
    assert.deepEqual(await stage.heard(1000), ["500: 2000"]);
  });

  it("a slow response does not delay the next renewal", async (t) => {
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
    assert.equal(stage.sent[0]?.annotations["workload.kcp.io/renew-interval-seconds"], null);
  });
});
