/**
 * Goal: what may run once at most does, with agents that are processes of their own: one that is cut off from the control plane stops its copies by itself, and only then others
 * are started. Method: what runs is what the clusters say, by watches of Pods in this process, so that all of it has one clock.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { AgentStage, deployments, eventually, syncTargets } from "./agent-stage.ts";

const pods = defineResource<DynamicObject>({
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});
const resources = ["deployments.apps", "pods", "replicasets.apps"];
const names = ["east", "west"] as const;
const replicas = 2;

/** Which Pods a cluster has, from when to when. */
class PodRecord {
  readonly present = new Map<string, number>();
  readonly gone: { readonly fromMs: number; readonly toMs: number }[] = [];
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(client: Client) {
    this.#watching = this.#watch(client);
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

describe("what may run once at most", () => {
  let stage: AgentStage;
  before(async () => {
    stage = await AgentStage.open("--lost-cluster-toleration", "1s");
  });
  after(() => stage.close());

  it("is stopped by an agent that is cut off before it is started elsewhere", async (t) => {
    const clusters = await Promise.all(names.map((name) => stage.cluster(name)));
    const [east, west] = clusters;
    assert.ok(east !== undefined && west !== undefined);
    const agents = new Map(
      await Promise.all(
        clusters.map(async (cluster) => {
          const agent = await stage.join(cluster, resources, "--lease-duration", "3s");
          return [cluster.name, agent] as const;
        }),
      ),
    );
    const { status } = await stage.client.resource(syncTargets).get({ name: "east" });
    assert.equal(status?.leaseDurationSeconds, 3);
    const labels = { app: "db" };
    const annotations = { "workloads.kcp.io/at-most-one": "true" };
    const containers = [{ name: "db", image: "postgres" }];
    await stage.client.resource(deployments).create({
      metadata: { name: "db", namespace: "default", annotations },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers, terminationGracePeriodSeconds: 1 },
        },
      },
    });
    const records = new Map(clusters.map(({ name, client }) => [name, new PodRecord(client)]));
    t.after(() => Promise.all([...records.values()].map((one) => one.stop())));
    const counts = () => names.map((name) => records.get(name)?.present.size ?? 0);
    await eventually(async () => assert.equal(counts()[0], replicas, counts().join()));
    assert.equal(counts()[1], 0);

    const cutAtMs = systemClock.monotonic();
    agents.get("east")?.cut();
    await eventually(async () => assert.deepEqual(counts(), [0, replicas]), 120_000);
    const stoppedAtMs = Math.max(...(records.get("east")?.gone ?? []).map(({ toMs }) => toMs));
    const startedAtMs = Math.min(...(records.get("west")?.present.values() ?? []));
    const since = (ms: number) => `${Math.round(ms - cutAtMs)} ms after the cut`;
    t.diagnostic(`stopped ${since(stoppedAtMs)}, started elsewhere ${since(startedAtMs)}`);
    assert.ok(stoppedAtMs > cutAtMs && stoppedAtMs < startedAtMs);
    assert.deepEqual(records.get("west")?.gone, []);
  });
});
