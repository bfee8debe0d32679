/**
 * Seeded histories of one Deployment over clusters that join, leave, fail, flap, are cordoned and emptied, while it is scaled, edited and meddled with.
 *
 * Invariants: no cut of ours takes ready replicas below what is asked for; nothing in a lost cluster is removed; when nothing happens any more, it
 * comes to rest with exactly what is asked for, the counts of the whole are the sums of its parts, and no more is written.
 *
 * SPLITTER_HISTORIES=2000 plays more of them, SPLITTER_SEED=7 that one. A failure prints its seed and its history.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countOf, replicasOf } from "./deployment.ts";
import { weightsAnnotation } from "./placement.ts";
import { SimulatedClusters, tickMs } from "./test-support/world.ts";

const histories = Number(process.env["SPLITTER_HISTORIES"] ?? 200);
const onlySeed = process.env["SPLITTER_SEED"];
const names = ["east", "west", "north", "south"] as const;

describe("the splitter, in many histories", () => {
  it("keeps what is asked for, and comes to rest", () => {
    const seeds =
      onlySeed === undefined
        ? Array.from({ length: histories }, (_, seed) => seed)
        : [Number(onlySeed)];
    for (const seed of seeds) play(seed);
  });
});

function play(seed: number): void {
  const world = new SimulatedClusters(seed);
  try {
    const { random } = world;
    world.join("east");
    let events = 2;
    const duration = 100 + random.integer(500);
    for (let tick = 0; tick < duration; tick++) {
      if (random.chance(0.04)) {
        happen(world);
        events++;
      }
      world.tick();
    }
    rest(world, events);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const text = [`seed ${seed}: ${message}`, ...world.history.slice(-60)].join("\n  ");
    throw new Error(text, { cause: error });
  }
}

/** One thing that may happen, as likely as any other. */
function happen(world: SimulatedClusters): void {
  const { random } = world;
  const name = random.pick(names);
  const target = world.targets.get(name);
  const cluster = world.clusters.get(name);
  const kinds = [
    "scale",
    "scale",
    "edit",
    "power",
    "power",
    "burn",
    "cordon",
    "evict",
    "leave",
    "weights",
    "delete-part",
    "edit-part",
  ] as const;
  const kind = random.pick(kinds);
  if (kind === "scale") {
    const replicas = random.integer(20);
    world.note(`web asks for ${replicas}`);
    world.setSpec({ replicas });
  } else if (kind === "edit") {
    world.note("web is edited");
    world.setSpec({ template: { image: `web:${random.integer(1000)}` } });
  } else if (kind === "weights") {
    const { metadata } = world.parent;
    const annotations = { [weightsAnnotation]: `${name}=${random.integer(4)}` };
    world.note(`weights: ${annotations[weightsAnnotation]}`);
    world.parent = { ...world.parent, metadata: { ...metadata, annotations } };
  } else if (target === undefined || cluster === undefined) {
    world.join(name);
  } else if (kind === "power") {
    cluster.isUp = !cluster.isUp;
    world.note(`${name} ${cluster.isUp ? "is back" : "fails"}`);
  } else if (kind === "burn") {
    cluster.isUp = false;
    cluster.burn();
    world.note(`${name} burns`);
  } else if (kind === "cordon") {
    target.isUnschedulable = !target.isUnschedulable;
    world.note(`${name} ${target.isUnschedulable ? "is cordoned" : "is open again"}`);
  } else if (kind === "evict") {
    target.evictAfterMs =
      target.evictAfterMs === undefined ? world.nowMs + random.integer(10_000) : undefined;
    world.note(`${name} ${target.evictAfterMs === undefined ? "may stay" : "is to be emptied"}`);
  } else if (kind === "leave") {
    target.isDeleting = true;
    world.note(`${name} leaves`);
  } else {
    world.note(`somebody meddles with web--${name}`);
    world.meddle(
      `web--${name}`,
      kind === "delete-part" ? "delete" : { replicas: random.integer(9) },
    );
  }
}

const restMs = 150_000;

function rest(world: SimulatedClusters, events: number): void {
  world.note("nothing happens any more");
  for (let elapsed = 0; elapsed < restMs; elapsed += tickMs) world.tick();
  const before = world.writes;
  for (let tick = 0; tick < 20; tick++) world.split();
  assert.equal(world.writes, before, "writes go on");
  const limit = 60 + events * 60;
  assert.ok(world.writes <= limit, `${world.writes} writes for ${events} events`);
  const { parent } = world;
  const sum = (field: "readyReplicas" | "replicas" | "updatedReplicas") => {
    let total = 0;
    for (const [name, part] of world.parts) {
      const standing = world.standingOf(name.slice("web--".length));
      if (standing !== "lost" && standing !== "gone") total += countOf(part, field);
    }
    return total;
  };
  for (const field of ["readyReplicas", "replicas", "updatedReplicas"] as const) {
    assert.equal(countOf(parent, field), sum(field), field);
  }
  const hasPlace = [...world.targets.keys()].some(
    (name) => world.standingOf(name) === "accepting" && !world.isWeightless(name),
  );
  if (!hasPlace) return;
  const asked = replicasOf(parent);
  assert.equal(world.reliablyReady(), asked, "ready at rest");
  assert.equal(countOf(parent, "readyReplicas"), asked, "reported at rest");
  assert.equal(parent.status?.observedGeneration, parent.metadata.generation);
}
