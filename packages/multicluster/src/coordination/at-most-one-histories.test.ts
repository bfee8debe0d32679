/**
 * Seeded histories of a StopBeforeStart workload, over clusters that are disconnected, flap, lose
 * power, are cordoned, drained and deleted; their agents stop the workload when their lease
 * expires, as late as permitted.
 *
 * Invariants: no more Pods run than requested, in reachable and unreachable clusters together; and
 * when nothing happens any more, as many run as requested.
 *
 * KCP_HISTORIES=10000 runs more histories, from seed KCP_SEED on. A failure prints its seed and its
 * history.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { replicasOf } from "./deployment.ts";
import { selectorAnnotation } from "./placement.ts";
import { failoverStrategyAnnotation } from "./rollout-policy.ts";
import { SimulatedClusters, tickMs } from "./test-support/simulated-clusters.ts";
import { withSeed } from "./test-support/with-seed.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 40);
const firstSeed = Number(process.env["KCP_SEED"] ?? 0);

describe("StopBeforeStart in seeded histories", () => {
  it("a StopBeforeStart workload never runs more Pods than requested, and finally runs all of them", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) play(seed);
  });
});

function play(seed: number): void {
  const simulation = new SimulatedClusters(seed);
  const { random } = simulation;
  withSeed(seed, simulation.history, () => {
    simulation.isStopBeforeStart = true;
    simulation.setSpec({ replicas: 1 + random.integer(3) });
    simulation.annotate({ [failoverStrategyAnnotation]: "StopBeforeStart" });
    const count = 2 + random.integer(5);
    const [first = "c1", ...others] = Array.from({ length: count }, (_, index) => `c${index + 1}`);
    for (const name of [first, ...others]) simulation.join(name, { zone: random.pick(["a", "b"]) });
    for (let tick = 0; tick < 500; tick++) {
      if (random.chance(0.03)) happen(simulation, random.pick([first, ...others]));
      step(simulation);
    }
    simulation.note("nothing happens any more");
    for (let elapsed = 0; elapsed < restMs; elapsed += tickMs) step(simulation);
    const hasPlace = [...simulation.targets.values()].some(
      ({ name, labels }) => simulation.stateOf(name) === "Ready" && simulation.isSelected(labels),
    );
    if (hasPlace) assert.equal(simulation.running(), replicasOf(simulation.parent), "at rest");
  });
}

/**
 * A toleration, a lease, its margin, and a start; for several clusters that fail one after the
 * other.
 */
const restMs = 300_000;

function step(simulatedClusters: SimulatedClusters): void {
  simulatedClusters.tick();
  const [running, requested] = [simulatedClusters.running(), replicasOf(simulatedClusters.parent)];
  assert.ok(running <= requested, `${running} run of ${requested}`);
}

function happen(simulatedClusters: SimulatedClusters, name: string): void {
  const { random } = simulatedClusters;
  const [target, cluster] = [
    simulatedClusters.targets.get(name),
    simulatedClusters.clusters.get(name),
  ];
  if (target === undefined || cluster === undefined) {
    // The workload in the old cluster was stopped, or its administrator has stopped it.
    simulatedClusters.join(name, { zone: random.pick(["a", "b"]) });
    return;
  }
  const kind = random.pick(["power", "power", "burn", "cordon", "drain", "leave", "move", "edit"]);
  simulatedClusters.note(`${kind} ${name}`);
  if (kind === "power") cluster.isUp = !cluster.isUp;
  else if (kind === "burn") {
    cluster.isUp = false;
    cluster.breakPods();
  } else if (kind === "cordon") target.isUnschedulable = !target.isUnschedulable;
  else if (kind === "drain") target.drain = target.drain === undefined ? "All" : undefined;
  else if (kind === "leave") target.isDeleting = true;
  else if (kind === "move")
    simulatedClusters.annotate({
      [selectorAnnotation]: random.chance(0.5) ? `zone=${random.pick(["a", "b"])}` : null,
    });
  else simulatedClusters.setSpec({ template: { image: `db:${random.integer(100)}` } });
}
