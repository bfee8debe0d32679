/**
 * Goal: an agent that the control plane does not hear of any more stops what may run once at most,
 * by its own clock and before the control plane starts another; and starts it again only if it is
 * asked for then. Method: a syncer as an agent has it, on a clock that stands still, with a
 * connection that is cut; where the controller of SyncTargets would speak, the test does.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { parseClusterName } from "@kcp-ts/machinery/names";
import {
  type Syncer,
  startSyncer,
  stopsAtExpiryAnnotation,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, timestamp } from "@kcp-ts/sdk";
import { leases } from "@kcp-ts/sdk/kinds";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { acceptLease } from "./accept-lease.ts";
import { advanceUntil } from "./advance-until.ts";
import { cronJobs, deployments, FaultyServer, jobs, namespaces } from "./faulty-server.ts";

const name = "east";
const leaseMs = 60_000;

class Agent {
  readonly clock: FakeClock;
  readonly up: FaultyServer;
  readonly down: FaultyServer;
  readonly home: Client;
  #syncer: Syncer | undefined;
  #uid = "";

  private constructor(clock: FakeClock, up: FaultyServer, down: FaultyServer) {
    this.clock = clock;
    this.up = up;
    this.down = down;
    this.home = up.client.inCluster("tenant");
  }

  static async open(t: TestContext): Promise<Agent> {
    const clock = new FakeClock();
    const up = await FaultyServer.start(clock, new SeededRandom(1));
    const down = await FaultyServer.start(clock, new SeededRandom(2));
    const agent = new Agent(clock, up, down);
    const made = await agent.home.resource(syncTargets).create({ metadata: { name }, spec: {} });
    agent.#uid = made.metadata.uid ?? "";
    await agent.home.resource(namespaces).create({ metadata: { name: "shop" } });
    for (const one of ["once", "often"]) {
      const labels = {
        "workload.kcp.io/cluster": name,
        ...(one === "once" ? { "workload.kcp.io/stop-before-start": "true" } : {}),
      };
      const metadata = { name: one, namespace: "shop", labels };
      const spec = { replicas: 2, template: { image: "db:0" } };
      await agent.home.resource(deployments).create({ metadata, spec });
    }
    await agent.sayHealthy(true);
    agent.start();
    t.after(async () => {
      up.heal();
      await agent.stop();
      const closing = Promise.all([up.close(), down.close()]);
      await clock.advanceAndFlush(60_000);
      await closing;
    });
    return agent;
  }

  start(): void {
    const cluster = parseClusterName("tenant");
    assert.ok(cluster !== undefined);
    const upstream = this.up.clientOf(name).inCluster("tenant");
    this.#syncer = startSyncer({
      upstream,
      syncTargetClient: upstream,
      scope: { cluster },
      downstream: this.down.clientOf(name),
      target: { name, cluster: "tenant", uid: this.#uid },
      resources: [deployments, cronJobs].map((resource) => ({ resource, hasStatus: true })),
      agentLeaseMs: leaseMs,
      clock: this.clock,
      random: new SeededRandom(3),
    });
  }

  async stop(): Promise<void> {
    await advanceUntil(this.clock, this.#syncer?.stop());
  }

  /** What the controller of SyncTargets writes, by whether it hears of the agent. */
  async sayHealthy(isHealthy: boolean): Promise<void> {
    const target = await this.home.resource(syncTargets).get({ name });
    await acceptLease(this.home, target, isHealthy ? leaseMs / 1000 : undefined);
    const lastTransitionTime = timestamp(this.clock.now());
    const status = isHealthy ? "True" : "Unknown";
    const said = { reason: "ForTest", message: "", lastTransitionTime };
    const conditions = [{ type: "HeartbeatHealthy", status, ...said }];
    const patch = { status: { conditions } };
    await this.home.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      await this.clock.advanceAndFlush(Math.min(left, 1000));
      await flushEventLoop(4);
    }
  }

  /** What runs in the cluster. */
  async runs(): Promise<Record<string, number>> {
    const { items } = await this.down.client.resource(deployments).list({});
    return Object.fromEntries(
      items.map(({ metadata, ...rest }) => [
        metadata.name,
        (rest["spec"] as { replicas: number }).replicas,
      ]),
    );
  }

  async until(wanted: Record<string, number>, withinMs: number): Promise<void> {
    for (let elapsed = 0; elapsed < withinMs; elapsed += 1000) {
      if (JSON.stringify(await this.runs()) === JSON.stringify(wanted)) return;
      await this.pass(1000);
    }
    assert.deepEqual(await this.runs(), wanted);
  }
}

