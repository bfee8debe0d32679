/**
 * Seeded histories of one Deployment over clusters that register, unregister, fail, flap, are
 * cordoned and drained, while the Deployment and its copies are scaled and edited.
 *
 * Invariants: no scale-down by the coordinator takes ready replicas below the requested number;
 * nothing in an Unreachable cluster is removed; when nothing happens any more, the Deployment is
 * stable with exactly the requested replicas, its counts are the sums of its copies, and nothing
 * more is written.
 *
 * SPLITTER_HISTORIES=2000 runs more histories, SPLITTER_SEED=7 runs that one. A failure prints its
 * seed and its history.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countOf, replicasOf } from "./deployment.ts";
import { weightsAnnotation } from "./placement.ts";
import { SimulatedClusters, tickMs } from "./test-support/simulated-clusters.ts";

const histories = Number(process.env["SPLITTER_HISTORIES"] ?? 200);
const onlySeed = process.env["SPLITTER_SEED"];
const names = ["east", "west", "north", "south"] as const;

describe("coordinator in seeded histories", () => {
  it("the coordinator keeps the requested replicas available, and becomes stable", () => {
    const seeds =
      onlySeed === undefined
        ? Array.from({ length: histories }, (_, seed) => seed)
        : [Number(onlySeed)];
    for (const seed of seeds) play(seed);
  });
});

function play(seed: number): void {
  const simulation = new SimulatedClusters(seed);
  try {
    const { random } = simulation;
    simulation.join("east");
    let events = 2;
    const duration = 100 + random.integer(500);
    for (let tick = 0; tick < duration; tick++) {
      if (random.chance(0.04)) {
        happen(simulation);
        events++;
      }
      simulation.tick();
    }
    rest(simulation, events);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const text = [`seed ${seed}: ${message}`, ...simulation.history.slice(-60)].join("\n  ");
    throw new Error(text, { cause: error });
  }
}

/** One random change, each with the same probability. */
function happen(simulatedClusters: SimulatedClusters): void {
  const { random } = simulatedClusters;
  const name = random.pick(names);
  const target = simulatedClusters.targets.get(name);
  const cluster = simulatedClusters.clusters.get(name);
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
    simulatedClusters.note(`web asks for ${replicas}`);
    simulatedClusters.setSpec({ replicas });
  } else if (kind === "edit") {
    simulatedClusters.note("web is edited");
    simulatedClusters.setSpec({ template: { image: `web:${random.integer(1000)}` } });
  } else if (kind === "weights") {
    const { metadata } = simulatedClusters.parent;
    const annotations = { [weightsAnnotation]: `${name}=${random.integer(4)}` };
    simulatedClusters.note(`weights: ${annotations[weightsAnnotation]}`);
    simulatedClusters.parent = {
      ...simulatedClusters.parent,
      metadata: { ...metadata, annotations },
    };
  } else if (target === undefined || cluster === undefined) {
    simulatedClusters.join(name);
  } else if (kind === "power") {
    cluster.isUp = !cluster.isUp;
    simulatedClusters.note(`${name} ${cluster.isUp ? "is back" : "fails"}`);
  } else if (kind === "burn") {
    cluster.isUp = false;
    cluster.breakPods();
    simulatedClusters.note(`${name} burns`);
  } else if (kind === "cordon") {
    target.isUnschedulable = !target.isUnschedulable;
    simulatedClusters.note(`${name} ${target.isUnschedulable ? "is cordoned" : "is open again"}`);
  } else if (kind === "evict") {
    target.evictAfterMs =
      target.evictAfterMs === undefined
        ? simulatedClusters.nowMs + random.integer(10_000)
        : undefined;
    simulatedClusters.note(
      `${name} ${target.evictAfterMs === undefined ? "may stay" : "is to be emptied"}`,
    );
  } else if (kind === "leave") {
    target.isDeleting = true;
    simulatedClusters.note(`${name} leaves`);
  } else {
    simulatedClusters.note(`somebody meddles with web--${name}`);
    simulatedClusters.editCopy(
      `web--${name}`,
      kind === "delete-part" ? "delete" : { replicas: random.integer(9) },
    );
  }
}

const restMs = 150_000;

function rest(simulatedClusters: SimulatedClusters, events: number): void {
  simulatedClusters.note("nothing happens any more");
  for (let elapsed = 0; elapsed < restMs; elapsed += tickMs) simulatedClusters.tick();
  const before = simulatedClusters.writes;
  for (let tick = 0; tick < 20; tick++) simulatedClusters.coordinate();
  assert.equal(simulatedClusters.writes, before, "writes go on");
  const limit = 60 + events * 60;
  assert.ok(
    simulatedClusters.writes <= limit,
    `${simulatedClusters.writes} writes for ${events} events`,
  );
  const { parent } = simulatedClusters;
  const sum = (field: "readyReplicas" | "replicas" | "updatedReplicas") => {
    let total = 0;
    for (const [name, copy] of simulatedClusters.copies) {
      const state = simulatedClusters.stateOf(name.slice("web--".length));
      if (state !== "Unreachable" && state !== "Unregistered") total += countOf(copy, field);
    }
    return total;
  };
  for (const field of ["readyReplicas", "replicas", "updatedReplicas"] as const) {
    assert.equal(countOf(parent, field), sum(field), field);
  }
  const hasPlace = [...simulatedClusters.targets.keys()].some(
    (name) => simulatedClusters.stateOf(name) === "Ready" && !simulatedClusters.hasZeroWeight(name),
  );
  if (!hasPlace) return;
  const requested = replicasOf(parent);
  assert.equal(simulatedClusters.reliablyReady(), requested, "ready at rest");
  assert.equal(countOf(parent, "readyReplicas"), requested, "reported at rest");
  assert.equal(parent.status?.observedGeneration, parent.metadata.generation);
}
