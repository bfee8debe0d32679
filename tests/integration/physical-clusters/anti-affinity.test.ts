/**
 * Goal: workloads that must be apart are apart: from the first decision on, also when all are made
 * at once, and in the end when they were together before.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { placements, workloadPlacements } from "@kcp-ts/multicluster";
import { deployments, eventually, untilSynced } from "./fixture.ts";
import { PlacementFixture } from "./placement-fixture.ts";

const names = ["a", "b", "c", "d"] as const;
const clusters = { north: undefined, east: undefined, south: undefined, west: undefined };
const alone = { group: "alone" };

async function keepApart(stage: PlacementFixture): Promise<void> {
  await stage.client.resource(placements).create({
    metadata: { name: "apart" },
    spec: {
      namespaceSelector: {},
      // Said, and empty: the other list counts all the same.
      affinity: [],
      antiAffinity: [{ workloadSelector: { matchLabels: alone }, required: true }],
    },
  } as never);
}

async function placesOf(stage: PlacementFixture): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of names)
    for (const [cluster, replicas = 0] of Object.entries(await stage.shares(name)))
      if (replicas > 0) found.push(cluster);
  return found.sort();
}

async function untilApart(stage: PlacementFixture): Promise<void> {
  await eventually(async () =>
    assert.deepEqual(await placesOf(stage), Object.keys(clusters).sort()),
  );
  for (const name of names) await stage.untilReady(name, 1);
}

describe("workloads that must be apart", () => {
  it("are never decided to be together, though all of them are made at once", async (t) => {
    const stage = await PlacementFixture.start(t, { clusters });
    for (const name of Object.keys(clusters))
      await untilSynced(stage.client, name, ["deployments.apps"]);
    await keepApart(stage);
    for (let round = 0; round < 3; round++) {
      await Promise.all(names.map((name) => stage.apply(name, 1, { labels: alone })));
      await untilApart(stage);
      for (const name of names) {
        const at = { namespace: "default", name };
        const record = { ...at, name: `deployment-${name}` };
        const { status } = await stage.client.resource(workloadPlacements).get(record);
        assert.equal(status?.history?.length, 1, JSON.stringify(status?.history));
        await stage.client.resource(deployments).delete(at);
      }
      await eventually(async () => {
        const { items } = await stage.client.resource(deployments).list();
        assert.deepEqual(items, []);
      });
    }
  });

  it("are put apart when they were together before it was said", async (t) => {
    const specs = Object.fromEntries(
      ["east", "south", "west"].map((name) => [name, { unschedulable: true }]),
    );
    const stage = await PlacementFixture.start(t, { clusters, specs });
    for (const name of names) {
      await stage.apply(name, 1, { labels: alone });
      await stage.untilShares(name, { north: 1 });
    }
    for (const name of Object.keys(specs))
      await stage.patchTarget(name, { spec: { unschedulable: false } });
    await keepApart(stage);
    await untilApart(stage);
    // The first by name had no reason to leave.
    assert.deepEqual(await stage.shares("a"), { north: 1 });
  });
});
