/**
 * Seeded histories of moves over 2 to 12 clusters: clusters register, become Unreachable, are
 * disconnected, flap, break, are cordoned, drained at once or on a budget, evicted and deleted,
 * while the workload is scaled, edited, moved by selectors, weights and capacities, paused, and
 * given limits and deadlines; soft finalizers block the disruption of its copies; and the
 * coordinator reads stale state and is stopped between any two writes.
 *
 * Invariants: no scale-down by the coordinator takes the ready replicas below the requested number
 * less maxUnavailable; the last copy is never removed; a copy whose disruption is blocked stays
 * complete; nothing is removed from an Unreachable cluster; when nothing happens any more, the
 * workload is stable with the requested replicas, and nothing more is written.
 *
 * KCP_HISTORIES=10000 runs more histories, from seed KCP_SEED on. A failure prints its seed and its
 * history.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SeededRandom } from "@kcp-ts/testkit";
import { evictAnnotation, softFinalizersAnnotation } from "../api/index.ts";
import { countOf, replicasOf } from "./deployment.ts";
import { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "./placement.ts";
import {
  maxSurgeAnnotation,
  maxUnavailableAnnotation,
  pausedAnnotation,
  progressDeadlineAnnotation,
} from "./rollout-policy.ts";
import { SimulatedClusters, tickMs } from "./test-support/simulated-clusters.ts";
import { withSeed } from "./test-support/with-seed.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 150);
const firstSeed = Number(process.env["KCP_SEED"] ?? 0);
/**
 * Seeds of histories that found bugs: copies that stayed below their former replicas, replicas that
 * circulated forever.
 */
const telling = [2444, 5578, 6099, 6531];

describe("moves in seeded histories", () => {
  it("a history of moves loses no replicas, and becomes stable", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) new History(seed).play();
  });

  for (const seed of telling) {
    it(`history ${seed}, which once found a bug, loses no replicas, and becomes stable`, () => {
      new History(seed).play();
    });
  }
});

type Happening = (history: History, name: string) => void;

class History {
  readonly world: SimulatedClusters;
  readonly random: SeededRandom;
  readonly names: readonly [string, ...string[]];
  /** Clusters that become reachable again by themselves, with the time. */
  readonly #flapping = new Map<string, number>();
  #events = 0;

  constructor(seed: number) {
    this.world = new SimulatedClusters(seed);
    this.random = this.world.random;
    const count = 2 + this.random.integer(11);
    const [first = "c1", ...others] = Array.from({ length: count }, (_, index) => `c${index + 1}`);
    this.names = [first, ...others];
  }

  play(): void {
    const { world, random } = this;
    withSeed(random.seed, world.history, () => {
      for (const name of this.names) if (random.chance(0.6)) this.join(name);
      const ticks = 100 + random.integer(300);
      for (let tick = 0; tick < ticks; tick++) {
        if (random.chance(0.08)) this.#happen();
        this.#tick();
      }
      this.#rest();
    });
  }

  join(name: string): void {
    this.world.join(name, { zone: this.random.pick(["a", "b"]) });
  }

  flap(name: string): void {
    const cluster = this.world.clusters.get(name);
    if (cluster === undefined) return;
    cluster.isUp = false;
    this.#flapping.set(name, this.world.nowMs + this.random.integer(20_000));
  }

  #happen(): void {
    this.#events++;
    const name = this.random.pick(this.names);
    const { targets, clusters } = this.world;
    const isThere = targets.has(name) && clusters.has(name);
    const all: readonly Happening[] = isThere
      ? [...toWholes, ...toClusters]
      : [...toWholes, (history, one) => history.join(one)];
    const [first, ...others] = all;
    if (first === undefined) return;
    this.random.pick([first, ...others])(this, name);
  }

  #tick(): void {
    const { world } = this;
    for (const [name, untilMs] of this.#flapping) {
      if (world.nowMs < untilMs) continue;
      this.#flapping.delete(name);
      const cluster = world.clusters.get(name);
      if (cluster !== undefined) cluster.isUp = true;
      world.note(`${name} is back`);
    }
    // The drain controller selects objects for eviction when it reconciles.
    for (const [name, { drain }] of world.targets) {
      if (this.random.chance(0.1))
        world.annotateCopy(`web--${name}`, {
          [evictAnnotation]: drain === "Budgeted" ? "true" : null,
        });
    }
    world.tick();
  }

  #rest(): void {
    const { world } = this;
    world.note("nothing happens any more");
    world.annotate({ [pausedAnnotation]: null });
    for (const name of this.names) {
      world.annotateCopy(`web--${name}`, { [softFinalizersAnnotation(name)]: null });
      world.clusters.get(name)?.repairPods(world.nowMs);
    }
    let [written, writtenAtMs] = [world.writes, world.nowMs];
    for (let elapsed = 0; elapsed < restMs; elapsed += tickMs) {
      this.#tick();
      if (world.writes !== written) [written, writtenAtMs] = [world.writes, world.nowMs];
      if (world.nowMs - writtenAtMs > quietMs) break;
    }
    const before = world.writes;
    for (let tick = 0; tick < 20; tick++) world.coordinate();
    assert.equal(world.writes, before, "writes go on");
    const limit = 100 + this.#events * 100;
    assert.ok(world.writes <= limit, `${world.writes} writes for ${this.#events} events`);
    const { parent } = world;
    const hasPlace = [...world.targets.values()].some(
      ({ name, labels }) =>
        world.stateOf(name) === "Ready" && !world.hasZeroWeight(name) && world.isSelected(labels),
    );
    if (!hasPlace) return;
    const requested = replicasOf(parent);
    assert.equal(world.reliablyReady(), requested, "ready at rest");
    assert.equal(countOf(parent, "readyReplicas"), requested, "reported at rest");
    assert.equal(parent.status?.observedGeneration, parent.metadata.generation);
  }
}

