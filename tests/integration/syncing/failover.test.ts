/**
 * Goal: 1,000 replicas of a lost cluster begin elsewhere within a second of the time that it is
 * tolerated, and not before; what comes back kills nothing early. Method: a splitter on a clock
 * that stands still; where clusters would report, the test does.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { deploymentCoordinator, syncTargets } from "@kcp-ts/multicluster";
import { type Client, timestamp } from "@kcp-ts/sdk";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { advanceUntil } from "./advance-until.ts";
import { deployments, FaultyServer, namespaces } from "./faulty-server.ts";

const workloads = 100;
const replicas = 20;
const namespace = "shop";
const toleration = { "workload.kcp.io/toleration-seconds": "90" };

class Failover {
  readonly clock: FakeClock;
  readonly client: Client;

  private constructor(up: FaultyServer, clock: FakeClock) {
    this.client = up.client.inCluster("tenant");
    this.clock = clock;
  }

  static async open(t: TestContext): Promise<Failover> {
    const clock = new FakeClock();
    const up = await FaultyServer.start(clock, new SeededRandom(1));
    const one = new Failover(up, clock);
    const stop = new AbortController();
    const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 10_000 };
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const splitter = deploymentCoordinator({ client: up.client, clock, ...gracePeriods, onError });
    await one.client.resource(namespaces).create({ metadata: { name: namespace } });
    for (const name of ["east", "west"]) {
      await one.client.resource(syncTargets).create({ metadata: { name }, spec: {} });
      await one.sayReady(name, true);
    }
    const running = splitter.run(stop.signal);
    t.after(async () => {
      stop.abort();
      await advanceUntil(clock, running);
      const closing = up.close();
      await clock.advanceAndFlush(60_000);
      await closing;
      assert.deepEqual(errors, []);
    });
    return one;
  }

  async sayReady(name: string, isReady: boolean): Promise<void> {
    const lastTransitionTime = timestamp(this.clock.now());
    const status = isReady ? "True" : "False";
    const conditions = [
      { type: "Ready", status, reason: "ForTest", message: "", lastTransitionTime },
    ];
    const patch = { status: { conditions } };
    await this.client.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
  }

  async create(annotations: (index: number) => Record<string, string>): Promise<void> {
    for (let index = 0; index < workloads; index++) {
      const metadata = { name: `w${index}`, namespace, annotations: annotations(index) };
      const spec = { replicas, template: { image: "web:0" } };
      await this.client.resource(deployments).create({ metadata, spec });
    }
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advanceAndFlush(ms);
    await flushEventLoop(20);
  }

  /** What is asked for in a cluster, by whole. */
  async asked(cluster: string): Promise<ReadonlyMap<string, number>> {
    const labelSelector = `workload.kcp.io/cluster=${cluster}`;
    const { items } = await this.client.resource(deployments).list({ labelSelector });
    return new Map(
      items.map(({ metadata, ...rest }) => [
        metadata.name.slice(0, metadata.name.indexOf("--")),
        (rest["spec"] as { replicas: number }).replicas,
      ]),
    );
  }

  async untilAsked(cluster: string, wanted: number): Promise<void> {
    for (let turn = 0; turn < 60; turn++) {
      if (sum(await this.asked(cluster)) === wanted) return;
      await this.report();
      await this.pass(1000);
    }
    assert.equal(sum(await this.asked(cluster)), wanted);
  }

  /** Clusters run what their objects request. */
  async report(...clusters: readonly string[]): Promise<void> {
    const { items } = await this.client.resource(deployments).list({});
    for (const { metadata, ...rest } of items) {
      const cluster = metadata.labels?.["workload.kcp.io/cluster"];
      if (cluster === undefined || (clusters.length > 0 && !clusters.includes(cluster))) continue;
      const { replicas: count } = rest["spec"] as { replicas: number };
      const { generation: observedGeneration = 0, name } = metadata;
      const counts = { replicas: count, readyReplicas: count, availableReplicas: count };
      const patch = { status: { observedGeneration, ...counts } };
      const at = { namespace, name };
      await this.client.resource(deployments).patchStatus(at, { type: "merge", patch });
    }
  }
}

function sum(asked: ReadonlyMap<string, number>): number {
  return [...asked.values()].reduce((total, one) => total + one, 0);
}

describe("failover", () => {
  it("of 1,000 replicas begins within a second of the toleration, each whole's own", async (t) => {
    const stage = await Failover.open(t);
    // Half of them wait longer.
    await stage.create((index) => (index < workloads / 2 ? {} : toleration));
    await stage.untilAsked("east", (workloads * replicas) / 2);
    await stage.untilAsked("west", (workloads * replicas) / 2);
    await stage.report();
    await stage.pass(20_000);
    await stage.sayReady("east", false);
    const before = sum(await stage.asked("west"));
    await stage.pass(59_000);
    assert.equal(sum(await stage.asked("west")), before, "nothing begins before its time");
    await stage.pass(2000);
    assert.equal(sum(await stage.asked("west")), before + before / 2, "half of it, 60 s after");
    await stage.pass(28_000);
    assert.equal(sum(await stage.asked("west")), before + before / 2, "the others wait 90 s");
    await stage.pass(2000);
    assert.equal(sum(await stage.asked("west")), workloads * replicas);
    // What is lost is left as it is.
    assert.equal(sum(await stage.asked("east")), before);
    assert.equal(before, 1000);

    // It comes back: nothing that replaced it goes before it has settled.
    await stage.report("west");
    await stage.sayReady("east", true);
    await stage.pass(9000);
    assert.equal(sum(await stage.asked("west")), workloads * replicas);
    await stage.pass(2000);
    await stage.report();
    await stage.untilAsked("west", 1000);
    assert.equal(sum(await stage.asked("east")), 1000);
  });
});
