/**
 * Goal: endpoints of a cluster whose agent has fallen silent are withdrawn within ten seconds, with
 * a tunnel or without, also when that happened while the control plane was away; and those of no
 * other: not when the agent stops in good order, not when the control plane stalls or is started
 * anew. Method: tunnels, the controller of SyncTargets and traffic on a clock that stands still;
 * the wire between them and the agent is in this process, and what the agent writes, the test does.
 */
import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  AgentPresence,
  renewIntervalAnnotation,
  runMulticluster,
  serviceExports,
  stopsAtExpiryAnnotation,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncTargets,
  Tunnels,
  tunnellessRenewMs,
} from "@kcp-ts/multicluster";
import { type Client, findCondition, microTime } from "@kcp-ts/sdk";
import { leases } from "@kcp-ts/sdk/kinds";
import { WebSocketConnection } from "@kcp-ts/sdk/websocket";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { type FakeClock, flushEventLoop } from "@kcp-ts/testkit";
import { eventually } from "./fixture.ts";
import { createUpsyncedSlice, defineTrafficKinds } from "./traffic-clock-fixture.ts";
import { namespace, readyBySource, services } from "./traffic-fixture.ts";

const names = ["east", "west"] as const;
type Name = (typeof names)[number];

interface Agents {
  readonly leaseSeconds: number;
  /** Whether a proxy lets their WebSockets through. */
  readonly hasTunnels: boolean;
  /** They do not announce their next renewal. */
  readonly isOld: boolean;
}

/** What agents report besides their Leases. */
const agentConditions = ["APIImporterReady", "SyncerReady"].map((type) => {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return { type, status: "True", reason: "ForTest", message: "", lastTransitionTime };
});

const usual: Agents = { leaseSeconds: 60, hasTunnels: true, isOld: false };
const withoutTunnels: Agents = { ...usual, hasTunnels: false };

/** The servers' side of the tunnels, which dies with its process. */
interface Process {
  readonly tunnels: Tunnels;
  readonly presence: AgentPresence;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

class Stage {
  readonly client: Client;
  readonly clock: FakeClock;
  readonly #system: Client;
  readonly #uids = new Map<Name, string>();
  readonly #ends = new Map<Name, Duplex>();
  /** Agents that renew their Leases. */
  readonly beating = new Set<Name>(names);
  /** Server processes that run, by their identities. */
  readonly servers = new Set<string>();
  readonly #agents: Agents;
  /** Agents whose tunnel is up, as far as they know. */
  readonly #tunnelled = new Set<Name>();
  /** When each was last written, and what was promised then. */
  readonly #beats = new Map<Name, { readonly atMs: number; readonly periodMs: number }>();
  #isAway = false;
  #processes = 0;
  #process: Process;

  private constructor(client: Client, system: Client, clock: FakeClock, agents: Agents) {
    this.#agents = agents;
    this.client = client;
    this.#system = system;
    this.clock = clock;
    this.#process = this.#start();
  }

  static async open(t: TestContext, wanted: Partial<Agents> = {}): Promise<Stage> {
    const agents = { ...usual, ...wanted };
    const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
    await defineTrafficKinds(plane.client);
    const stage = new Stage(plane.client, plane.clientFor("*"), plane.clock, agents);
    t.after(async () => {
      await stage.#end(stage.#process);
      await plane.close();
    });
    await stage.#fill();
    return stage;
  }

  #start(): Process {
    // Races for a status, which are tried again.
    const onError = () => {};
    const { clock } = this;
    const system = this.#system;
    const identity = `server-${++this.#processes}`;
    this.servers.add(identity);
    const server = () => identity;
    const presence = new AgentPresence({ client: () => system, server, clock, onError });
    const stop = new AbortController();
    const controllers = new Set(["cluster-controller", "traffic"] as const);
    const isServerAlive = async (one: string) => this.servers.has(one);
    const options = { client: system, clock, controllers, isServerAlive, onError };
    const running = runMulticluster(options, stop.signal);
    return { presence, tunnels: new Tunnels({ clock, presence }), stop, running };
  }

