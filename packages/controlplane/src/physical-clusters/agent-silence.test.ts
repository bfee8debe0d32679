/**
 * Goal: endpoints of a cluster whose agent has fallen silent are withdrawn within ten seconds, and those of no other: not when the agent stops in good order, not when the control plane
 * stalls or is started anew. Method: tunnels, the controller of SyncTargets and traffic on a clock that stands still; the wire between them and the agent is in this process, and
 * what the agent writes, the test does.
 */
import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  AgentPresence,
  runMulticluster,
  serviceExports,
  syncTargets,
  Tunnels,
} from "@kcp-ts/multicluster";
import { type Client, findCondition, timestamp } from "@kcp-ts/sdk";
import { WebSocketConnection } from "@kcp-ts/sdk/websocket";
import { type FakeClock, settle } from "@kcp-ts/testkit";
import { startTestControlPlane } from "../testing/index.ts";
import { eventually } from "./fixture.ts";
import { copyOf, defineTrafficKinds } from "./traffic-clock-stage.ts";
import { endpointSlices, namespace, readyBySource, services } from "./traffic-stage.ts";

const names = ["east", "west"] as const;
type Name = (typeof names)[number];

interface Agents {
  readonly leaseSeconds: number;
  /** Whether a proxy lets their WebSockets through. */
  readonly hasTunnels: boolean;
}

const usual: Agents = { leaseSeconds: 60, hasTunnels: true };

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
  /** Agents that write heartbeats. */
  readonly beating = new Set<Name>(names);
  readonly #agents: Agents;
  #process: Process;

  private constructor(client: Client, system: Client, clock: FakeClock, agents: Agents) {
    this.#agents = agents;
    this.client = client;
    this.#system = system;
    this.clock = clock;
    this.#process = this.#start();
  }

  static async open(t: TestContext, agents: Agents = usual): Promise<Stage> {
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
    const presence = new AgentPresence({ client: () => system, clock, onError });
    const stop = new AbortController();
    const parts = new Set(["cluster-controller", "traffic"] as const);
    const running = runMulticluster({ client: system, clock, parts, onError }, stop.signal);
    return { presence, tunnels: new Tunnels({ clock, presence }), stop, running };
  }

  async #end({ presence, stop, running }: Process): Promise<void> {
    await presence.close();
    stop.abort();
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
      await this.#patch(name, { syncedResources: ["services"] });
      await eventually(() => this.client.resource(endpointSlices).create(copyOf(name) as never));
      if (this.#agents.hasTunnels) this.dial(name);
    }
    const labels = Object.fromEntries(
      names.map((name) => [`state.workload.kcp.io/${name}`, "Sync"]),
    );
    const spec = { ports: [{ name: "http", port: 80 }] };
    const metadata = { name: "web", namespace, labels };
    await eventually(() => this.client.resource(services).create({ metadata, spec }));
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
  }

  /** As SIGKILL does to the control plane: what it had is gone, and nobody is told. */
  async restart(): Promise<void> {
    const before = this.#process;
    await before.presence.close();
    for (const end of this.#ends.values()) end.destroy();
    this.#process = this.#start();
    await this.#end(before);
  }

  async pass(ms: number): Promise<void> {
    // Three in each lease.
    const heartbeatMs = (this.#agents.leaseSeconds * 1000) / 3;
    for (let left = ms; left > 0; left -= 100) {
      const beforeMs = this.clock.now();
      await this.clock.advanceAndSettle(Math.min(left, 100));
      const isDue =
        Math.floor(beforeMs / heartbeatMs) !== Math.floor(this.clock.now() / heartbeatMs);
      if (isDue) await this.beat();
    }
    await settle(4);
  }

  async beat(): Promise<void> {
    for (const name of this.beating)
      await this.#patch(name, {
        lastHeartbeatTime: timestamp(this.clock.now()),
        leaseDurationSeconds: this.#agents.leaseSeconds,
      });
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

describe("endpoints of a cluster with an agent", () => {
  it("are withdrawn within ten seconds when the agent falls silent, and come back with it", async (t) => {
    const stage = await Stage.open(t);
    stage.freeze("west");
    const tookMs = await stage.withdrawnAfterMs("west", 60_000);
    assert.ok(tookMs !== undefined && tookMs <= 10_000, `withdrawn after ${tookMs} ms`);
    t.diagnostic(`withdrawn after ${tookMs} ms`);
    assert.equal(await stage.ready("west"), "Unknown AgentSilent");
    assert.equal(await stage.ready("east"), "True ClusterReady");
    stage.beating.add("west");
    stage.dial("west");
    await stage.pass(3000);
    assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 1 });
  });

  it("stay when its tunnel cannot be dialled again and its heartbeats go on", async (t) => {
    const stage = await Stage.open(t);
    stage.freeze("west");
    stage.beating.add("west");
    await stage.pass(6000);
    assert.equal(await stage.ready("west"), "Unknown AgentSilent");
    await stage.beat();
    assert.equal(await stage.withdrawnAfterMs("west", 120_000), undefined);
    assert.equal(await stage.ready("west"), "True ClusterReady");
  });

  it("stay when the agent says that it stops, for as long as its heartbeat is good", async (t) => {
    const stage = await Stage.open(t);
    stage.dial("west").close(1000, "the agent stops");
    stage.beating.delete("west");
    assert.equal(await stage.withdrawnAfterMs("west", 40_000), undefined);
    assert.notEqual(await stage.withdrawnAfterMs("west", 60_000), undefined);
  });

  it("are withdrawn by heartbeats alone where there is no tunnel: in time with a short lease, after a minute with the usual one", async (t) => {
    for (const [leaseSeconds, withinMs] of [
      [5, 10_000],
      [60, 66_000],
    ] as const) {
      const stage = await Stage.open(t, { leaseSeconds, hasTunnels: false });
      stage.beating.delete("west");
      const tookMs = await stage.withdrawnAfterMs("west", 120_000);
      assert.ok(tookMs !== undefined && tookMs <= withinMs, `withdrawn after ${tookMs} ms`);
      t.diagnostic(`lease of ${leaseSeconds} s: withdrawn after ${tookMs} ms`);
      assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 0 });
    }
  });

  it("are withdrawn as soon with a short lease when the control plane is started anew and the agent is not there", async (t) => {
    const stage = await Stage.open(t, { leaseSeconds: 5, hasTunnels: false });
    stage.beating.delete("west");
    await stage.restart();
    const tookMs = await stage.withdrawnAfterMs("west", 120_000);
    assert.ok(tookMs !== undefined && tookMs <= 10_000, `withdrawn after ${tookMs} ms`);
    t.diagnostic(`withdrawn after ${tookMs} ms`);
    assert.deepEqual(await readyBySource(stage.client), { east: 1, west: 0 });
  });

  it("stay when the control plane is started anew, although the agents dial late", async (t) => {
    const stage = await Stage.open(t);
    await stage.restart();
    assert.equal(await stage.withdrawnAfterMs("west", 30_000), undefined);
    for (const name of names) stage.dial(name);
    await stage.pass(5000);
    stage.freeze("west");
    const tookMs = await stage.withdrawnAfterMs("west", 60_000);
    assert.ok(tookMs !== undefined && tookMs <= 10_000, `withdrawn after ${tookMs} ms`);
  });
});
