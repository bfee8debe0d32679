/**
 * Goal: a workload that must be near another goes after it, when that one is moved or its cluster
 * is lost, and is there all the time.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { placements } from "@kcp-ts/multicluster";
import { deployments, eventually } from "./fixture.ts";
import { PlacementFixture, type PlacementFixtureOptions } from "./placement-fixture.ts";

const namespace = "default";

/** `web` must be in the zone of `db`, which goes where its annotation says. */
async function stageWith(
  t: TestContext,
  options: PlacementFixtureOptions,
): Promise<PlacementFixture> {
  const stage = await PlacementFixture.start(t, options);
  await stage.client
    .resource(placements)
    .create({
      metadata: { name: "near" },
      spec: {
        namespaceSelector: {},
        workloadSelector: { matchLabels: { app: "web" } },
        affinity: [
          { workloadSelector: { matchLabels: { app: "db" } }, topologyKey: "zone", required: true },
        ],
      },
    } as never);
  return stage;
}

async function weigh(stage: PlacementFixture, name: string, weights: string | null): Promise<void> {
  const annotations = { "workload.kcp.io/cluster-weights": weights };
  await eventually(() =>
    stage.client
      .resource(deployments)
      .patch({ namespace, name }, { type: "merge", patch: { metadata: { annotations } } }),
  );
}

/** The fewest that were ready, by a watch that misses nothing. */
class Fewest {
  ready = Number.POSITIVE_INFINITY;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(stage: PlacementFixture, name: string) {
    this.#watching = this.#watch(stage, name);
  }

  async stop(): Promise<number> {
    this.#stop.abort();
    await this.#watching;
    return this.ready;
  }

  async #watch({ client }: PlacementFixture, name: string): Promise<void> {
    const { signal } = this.#stop;
    const where = { namespace, fieldSelector: `metadata.name=${name}`, signal };
    try {
      for await (const { type, object } of client.resource(deployments).watch(where)) {
        if (type === "BOOKMARK") continue;
        const { readyReplicas = 0 } =
          (object as { status?: { readyReplicas?: number } }).status ?? {};
        this.ready = Math.min(this.ready, readyReplicas);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

const labels = { north: { zone: "a" }, east: { zone: "a" }, west: { zone: "b" } };
const clusters = { north: undefined, east: undefined, west: undefined };

describe("a workload that must be near another", () => {
  it("goes where that one is moved to, new replicas first", async (t) => {
    const stage = await stageWith(t, { clusters, labels });
    await stage.apply("db", 1);
    await weigh(stage, "db", "north=1,east=0,west=0");
    await stage.untilShares("db", { north: 1 });
    await stage.apply("web", 4);
    await stage.untilShares("web", { east: 2, north: 2 });
    await stage.untilReady("web", 4);
    const fewest = new Fewest(stage, "web");
    t.after(() => fewest.stop());
    // Still in the same zone.
    await weigh(stage, "db", "north=0,east=1,west=0");
    await stage.untilShares("db", { east: 1 });
    await weigh(stage, "db", "north=0,east=0,west=1");
    await stage.untilShares("db", { west: 1 });
    await stage.untilShares("web", { west: 4 });
    await stage.untilReady("web", 4);
    assert.equal(await fewest.stop(), 4);
  });

  it("goes where that one is started anew when its cluster is lost", async (t) => {
    const stage = await stageWith(t, { clusters, labels, unreachableAfterMs: 1000 });
    await stage.apply("db", 1);
    await weigh(stage, "db", "north=1,east=0,west=0");
    await stage.untilShares("db", { north: 1 });
    await stage.apply("web", 2);
    await weigh(stage, "web", "north=0");
    await stage.untilShares("web", { east: 2 });
    await stage.untilReady("web", 2);
    await weigh(stage, "db", "north=1,east=0,west=1");
    await stage.untilReady("db", 1);
    await stage.clusters.get("north")?.faults.cut();
    await eventually(async () => assert.equal((await stage.shares("db"))["west"], 1));
    await stage.untilShares("web", { west: 2 });
    await stage.untilReady("web", 2);
  });
});