  async #end({ presence, stop, running }: Process): Promise<void> {
    await presence.close();
    stop.abort();
    await this.#ended(running);
  }

  async #ended(running: Promise<void>): Promise<void> {
    let isOver = false;
    const over = running.finally(() => {
      isOver = true;
    });
    while (!isOver) await this.pass(100);
    await over;
  }

  async #fill(): Promise<void> {
    for (const name of names) {
      const made = await this.client
        .resource(syncTargets)
        .create({ metadata: { name }, spec: { mode: "Pull" } });
      this.#uids.set(name, made.metadata.uid ?? "");
      await this.#patch(name, { syncedResources: ["services"], conditions: agentConditions });
      if (this.#agents.hasTunnels) this.dial(name);
    }
    const labels = Object.fromEntries(
      names.map((name) => [`state.workload.kcp.io/${name}`, "Sync"]),
    );
    const spec = { ports: [{ name: "http", port: 80 }] };
    const metadata = { name: "web", namespace, labels };
    await eventually(() => this.client.resource(services).create({ metadata, spec }));
    for (const name of names) await eventually(() => createUpsyncedSlice(this.client, name));
    await this.client.resource(serviceExports).create({ metadata: { name: "web", namespace } });
    await this.beat();
    await eventually(async () => {
      await this.pass(1000);
      assert.deepEqual(await readyBySource(this.client), { east: 1, west: 1 });
      for (const name of names) assert.equal(await this.ready(name), "True ClusterReady");
    });
  }

  async #patch(name: Name, status: JsonObject): Promise<void> {
    const patch = { status };
    await this.client.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
  }

  dial(name: Name): WebSocketConnection {
    const [near, stream] = duplexPair();
    const uid = this.#uids.get(name) ?? "";
    this.#process.tunnels.accept({ cluster: "root" as ClusterName, name, uid }, near);
    this.#ends.set(name, stream);
    this.#tunnelled.add(name);
    const nothing = () => {};
    const about = { stream, role: "client", messageBytesMax: 1024 } as const;
    return new WebSocketConnection({ ...about, onMessage: nothing, onClose: nothing });
  }

  /** As SIGSTOP does: nothing is read, nothing is written, and the kernel keeps the connection. */
  freeze(name: Name): void {
    const end = this.#ends.get(name);
    end?.removeAllListeners("data");
    end?.pause();
    this.beating.delete(name);
    this.#tunnelled.delete(name);
  }

  /** As SIGKILL does: the agent's connections end with it. */
  kill(name: Name): void {
    this.#ends.get(name)?.destroy();
    this.beating.delete(name);
    this.#tunnelled.delete(name);
  }

  /**
   * As SIGKILL does to the control plane: what it had is gone, and nobody is told. Others may die
   * while it is away.
   */
  async restart({ meanwhile = () => {} }: { readonly meanwhile?: () => void } = {}): Promise<void> {
    const before = this.#process;
    this.servers.clear();
    await before.presence.close();
    for (const end of this.#ends.values()) end.destroy();
    this.#tunnelled.clear();
    this.#isAway = true;
    await this.#end(before);
    meanwhile();
    await this.pass(30_000);
    this.#process = this.#start();
    this.#isAway = false;
    // Just after it was tried in vain: it is tried again in two seconds at most.
    for (const name of names)
      this.#beats.set(name, { atMs: this.clock.now(), periodMs: tunnellessRenewMs });
  }

  /**
   * Another server of the same store leads from now on; the one before goes on, with the tunnels
   * that it has.
   */
  async handOver(): Promise<void> {
    const { stop, running } = this.#process;
    this.#process = this.#start();
    stop.abort();
    await this.#ended(running);
  }

  /** A process that is stopped, and agents that reach no server meanwhile. */
  async stall(ms: number): Promise<void> {
    this.clock.stall(ms);
    for (const name of names)
      this.#beats.set(name, { atMs: this.clock.now(), periodMs: tunnellessRenewMs });
    await flushEventLoop(4);
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      await this.clock.advanceAndFlush(Math.min(left, 100));
      if (!this.#isAway) for (const name of this.beating) await this.#beatWhenDue(name);
    }
    await flushEventLoop(4);
  }

  async #beatWhenDue(name: Name): Promise<void> {
    const last = this.#beats.get(name);
    const periodMs = this.#periodMs(name);
    const dueAtMs = last === undefined ? 0 : last.atMs + Math.min(last.periodMs, periodMs);
    const isChanged = last !== undefined && last.periodMs !== periodMs;
    if (isChanged || this.clock.now() >= dueAtMs) await this.#beat(name);
  }

  /** Three in each lease, and more where a renewal is all that is heard of the agent. */
  #periodMs(name: Name): number {
    const { leaseSeconds, isOld } = this.#agents;
    const longMs = (leaseSeconds * 1000) / 3;
    return isOld || this.#tunnelled.has(name) ? longMs : Math.min(tunnellessRenewMs, longMs);
  }

  async beat(): Promise<void> {
    for (const name of this.beating) await this.#beat(name);
  }

  async #beat(name: Name): Promise<void> {
    const { leaseSeconds: leaseDurationSeconds, isOld } = this.#agents;
    const [atMs, periodMs] = [this.clock.now(), this.#periodMs(name)];
    this.#beats.set(name, { atMs, periodMs });
    const interval = { [renewIntervalAnnotation]: String(Math.ceil(periodMs / 1000)) };
    const annotations = { [stopsAtExpiryAnnotation]: "true", ...(isOld ? {} : interval) };
    const spec = { leaseDurationSeconds, renewTime: microTime(atMs) };
    const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName(name) };
    const patch = { metadata: { annotations }, spec };
    await eventually(() => this.client.resource(leases).patch(at, { type: "merge", patch }));
  }

  async ready(name: Name): Promise<string> {
    const { status } = await this.client.resource(syncTargets).get({ name });
    const ready = findCondition(status?.conditions, "Ready");
    return `${ready?.status} ${ready?.reason}`;
  }

  /** How long until nothing of it is published; undefined when it is after that time. */
  async withdrawnAfterMs(name: Name, withinMs: number): Promise<number | undefined> {
    const sinceMs = this.clock.now();
    while (this.clock.now() - sinceMs < withinMs) {
      await this.pass(100);
      const counts = await readyBySource(this.client);
      if (counts[name] === 0) return this.clock.now() - sinceMs;
    }
    return undefined;
  }
}