/** Longer than a deadline, a grace period, and a move in steps of one replica. */
const restMs = 400_000;
/** Longer than any single delay. */
const quietMs = 70_000;

const toWholes: readonly Happening[] = [
  ({ world, random }) => {
    const replicas = random.integer(20);
    world.note(`web asks for ${replicas}`);
    world.setSpec({ replicas });
  },
  ({ world, random }) => {
    world.note("web is edited");
    world.setSpec({ template: { image: `web:${random.integer(1000)}` } });
  },
  said(weightsAnnotation, (random, name) => `${name}=${random.integer(4)}`),
  said(capacityAnnotation, (random, name) => `${name}=${random.integer(9)}`),
  said(selectorAnnotation, (random) => `zone in (${random.pick(["a", "b", "a,b"])})`),
  said(maxSurgeAnnotation, (random) => random.pick(["0", "1", "3", "25%"])),
  said(maxUnavailableAnnotation, (random) => random.pick(["0", "1", "30%"])),
  said(pausedAnnotation, (random) => random.pick(["true", "false"])),
  said(progressDeadlineAnnotation, (random) => random.pick(["5", "30"])),
];

function said(annotation: string, draw: (random: SeededRandom, name: string) => string): Happening {
  return ({ world, random }, name) => {
    const value = random.chance(0.3) ? null : draw(random, name);
    world.note(`${annotation}: ${value ?? "none"}`);
    world.annotate({ [annotation]: value });
  };
}

const toClusters: readonly Happening[] = [
  ({ world }, name) => {
    const cluster = world.clusters.get(name);
    if (cluster === undefined) return;
    cluster.isUp = !cluster.isUp;
    world.note(`${name} ${cluster.isUp ? "is back" : "is cut off"}`);
  },
  (history, name) => {
    history.world.note(`${name} flaps`);
    history.flap(name);
  },
  ({ world }, name) => {
    const cluster = world.clusters.get(name);
    if (cluster === undefined) return;
    cluster.isUp = false;
    cluster.breakPods();
    world.note(`${name} burns`);
  },
  ({ world }, name) => {
    const cluster = world.clusters.get(name);
    if (cluster === undefined) return;
    if (cluster.isBroken) cluster.repairPods(world.nowMs);
    else cluster.isBroken = true;
    world.note(`${name} ${cluster.isBroken ? "starts nothing any more" : "is mended"}`);
  },
  ({ world }, name) => {
    const target = world.targets.get(name);
    if (target === undefined) return;
    target.isUnschedulable = !target.isUnschedulable;
    world.note(`${name} ${target.isUnschedulable ? "is cordoned" : "is open again"}`);
  },
  ({ world, random }, name) => {
    const target = world.targets.get(name);
    if (target === undefined) return;
    target.drain = target.drain === undefined ? random.pick(["All", "Budgeted"]) : undefined;
    world.note(
      `${name} is ${target.drain === undefined ? "no longer drained" : `drained ${target.drain}`}`,
    );
  },
  ({ world, random }, name) => {
    const target = world.targets.get(name);
    if (target === undefined) return;
    target.evictAfterMs =
      target.evictAfterMs === undefined ? world.nowMs + random.integer(10_000) : undefined;
    world.note(`${name} ${target.evictAfterMs === undefined ? "may stay" : "is to be emptied"}`);
  },
  ({ world }, name) => {
    const target = world.targets.get(name);
    if (target === undefined) return;
    target.isDeleting = true;
    world.note(`${name} leaves`);
  },
  ({ world, random }, name) => {
    const holder = random.chance(0.5) ? "traffic" : null;
    world.note(`web--${name} is ${holder === null ? "let go" : "held"}`);
    world.annotateCopy(`web--${name}`, { [softFinalizersAnnotation(name)]: holder });
  },
  ({ world, random }, name) => {
    world.note(`somebody meddles with web--${name}`);
    world.editCopy(`web--${name}`, random.chance(0.5) ? "delete" : { replicas: random.integer(9) });
  },
];
