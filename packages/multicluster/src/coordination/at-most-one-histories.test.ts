/**
 * Seeded histories of what may run once at most, over clusters that are cut off, flap, lose their power, are cordoned, drained and deleted; whose agents stop what they
 * have when their lease is over, as late as they may.
 *
 * Invariants: never do more Pods run than are asked for, wherever they are and whoever can see them; and when nothing happens any more, as many run as are asked for.
 *
 * KCP_HISTORIES=10000 plays more of them, from seed KCP_SEED on. A failure prints its seed and its history.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { replicasOf } from "./deployment.ts";
import { selectorAnnotation } from "./placement.ts";
import { failoverStrategyAnnotation } from "./rollout.ts";
import { withSeed } from "./test-support/tell-seed.ts";
import { SimulatedClusters, tickMs } from "./test-support/world.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 40);
const firstSeed = Number(process.env["KCP_SEED"] ?? 0);

describe("at most one, in many histories", () => {
  it("never runs more, and runs again", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) play(seed);
  });
});

function play(seed: number): void {
  const world = new SimulatedClusters(seed);
  const { random } = world;
  withSeed(seed, world.history, () => {
    world.isOnce = true;
    world.setSpec({ replicas: 1 + random.integer(3) });
    world.annotate({ [failoverStrategyAnnotation]: "true" });
    const count = 2 + random.integer(5);
    const [first = "c1", ...others] = Array.from({ length: count }, (_, index) => `c${index + 1}`);
    for (const name of [first, ...others]) world.join(name, { zone: random.pick(["a", "b"]) });
    for (let tick = 0; tick < 500; tick++) {
      if (random.chance(0.03)) happen(world, random.pick([first, ...others]));
      step(world);
    }
    world.note("nothing happens any more");
    for (let elapsed = 0; elapsed < restMs; elapsed += tickMs) step(world);
    const hasPlace = [...world.targets.values()].some(
      ({ name, labels }) => world.standingOf(name) === "accepting" && world.isSelected(labels),
    );
    if (hasPlace) assert.equal(world.running(), replicasOf(world.parent), "at rest");
  });
}

/** A toleration, a lease, what is added to it, and a start; for several that fail one after the other. */
const restMs = 300_000;

function step(world: SimulatedClusters): void {
  world.tick();
  const [running, asked] = [world.running(), replicasOf(world.parent)];
  assert.ok(running <= asked, `${running} run of ${asked}`);
}

function happen(world: SimulatedClusters, name: string): void {
  const { random } = world;
  const [target, cluster] = [world.targets.get(name), world.clusters.get(name)];
  if (target === undefined || cluster === undefined) {
    // Whatever ran there was stopped, or its administrator has seen to it.
    world.join(name, { zone: random.pick(["a", "b"]) });
    return;
  }
  const kind = random.pick(["power", "power", "burn", "cordon", "drain", "leave", "move", "edit"]);
  world.note(`${kind} ${name}`);
  if (kind === "power") cluster.isUp = !cluster.isUp;
  else if (kind === "burn") {
    cluster.isUp = false;
    cluster.burn();
  } else if (kind === "cordon") target.isUnschedulable = !target.isUnschedulable;
  else if (kind === "drain") target.drain = target.drain === undefined ? "all" : undefined;
  else if (kind === "leave") target.isDeleting = true;
  else if (kind === "move")
    world.annotate({
      [selectorAnnotation]: random.chance(0.5) ? `zone=${random.pick(["a", "b"])}` : null,
    });
  else world.setSpec({ template: { image: `db:${random.integer(100)}` } });
}