/** Asserted, and printed with the test. */
async function withdrawnInTime(t: TestContext, stage: Stage, name: Name): Promise<void> {
  const tookMs = await stage.withdrawnAfterMs(name, 120_000);
  t.diagnostic(`withdrawn after ${tookMs} ms`);
  assert.ok(tookMs !== undefined && tookMs <= 10_000, `withdrawn after ${tookMs} ms`);
}

describe("endpoints of a cluster with an agent", () => {
  it("are withdrawn within ten seconds when the agent falls silent, and come back with it", async (t) => {
    const stage = await Stage.open(t);
    stage.freeze("west");
    await withdrawnInTime(t, stage, "west");
    assert.equal(await stage.ready("west"), "Unknown AgentHeartbeatMissed");
    assert.equal(await stage.ready("east"), "True ClusterReady");
    stage.beating.add("west");
    stage.dial("west");
    await stage.pass(3000);
    assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 1 });
  });

  it("stay when its tunnel cannot be dialled again and its heartbeats go on, and are withdrawn as soon when these end", async (t) => {
    const stage = await Stage.open(t);
    stage.freeze("west");
    stage.beating.add("west");
    assert.equal(await stage.withdrawnAfterMs("west", 120_000), undefined);
    assert.equal(await stage.ready("west"), "True ClusterReady");
    stage.beating.delete("west");
    await withdrawnInTime(t, stage, "west");
  });

  it("stay when the agent says that it stops, for as long as its heartbeat is good", async (t) => {
    const stage = await Stage.open(t);
    stage.dial("west").close(1000, "the agent stops");
    stage.beating.delete("west");
    assert.equal(await stage.withdrawnAfterMs("west", 40_000), undefined);
    assert.notEqual(await stage.withdrawnAfterMs("west", 60_000), undefined);
  });

  it("are withdrawn by heartbeats alone where there is no tunnel, as soon as with one, whatever the lease", async (t) => {
    for (const [leaseSeconds, ready] of [
      [60, "Unknown AgentHeartbeatMissed"],
      [600, "Unknown AgentHeartbeatMissed"],
      // Those are over by then, too.
      [5, "Unknown HeartbeatLate"],
      [3, "False AgentHeartbeatMissed"],
    ] as const) {
      const stage = await Stage.open(t, { ...withoutTunnels, leaseSeconds });
      stage.beating.delete("west");
      await withdrawnInTime(t, stage, "west");
      assert.equal(await stage.ready("west"), ready);
      assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 0 });
      stage.beating.add("west");
      await stage.pass(4000);
      assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 1 });
    }
  });

  it("are withdrawn in time whenever between two heartbeats, and in a second, the agent dies", async (t) => {
    const stage = await Stage.open(t, withoutTunnels);
    for (const beforeMs of [0, 100, 600, 900, 1100, 1500, 1900]) {
      await stage.pass(beforeMs);
      stage.beating.delete("west");
      await withdrawnInTime(t, stage, "west");
      stage.beating.add("west");
      await stage.pass(5000);
      assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 1 });
    }
  });

  it("stay where there is no tunnel and heartbeats come", async (t) => {
    const stage = await Stage.open(t, withoutTunnels);
    assert.equal(await stage.withdrawnAfterMs("west", 120_000), undefined);
    assert.equal(await stage.ready("west"), "True ClusterReady");
  });

  it("are withdrawn as soon after a start of the control plane when the agent has died while it was away", async (t) => {
    for (const agents of [usual, withoutTunnels]) {
      const stage = await Stage.open(t, agents);
      await stage.restart({ meanwhile: () => stage.kill("west") });
      await withdrawnInTime(t, stage, "west");
      assert.equal(await stage.ready("west"), "Unknown AgentHeartbeatMissed");
      assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 0 });
      assert.equal(await stage.ready("east"), "True ClusterReady");
    }
  });

  it("stay withdrawn when the control plane is started anew and the agent is still silent", async (t) => {
    const stage = await Stage.open(t, withoutTunnels);
    stage.kill("west");
    await withdrawnInTime(t, stage, "west");
    await stage.restart();
    for (let seconds = 0; seconds < 20; seconds++) {
      await stage.pass(1000);
      assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 0 });
    }
  });

  it("stay when the control plane is started anew, although the agents dial late", async (t) => {
    const stage = await Stage.open(t);
    await stage.restart();
    assert.equal(await stage.withdrawnAfterMs("west", 30_000), undefined);
    for (const name of names) stage.dial(name);
    await stage.pass(5000);
    stage.freeze("west");
    await withdrawnInTime(t, stage, "west");
  });

  it("stay when the control plane stalls, and agents are heard of when it goes on", async (t) => {
    for (const agents of [usual, withoutTunnels]) {
      const stage = await Stage.open(t, agents);
      for (const beforeMs of [0, 700, 1900]) {
        await stage.pass(beforeMs);
        await stage.stall(8000);
        for (let waitedMs = 0; waitedMs < 15_000; waitedMs += 100) {
          await stage.pass(100);
          // Not even for a moment that traffic would be patient with.
          for (const name of names) assert.equal(await stage.ready(name), "True ClusterReady");
        }
        assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 1 });
      }
    }
  });

  it("are withdrawn after the lease where the agent is from before such promises, with or without a start in between", async (t) => {
    for (const isRestarted of [false, true]) {
      const stage = await Stage.open(t, { ...withoutTunnels, isOld: true });
      stage.beating.delete("west");
      // It was away for half a minute of it.
      if (isRestarted) await stage.restart();
      assert.equal(await stage.withdrawnAfterMs("west", isRestarted ? 25_000 : 55_000), undefined);
      const tookMs = await stage.withdrawnAfterMs("west", 60_000);
      assert.ok(tookMs !== undefined && tookMs <= 11_000, `withdrawn ${tookMs} ms later`);
    }
  });

  it("stay when another server takes over while the one with the tunnels is there, and are withdrawn when that is gone with the agent", async (t) => {
    const stage = await Stage.open(t);
    await stage.handOver();
    assert.equal(await stage.withdrawnAfterMs("west", 60_000), undefined);
    assert.equal(await stage.ready("west"), "True ClusterReady");
    stage.beating.delete("west");
    stage.servers.delete("server-1");
    // It is looked every ten seconds whether it is there.
    const tookMs = await stage.withdrawnAfterMs("west", 60_000);
    assert.ok(tookMs !== undefined && tookMs <= 20_000, `withdrawn after ${tookMs} ms`);
  });
});