describe("an agent whose renewals do not arrive", () => {
  it("stops what may run once at most when its lease is over, not before, and nothing else", async (t) => {
    const agent = await Agent.open(t);
    await agent.until({ often: 2, once: 2 }, 30_000);
    const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName(name) };
    const lease = await agent.home.resource(leases).get(at);
    assert.equal(lease.spec?.leaseDurationSeconds, leaseMs / 1000);
    assert.equal(lease.metadata.annotations?.[stopsAtExpiryAnnotation], "true");
    await agent.pass(60_000);
    assert.deepEqual(await agent.runs(), { often: 2, once: 2 });
    agent.up.injectFault(() => "cut");
    // The last renewal that counted is at most an interval old.
    await agent.pass(leaseMs - 21_000);
    assert.deepEqual(await agent.runs(), { often: 2, once: 2 });
    await agent.until({ often: 2, once: 0 }, 30_000);
    await agent.pass(300_000);
    assert.deepEqual(await agent.runs(), { often: 2, once: 0 });
  });

  it("starts it again when it is heard of, and only as many as are asked for then", async (t) => {
    const agent = await Agent.open(t);
    await agent.until({ often: 2, once: 2 }, 30_000);
    agent.up.injectFault(() => "cut");
    await agent.until({ often: 2, once: 0 }, 90_000);
    await agent.sayHealthy(false);
    agent.up.heal();
    // It is heard of again, but renewals do not count yet.
    await agent.pass(30_000);
    assert.deepEqual(await agent.runs(), { often: 2, once: 0 });
    await agent.sayHealthy(true);
    await agent.until({ often: 2, once: 2 }, 60_000);

    agent.up.injectFault(() => "cut");
    await agent.until({ often: 2, once: 0 }, 90_000);
    // Another cluster has it by now.
    const patch = { spec: { replicas: 0 } };
    const at = { namespace: "shop", name: "once" };
    await agent.home.resource(deployments).patch(at, { type: "merge", patch });
    agent.up.heal();
    const most: number[] = [];
    for (let second = 0; second < 120; second++) {
      await agent.pass(1000);
      most.push((await agent.runs())["once"] ?? 0);
    }
    assert.equal(Math.max(...most), 0);
  });

  it("stops a schedule, and what it has begun and not ended", async (t) => {
    const agent = await Agent.open(t);
    const labels = { "workload.kcp.io/cluster": name, "workload.kcp.io/stop-before-start": "true" };
    const metadata = { name: "nightly", namespace: "shop", labels };
    await agent.home.resource(cronJobs).create({ metadata, spec: { suspend: false } });
    await agent.until({ often: 2, once: 2 }, 30_000);
    const { client } = agent.down;
    const [schedule] = (await client.resource(cronJobs).list({})).items;
    assert.ok(schedule !== undefined);
    const { namespace = "", name: owner, uid = "" } = schedule.metadata;
    const reference = { apiVersion: "batch/v1", kind: "CronJob", name: owner };
    const begin = async (job: string, ownerUid: string) => {
      const ownerReferences = [{ ...reference, uid: ownerUid, controller: true }];
      const made = { name: job, namespace, ownerReferences };
      await client.resource(jobs).create({ metadata: made, spec: {} });
    };
    await begin("running", uid);
    await begin("ended", uid);
    await begin("of-another", "somebody-else");
    const ended = { type: "Complete", status: "True", reason: "", message: "" };
    const patch = {
      status: { conditions: [{ ...ended, lastTransitionTime: "2026-01-01T00:00:00Z" }] },
    };
    await client.resource(jobs).patchStatus({ namespace, name: "ended" }, { type: "merge", patch });
    const left = async () =>
      (await client.resource(jobs).list({})).items.map((job) => job.metadata.name).sort();
    assert.deepEqual(await left(), ["ended", "of-another", "running"]);
    agent.up.injectFault(() => "cut");
    await agent.until({ often: 2, once: 0 }, 90_000);
    await agent.pass(2000);
    const [stopped] = (await client.resource(cronJobs).list({})).items;
    assert.deepEqual(stopped?.["spec"], { suspend: true });
    assert.deepEqual(await left(), ["ended", "of-another"]);
  });

  it("stops it, too, when it starts where the control plane is out of reach", async (t) => {
    const agent = await Agent.open(t);
    await agent.until({ often: 2, once: 2 }, 30_000);
    await agent.stop();
    agent.up.injectFault(() => "cut");
    agent.start();
    await agent.until({ often: 2, once: 0 }, 30_000);
  });

  it("does not stop anything by being restarted", async (t) => {
    const agent = await Agent.open(t);
    await agent.until({ often: 2, once: 2 }, 30_000);
    await agent.stop();
    agent.start();
    for (let second = 0; second < 60; second++) {
      await agent.pass(1000);
      assert.deepEqual(await agent.runs(), { often: 2, once: 2 });
    }
  });
});
