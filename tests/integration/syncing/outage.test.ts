/**
 * Goal: what was asked for while a side was out of reach is done as soon as that side is followed
 * again, not when a pause ends that was chosen while it was away. Method: a syncer and both of its
 * sides on a clock that stands still; outages that are long enough for every pause to be as long as
 * it gets.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Syncer, startSyncer } from "@kcp-ts/multicluster";
import type { DynamicObject } from "@kcp-ts/sdk";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { advanceUntil } from "./advance-until.ts";
import { type Fault, FaultyServer, namespaces, widgets } from "./faulty-server.ts";
import { assigned, bothKinds, target } from "./syncer-fixture.ts";

const outageMs = 900_000;
/** From the first watch that is accepted again. */
const promptMs = 3000;
const at = { name: "a", namespace: "shop" };

class Outage {
  readonly up: FaultyServer;
  readonly down: FaultyServer;
  readonly #clock: FakeClock;
  readonly #syncer: Syncer;

  private constructor(
    up: FaultyServer,
    down: FaultyServer,
    clock: FakeClock,
    random: SeededRandom,
  ) {
    this.up = up;
    this.down = down;
    this.#clock = clock;
    this.#syncer = startSyncer({
      upstream: up.syncerClient,
      scope: "all-clusters",
      serves: () => true,
      downstream: down.syncerClient,
      target,
      resources: bothKinds,
      clock,
      random,
    });
  }

  static async start(t: TestContext, seed: number): Promise<Outage> {
    const clock = new FakeClock();
    const random = new SeededRandom(seed);
    const [up, down] = [
      await FaultyServer.start(clock, random),
      await FaultyServer.start(clock, random),
    ];
    await up.client
      .inCluster("root")
      .resource(namespaces)
      .create({ metadata: { name: at.namespace } });
    const one = new Outage(up, down, clock, random);
    t.after(async () => {
      await advanceUntil(clock, one.#syncer.stop());
      await advanceUntil(clock, Promise.all([up.close(), down.close()]));
    });
    return one;
  }

  get home() {
    return this.up.client.inCluster("root").resource(widgets);
  }

  async copy(): Promise<DynamicObject | undefined> {
    const { items } = await this.down.client.resource(widgets).list();
    return items.find(({ metadata }) => metadata.name === at.name);
  }

  /** Something is in the cluster. */
  async copied(): Promise<void> {
    await this.home.create({ metadata: { ...at, labels: assigned }, spec: { color: "red" } });
    await this.until(async () => (await this.copy()) !== undefined, 60_000);
    await this.pass(2000);
  }

  /** In the cluster. */
  async report(phase: string): Promise<void> {
    const { name = "", namespace = "" } = (await this.copy())?.metadata ?? {};
    const patch = { status: { phase } };
    await this.down.client
      .resource(widgets)
      .patchStatus({ name, namespace }, { type: "merge", patch });
  }

  /** As it is reported upstream. */
  async phase(): Promise<string | undefined> {
    const { status } = (await this.home.get(at)) as { status?: { phase?: string } };
    return status?.phase;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1000) await this.#clock.advanceAndFlush(1000);
  }

  /** How long it takes, on the clock that stands still. */
  async until(isSo: () => boolean | Promise<boolean>, mostMs: number): Promise<number> {
    const startMs = this.#clock.monotonic();
    for (;;) {
      if (await isSo()) return this.#clock.monotonic() - startMs;
      const tookMs = this.#clock.monotonic() - startMs;
      assert.ok(tookMs < mostMs, `not within ${mostMs} ms`);
      await this.#clock.advanceAndFlush(100);
    }
  }

  get isFollowed(): boolean {
    return [...this.#syncer.health.kinds.values()].every(({ isWatching }) => isWatching);
  }
}

const cut: Fault = () => "cut";

describe("after an outage", () => {
  for (const seed of [1, 2, 3, 4]) {
    it(`of the cluster, it has what was asked for in the meantime (seed ${seed})`, async (t) => {
      const outage = await Outage.start(t, seed);
      await outage.until(() => outage.isFollowed, 60_000);
      outage.down.injectFault(cut);
      await outage.home.create({ metadata: { ...at, labels: assigned }, spec: { color: "red" } });
      await outage.pass(outageMs);
      assert.equal(await outage.copy(), undefined);
      outage.down.heal();
      await outage.until(() => outage.isFollowed, 120_000);
      await outage.until(async () => (await outage.copy()) !== undefined, promptMs);
    });

    it(`of the control plane, it has what the cluster reported in the meantime (seed ${seed})`, async (t) => {
      const outage = await Outage.start(t, seed);
      await outage.copied();
      outage.up.injectFault(cut);
      await outage.report("Ready");
      await outage.pass(outageMs);
      outage.up.heal();
      assert.equal(await outage.phase(), undefined);
      await outage.until(() => outage.isFollowed, 120_000);
      await outage.until(async () => (await outage.phase()) === "Ready", promptMs);
    });

    it(`of the control plane's store, whose watches went on, it does not wait for minutes (seed ${seed})`, async (t) => {
      const outage = await Outage.start(t, seed);
      await outage.copied();
      outage.up.injectFault(({ method }) => (method === "GET" ? undefined : { status: 503 }));
      await outage.report("Ready");
      await outage.pass(outageMs);
      outage.up.heal();
      assert.equal(await outage.phase(), undefined);
      await outage.until(async () => (await outage.phase()) === "Ready", 31_000);
    });
  }
});
