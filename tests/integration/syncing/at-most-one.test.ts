/**
 * Goal: what may run once at most does, from the splitter to what runs in the clusters, in Pull
 * mode as well as in Push mode. Method: the splitter and two syncers on a clock that stands still,
 * the way of one of them cut; where the controller of SyncTargets would speak, the test does.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { parseClusterName } from "@kcp-ts/machinery/names";
import { deploymentCoordinator, type Syncer, startSyncer, syncTargets } from "@kcp-ts/multicluster";
import { type Client, timestamp } from "@kcp-ts/sdk";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { acceptLease } from "./accept-lease.ts";
import { advanceUntil } from "./advance-until.ts";
import { deployments, FaultyServer, namespaces } from "./faulty-server.ts";

type Mode = "Push" | "Pull";
const names = ["east", "west"] as const;
type Name = (typeof names)[number];
const workload = { namespace: "shop", name: "once" };
const replicas = 2;

class Stage {
  readonly clock: FakeClock;
  readonly mode: Mode;
  readonly up: FaultyServer;
  readonly home: Client;
  readonly down: ReadonlyMap<Name, FaultyServer>;
  readonly #syncers: Syncer[] = [];
  readonly #stop = new AbortController();
  #splitting: Promise<void> = Promise.resolve();
  /** The most that ran at a time, in all clusters together. */
  most = 0;

  private constructor(
    mode: Mode,
    clock: FakeClock,
    up: FaultyServer,
    down: ReadonlyMap<Name, FaultyServer>,
  ) {
    this.mode = mode;
    this.clock = clock;
    this.up = up;
    this.down = down;
    this.home = up.client.inCluster("tenant");
  }

  static async open(t: TestContext, mode: Mode): Promise<Stage> {
    const clock = new FakeClock();
    const up = await FaultyServer.start(clock, new SeededRandom(1));
    const down = new Map<Name, FaultyServer>();
    for (const name of names) down.set(name, await FaultyServer.start(clock, new SeededRandom(2)));
    const stage = new Stage(mode, clock, up, down);
    await stage.home.resource(namespaces).create({ metadata: { name: "shop" } });
    for (const name of names) await stage.#join(name);
    const metadata = {
      ...workload,
      annotations: { "workload.kcp.io/failover-strategy": "StopBeforeStart" },
    };
    const spec = { replicas, template: { image: "db:0" } };
    await stage.home.resource(deployments).create({ metadata, spec });
    const splitter = deploymentCoordinator({
      client: up.clientOf("splitter"),
      clock,
      onError() {},
    });
    stage.#splitting = splitter.run(stage.#stop.signal);
    t.after(() => stage.#close());
    return stage;
  }

  async #join(name: Name): Promise<void> {
    const { metadata } = await this.home
      .resource(syncTargets)
      .create({ metadata: { name }, spec: {} });
    await this.say(name, true);
    const cluster = parseClusterName("tenant");
    const side = this.down.get(name);
    assert.ok(cluster !== undefined && side !== undefined);
    const upstream = this.up.clientOf(name).inCluster("tenant");
    this.#syncers.push(
      startSyncer({
        upstream,
        syncTargetClient: upstream,
        scope: { cluster },
        downstream: side.clientOf(name),
        target: { name, cluster: "tenant", uid: metadata.uid ?? "" },
        resources: [{ resource: deployments, hasStatus: true }],
        agentLeaseMs: this.mode === "Pull" ? 60_000 : undefined,
        clock: this.clock,
        random: new SeededRandom(3),
      }),
    );
  }

  async #close(): Promise<void> {
    this.up.heal();
    this.#stop.abort();
    const stopping = [this.#splitting, ...this.#syncers.map((one) => one.stop())];
    await advanceUntil(this.clock, Promise.all(stopping));
    const closing = Promise.all([this.up, ...this.down.values()].map((side) => side.close()));
    await this.clock.advanceAndFlush(60_000);
    await closing;
  }

  /** As the controller of SyncTargets does when it hears of the cluster, or does not. */
  async say(name: Name, isHeard: boolean): Promise<void> {
    const target = await this.home.resource(syncTargets).get({ name });
    const seconds = this.mode === "Pull" ? 60 : undefined;
    await acceptLease(this.home, target, isHeard ? seconds : undefined);
    const lastTransitionTime = timestamp(this.clock.now());
    const said = { reason: "ForTest", message: "", lastTransitionTime };
    const status = isHeard ? "True" : "Unknown";
    const conditions = ["Ready", "HeartbeatHealthy"].map((type) => ({ type, status, ...said }));
    const lease = seconds === undefined ? {} : { leaseDurationSeconds: seconds };
    const patch = { status: { conditions, ...lease } };
    await this.home.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
  }

  /**
   * In Pull mode the agent is in the cluster, and cannot reach the control plane; in Push mode it
   * is the other way round.
   */
  async lose(name: Name): Promise<void> {
    if (this.mode === "Pull") this.up.injectFault(({ who }) => (who === name ? "cut" : undefined));
    else this.down.get(name)?.injectFault(() => "cut");
    await this.pass(20_000);
    await this.say(name, false);
  }

  async find(name: Name): Promise<void> {
    this.up.heal();
    this.down.get(name)?.heal();
    await this.pass(5000);
    await this.say(name, true);
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      await this.clock.advanceAndFlush(Math.min(left, 1000));
      await flushEventLoop(4);
      const running = Object.values(await this.runs()).reduce((sum, one) => sum + one, 0);
      this.most = Math.max(this.most, running);
    }
  }

  /** What runs in the clusters: at once what their objects request, and as they report. */
  async runs(): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const [name, side] of this.down) {
      const resource = side.client.resource(deployments);
      for (const { metadata, ...rest } of (await resource.list({})).items) {
        const { replicas: asked } = rest["spec"] as { replicas: number };
        found[name] = (found[name] ?? 0) + asked;
        const { namespace = "", name: copy, generation = 0 } = metadata;
        const counts = { replicas: asked, readyReplicas: asked, availableReplicas: asked };
        const status = { observedGeneration: generation, updatedReplicas: asked, ...counts };
        const patch = { type: "merge", patch: { status } } as const;
        if (JSON.stringify(rest["status"]) !== JSON.stringify(status))
          await resource.patchStatus({ namespace, name: copy }, patch);
      }
    }
    return found;
  }

  async until(wanted: (runs: Record<string, number>) => boolean, withinMs: number): Promise<void> {
    for (let elapsed = 0; elapsed < withinMs; elapsed += 1000) {
      if (wanted(await this.runs())) return;
      await this.pass(1000);
    }
    assert.fail(`runs ${JSON.stringify(await this.runs())}`);
  }

  async move(to: Name): Promise<void> {
    const other = names.find((name) => name !== to) ?? to;
    const patch = { spec: { drain: {} } };
    await this.home.resource(syncTargets).patch({ name: other }, { type: "merge", patch });
  }
}

