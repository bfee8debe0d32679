/** Goal: a cordon evicts nothing, whatever the other clusters could take. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deployments } from "./fixture.ts";
import { PlacementFixture } from "./placement-fixture.ts";

describe("a cordoned cluster", () => {
  it("keeps what it has when another one takes work again, and gives up of it when less is asked for", async (t) => {
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      specs: { west: { unschedulable: true } },
    });
    await stage.apply("web", 4);
    await stage.untilShares("web", { east: 4 });
    await stage.untilReady("web", 4);
    await stage.patchTarget("east", { spec: { unschedulable: true } });
    await stage.patchTarget("west", { spec: { unschedulable: false } });
    const scale = async (replicas: number) => {
      const patch = { spec: { replicas } };
      await stage.client
        .resource(deployments)
        .patch({ namespace: "default", name: "web" }, { type: "merge", patch });
    };
    // Decided when both say so: whatever had left would be missing now.
    await scale(6);
    await stage.untilShares("web", { east: 4, west: 2 });
    await stage.untilReady("web", 6);
    await stage.untilScheduled("web", { reason: "AllReplicasScheduled" });
    assert.deepEqual(await stage.shares("web"), { east: 4, west: 2 });
    await scale(2);
    await stage.untilReady("web", 2);
    await stage.untilScheduled("web", { reason: "AllReplicasScheduled" });
  });
});
