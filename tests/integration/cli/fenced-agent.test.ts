/**
 * Goal: what may run once at most does, with agents that are processes of their own: one that is
 * cut off from the control plane stops its copies by itself, and only then others are started.
 * Method: what runs is what the clusters say, by watches of Pods in this process, so that all of it
 * has one clock.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";
import { apiBindings, pods, workspaces } from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import {
  AgentFixture,
  deployments,
  eventually,
  type RunningAgent,
  syncTargets,
} from "./agent-fixture.ts";

const resources = ["deployments.apps", "pods", "replicasets.apps"];
const names = ["east", "west"] as const;

interface Life {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Which Pods a cluster has, and had from when to when. */
class PodRecord {
  readonly present = new Map<string, number>();
  readonly gone: Life[] = [];
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(client: Client) {
    this.#watching = this.#watch(client);
  }

  get lives(): readonly Life[] {
    const toMs = Number.POSITIVE_INFINITY;
    return [...this.gone, ...[...this.present.values()].map((fromMs) => ({ fromMs, toMs }))];
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(client: Client): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const { type, object } of client.resource(pods).watch({ signal })) {
        if (type === "BOOKMARK") continue;
        const { uid = "" } = object.metadata;
        const nowMs = systemClock.monotonic();
        if (type === "ADDED") this.present.set(uid, nowMs);
        if (type !== "DELETED") continue;
        this.gone.push({ fromMs: this.present.get(uid) ?? 0, toMs: nowMs });
        this.present.delete(uid);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

interface Case {
  readonly stage: AgentFixture;
  /** Of the workspace that the workload is in. */
  readonly client: Client;
  readonly clusters: readonly SimulatedCluster[];
  readonly agents: ReadonlyMap<string, RunningAgent>;
}

async function open(t: TestContext): Promise<Omit<Case, "client">> {
  const stage = await AgentFixture.open("--default-unreachable-toleration", "1s");
  t.after(() => stage.close());
  const clusters = await Promise.all(names.map((name) => stage.cluster(name)));
  const agents = new Map(
    await Promise.all(
      clusters.map(async (cluster) => {
        const agent = await stage.join(cluster, resources, "--lease-duration", "5s");
        return [cluster.name, agent] as const;
      }),
    ),
  );
  const { status } = await stage.client.resource(syncTargets).get({ name: "east" });
  assert.equal(status?.leaseDurationSeconds, 5);
  return { stage, clusters, agents };
}

/** A workspace that uses the clusters of root, which offers them. */
async function tenantOf({ client }: AgentFixture): Promise<Client> {
  await client.resource(workspaces).create({ metadata: { name: "shop" } });
  const tenant = client.inCluster("root:shop");
  const reference = { export: { path: "root", name: "kubernetes" } };
  await eventually(() =>
    tenant
      .resource(apiBindings)
      .create({ metadata: { name: "kubernetes" }, spec: { reference } } as never),
  );
  await eventually(() => tenant.resource(deployments).list({ namespace: "default" }));
  return tenant;
}

async function failsOver(t: TestContext, { client, clusters, agents }: Case) {
  const labels = { app: "db" };
  const annotations = { "workload.kcp.io/failover-strategy": "StopBeforeStart" };
  const containers = [{ name: "db", image: "postgres" }];
  await client
    .resource(deployments)
    .create({
      metadata: { name: "db", namespace: "default", annotations },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 1 } },
      },
    });
  const records = new Map(clusters.map(({ name, client: of }) => [name, new PodRecord(of)]));
  t.after(() => Promise.all([...records.values()].map((one) => one.stop())));
  const has = (name: string) => records.get(name)?.present.size ?? 0;
  const home = await eventually(async () => names.find(has) ?? assert.fail("it runs nowhere"));
  const other = names.find((name) => name !== home) ?? assert.fail();

  const cutAtMs = systemClock.monotonic();
  agents.get(home)?.cut();
  await eventually(async () => assert.deepEqual([has(home), has(other)], [0, 1]), 120_000);
  const stoppedAtMs = Math.max(...(records.get(home)?.gone ?? []).map(({ toMs }) => toMs));
  const startedAtMs = Math.min(...(records.get(other)?.present.values() ?? []));
  const since = (ms: number) => `${Math.round(ms - cutAtMs)} ms after the cut`;
  t.diagnostic(`stopped ${since(stoppedAtMs)}, started elsewhere ${since(startedAtMs)}`);
  assert.ok(stoppedAtMs > cutAtMs && stoppedAtMs < startedAtMs);
  const apart = () => {
    // At no time, should an agent have lost its lease for want of a processor.
    for (const here of records.get(home)?.lives ?? [])
      for (const there of records.get(other)?.lives ?? [])
        assert.ok(here.toMs < there.fromMs || there.toMs < here.fromMs, "two ran at a time");
  };
  apart();
  return { home, other, has, apart };
}

describe("what may run once at most", { concurrency: true }, () => {
  it("is stopped by an agent that is cut off before it is started elsewhere", async (t) => {
    const found = await open(t);
    await failsOver(t, { ...found, client: found.stage.client });
  });

  it("so is that of a workspace that uses the clusters of another, and it stays where it went", async (t) => {
    const found = await open(t);
    const { stage, agents } = found;
    const client = await tenantOf(stage);
    const { home, has, apart } = await failsOver(t, { ...found, client });
    // Back again: it is told that it has none of it.
    agents.get(home)?.heal();
    await stage.untilSynced(home, resources);
    await eventually(async () => {
      const { items } = await client.resource(deployments).list({ namespace: "default" });
      const said = items.find(({ metadata }) => metadata.name === "db");
      const { readyReplicas } = (said?.["status"] ?? {}) as { readyReplicas?: number };
      assert.equal(readyReplicas, 1);
      const parts = items.filter(({ metadata }) => metadata.name !== "db");
      const asked = parts.map((one) => (one["spec"] as { replicas: number }).replicas);
      assert.equal(
        asked.reduce((sum, one) => sum + one, 0),
        1,
      );
    });
    assert.equal(has(home), 0);
    apart();
  });
});