const allIn = (name: Name) => (runs: Record<string, number>) => {
  const others = Object.entries(runs).filter(([one]) => one !== name);
  return runs[name] === replicas && others.every(([, count]) => count === 0);
};

for (const mode of ["Push", "Pull"] as const) {
  describe(`at most one, in ${mode} mode`, () => {
    it("never runs more than are asked for while it moves", async (t) => {
      const stage = await Stage.open(t, mode);
      await stage.until((runs) => (runs["east"] ?? 0) + (runs["west"] ?? 0) === replicas, 60_000);
      await stage.move("west");
      await stage.until(allIn("west"), 120_000);
      assert.equal(stage.most, replicas);
    });

    it("is replaced when its cluster is lost, but not before it has surely stopped there", async (t) => {
      const stage = await Stage.open(t, mode);
      await stage.move("east");
      await stage.until(allIn("east"), 120_000);
      const patch = { spec: { drain: null } };
      await stage.home.resource(syncTargets).patch({ name: "west" }, { type: "merge", patch });
      await stage.pass(10_000);
      await stage.lose("east");
      if (mode === "Pull") await stage.until(allIn("west"), 900_000);
      else {
        // No agent stops anything in the cluster: its administrator deletes the SyncTarget.
        await stage.pass(900_000);
        assert.deepEqual(await stage.runs(), { east: replicas });
        await stage.home.resource(syncTargets).delete({ name: "east" });
        await stage.until(({ west }) => west === replicas, 120_000);
        return;
      }
      assert.equal(stage.most, replicas);
      // What replaced it stays when the cluster is back.
      await stage.find("east");
      await stage.pass(120_000);
      assert.ok(allIn("west")(await stage.runs()), JSON.stringify(await stage.runs()));
      assert.equal(stage.most, replicas);
    });
  });
}
