/**
 * Goal: no ordinal ever runs in two clusters at once, in the simulated clusters and not only in
 * their reports. Method: seeded histories of clusters that apply their specs late, register, drain,
 * become Unreachable and return, while the StatefulSet is scaled.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  applyPlan,
  checkDisjoint,
  OrdinalCluster,
  plan,
} from "../test-support/ordinal-clusters.ts";
import type { ClusterShare } from "./cluster-share.ts";
import { moveOrdinals } from "./move-ordinals.ts";

function play(seed: number): void {
  const random = new SeededRandom(seed);
  const clusters = ["east", "north", "west"].map((name) => new OrdinalCluster(name));
  let replicas = random.integer(9);
  try {
    for (let step = 0; step < 300; step++) {
      if (random.chance(0.03)) replicas = random.integer(9);
      if (random.chance(0.03)) {
        const cluster = clusters[random.integer(clusters.length)];
        const state = random.pick(["Ready", "Draining", "Unreachable", "Cordoned"] as const);
        if (cluster !== undefined) cluster.state = state;
      }
      if (random.chance(0.6)) applyPlan(clusters, { replicas });
      for (const cluster of clusters) cluster.step(random);
      checkDisjoint(clusters);
    }
    for (const cluster of clusters) cluster.state = "Ready";
    for (let step = 0; step < 200; step++) {
      applyPlan(clusters, { replicas });
      for (const cluster of clusters) cluster.step(random);
      checkDisjoint(clusters);
    }
    const all = clusters.flatMap(({ running }) => [...running]).sort((a, b) => a - b);
    assert.deepEqual(
      all,
      Array.from({ length: replicas }, (_, index) => index),
    );
  } catch (error) {
    const told = clusters.map(({ name, state: clusterState, delivered: now, running }) => ({
      name,
      standing: clusterState,
      now,
      running: [...running],
    }));
    throw new Error(`seed ${seed}, ${replicas} asked for: ${JSON.stringify(told)}`, {
      cause: error,
    });
  }
}

/** Clusters of a StatefulSet that is at rest; some are then drained, others take the ordinals. */
function drainSome(seed: number): void {
  const random = new SeededRandom(seed);
  const replicas = 1 + random.integer(9);
  const names = ["c1", "c2", "c3", "c4", "c5"].slice(0, 2 + random.integer(4));
  const clusters = names.map((name) => new OrdinalCluster(name));
  const play = (steps: number) => {
    for (let step = 0; step < steps; step++) {
      applyPlan(clusters, { replicas });
      for (const cluster of clusters) cluster.step(random);
      checkDisjoint(clusters);
    }
  };
  play(100);
  const drained = clusters.filter(() => random.chance(0.5)).slice(1);
  for (const cluster of drained) cluster.state = "Draining";
  play(600);
  const text = `seed ${seed}: ${replicas} over ${names.length}, drained ${drained.map(({ name }) => name)}`;
  for (const { running, name } of drained) assert.equal(running.size, 0, `${text}: ${name}`);
  const running = clusters.reduce((sum, cluster) => sum + cluster.running.size, 0);
  assert.equal(running, replicas, text);
}

describe("ordinal ranges", () => {
  it("a drain empties its clusters, and every ordinal runs in another", () => {
    for (let seed = 0; seed < 1000; seed++) drainSome(seed);
  });

  it("an ordinal never runs in two clusters, and finally every ordinal runs", () => {
    for (let seed = 0; seed < 500; seed++) play(seed);
  });

  it("new ordinal ranges are even, and begin with the first ordinal of the workload", () => {
    const clusters = ["east", "west"].map((name) => new OrdinalCluster(name));
    const { next, starts } = plan(clusters, { replicas: 5, first: 10 });
    assert.deepEqual([...next].sort(), [
      ["east", 3],
      ["west", 2],
    ]);
    assert.deepEqual([...(starts ?? [])].sort(), [
      ["east", 10],
      ["west", 13],
    ]);
  });

  it("ordinals stay in their clusters when a cluster registers, and when one becomes Unreachable", () => {
    const clusters = ["east", "west"].map((name) => new OrdinalCluster(name));
    applyPlan(clusters, { replicas: 4 });
    for (const cluster of clusters) {
      cluster.observed = cluster.delivered;
      for (let one = 0; one < 2; one++) cluster.running.add((cluster.delivered?.start ?? 0) + one);
    }
    const [east] = clusters;
    assert.ok(east !== undefined);
    east.state = "Unreachable";
    clusters.push(new OrdinalCluster("north"));
    const { next, unscheduled } = plan(clusters, { replicas: 4 });
    assert.deepEqual([...next].sort(), [
      ["east", 2],
      ["west", 2],
    ]);
    assert.equal(unscheduled, 0);
  });

  it("ordinals leave a Draining cluster one by one, from the end that is adjacent to the next range", () => {
    const clusters = ["east", "west"].map((name) => new OrdinalCluster(name));
    applyPlan(clusters, { replicas: 4 });
    const settle = () => {
      for (const cluster of clusters) {
        cluster.observed = cluster.delivered;
        cluster.running.clear();
        const { start = 0, replicas = 0 } = cluster.delivered ?? {};
        for (let one = 0; one < replicas; one++) cluster.running.add(start + one);
      }
    };
    settle();
    const [east, west] = clusters;
    assert.ok(east !== undefined && west !== undefined);
    west.state = "Draining";
    applyPlan(clusters, { replicas: 4 });
    assert.deepEqual(west.delivered, { start: 3, replicas: 1 });
    assert.deepEqual(east.delivered, { start: 0, replicas: 2 });
    // No cluster gets the ordinal before west has reported that it stopped.
    applyPlan(clusters, { replicas: 4 });
    assert.deepEqual(east.delivered, { start: 0, replicas: 2 });
    settle();
    applyPlan(clusters, { replicas: 4 });
    assert.deepEqual(east.delivered, { start: 0, replicas: 3 });
    settle();
    applyPlan(clusters, { replicas: 4 });
    assert.deepEqual(west.delivered, { start: 4, replicas: 0 });
    settle();
    applyPlan(clusters, { replicas: 4 });
    assert.equal(west.delivered, undefined);
    assert.deepEqual(east.delivered, { start: 0, replicas: 4 });
  });

  /** Clusters that run their assigned ranges, and report so. */
  const settled = (ranges: Readonly<Record<string, readonly [start: number, replicas: number]>>) =>
    Object.entries(ranges).map(([name, [start, replicas]]) => {
      const cluster = new OrdinalCluster(name);
      cluster.delivered = { start, replicas };
      cluster.observed = cluster.delivered;
      for (let one = 0; one < replicas; one++) cluster.running.add(start + one);
      return cluster;
    });
  const told = (clusters: readonly OrdinalCluster[], name: string) =>
    clusters.find((one) => one.name === name)?.delivered;

  it("an ordinal does not leave while another one is unavailable, unless maxUnavailable permits both", () => {
    const clusters = settled({ east: [0, 2], north: [2, 1], west: [3, 0] });
    const [east, north] = clusters as [OrdinalCluster, OrdinalCluster];
    north.state = "Unreachable";
    east.state = "Draining";
    assert.equal(plan(clusters, { replicas: 3 }).next.get("east"), 2);
    assert.equal(plan(clusters, { replicas: 3, unavailable: 2 }).next.get("east"), 1);
    // An unavailable ordinal may leave, because it serves nothing; but an ordinal that has not
    // started may become available at any moment.
    east.available = 0;
    assert.equal(plan(clusters, { replicas: 3 }).next.get("east"), 1);
    // A report that may date from before the cluster's loss does not make the ordinal unavailable.
    east.isTrusted = false;
    assert.equal(plan(clusters, { replicas: 3 }).next.get("east"), 2);
    east.isTrusted = true;
    east.running.clear();
    assert.equal(plan(clusters, { replicas: 3 }).next.get("east"), 2);
  });

  it("an ordinal does not leave while another one is unavailable, though surplus ordinals exist", () => {
    const clusters = settled({ east: [0, 1], north: [1, 1], south: [2, 1], west: [3, 2] });
    const [east, north] = clusters as [OrdinalCluster, OrdinalCluster];
    north.available = 0;
    east.state = "Draining";
    clusters.push(new OrdinalCluster("free"));
    assert.equal(plan(clusters, { replicas: 3 }).next.get("east"), 1);
    north.available = 1;
    assert.equal(plan(clusters, { replicas: 3 }).next.get("east"), 0);
  });

  it("ordinals move while a cluster without ordinals is Unreachable, and its copy is not removed", () => {
    const clusters = settled({ east: [0, 2], north: [2, 0] });
    const [, north] = clusters as [OrdinalCluster, OrdinalCluster];
    north.state = "Unreachable";
    const { next } = plan(clusters, { replicas: 3 });
    assert.deepEqual([...next].sort(), [
      ["east", 3],
      ["north", 0],
    ]);
  });

  it("an ordinal without an adjacent range leaves after another cluster hands its range to its neighbour", () => {
    const clusters = settled({ a: [0, 1], b: [1, 1], c: [2, 1], d: [3, 1] });
    const [, , cordoned, leaving] = clusters as [
      OrdinalCluster,
      OrdinalCluster,
      OrdinalCluster,
      OrdinalCluster,
    ];
    cordoned.state = "Cordoned";
    leaving.state = "Draining";
    const random = new SeededRandom(1);
    for (let step = 0; step < 200; step++) {
      applyPlan(clusters, { replicas: 4 });
      for (const cluster of clusters) cluster.step(random);
      checkDisjoint(clusters);
    }
    assert.equal(told(clusters, "d"), undefined);
    assert.deepEqual(told(clusters, "c"), { start: 2, replicas: 1 });
    const all = clusters.flatMap(({ running }) => [...running]).sort();
    assert.deepEqual(all, [0, 1, 2, 3]);
  });

  it("ordinals neither start in nor leave for a cluster without capacity", () => {
    const clusters = settled({ east: [0, 2], north: [2, 1], west: [3, 0] });
    const [east, north, west] = clusters as [OrdinalCluster, OrdinalCluster, OrdinalCluster];
    north.maxReplicas = 1;
    west.maxReplicas = 1;
    const grown = plan(clusters, { replicas: 6 });
    assert.deepEqual(Object.fromEntries(grown.next), { east: 2, north: 1, west: 1 });
    // Existing ordinals stay in a cluster without capacity.
    north.maxReplicas = 0;
    west.maxReplicas = 0;
    east.state = "Draining";
    const { next, unscheduled } = plan(clusters, { replicas: 3 });
    assert.deepEqual(Object.fromEntries(next), { east: 2, north: 1, west: 0 });
    assert.equal(unscheduled, 2);
  });

  it("ordinals that never ran do not take the capacity of ordinals that must leave", () => {
    const clusters = settled({ east: [0, 4], west: [4, 0] });
    const [east] = clusters as [OrdinalCluster, OrdinalCluster];
    east.state = "Draining";
    const { next, unscheduled } = plan(clusters, { replicas: 5, maxTotal: 4 });
    assert.deepEqual(Object.fromEntries(next), { east: 3, west: 0 });
    assert.equal(unscheduled, 1);
  });

  it("the plan reports ordinals that are adjacent to no range", () => {
    const clusters = settled({ a: [0, 1], b: [1, 1] });
    const [, last] = clusters as [OrdinalCluster, OrdinalCluster];
    last.state = "Cordoned";
    const { unscheduled, unschedulableReason } = plan(clusters, { replicas: 4 });
    assert.equal(unscheduled, 2);
    assert.match(unschedulableReason ?? "", /2-3 is next to none/);
  });

  it("ordinals stay in the last cluster without a feasible cluster, and count as unscheduled", () => {
    const cluster = new OrdinalCluster("east");
    applyPlan([cluster], { replicas: 3 });
    cluster.observed = cluster.delivered;
    for (const ordinal of [0, 1, 2]) cluster.running.add(ordinal);
    cluster.state = "Draining";
    const { next, unscheduled } = plan([cluster], { replicas: 3 });
    assert.deepEqual([...next], [["east", 3]]);
    assert.equal(unscheduled, 3);
  });

  it("claims of two Draining clusters that must not move stay requested in the same cluster", () => {
    const refused = new Set<number>();
    const clusters = (["Draining", "Ready", "Draining"] as const).map(
      (state, index): ClusterShare => {
        const reported = { replicas: 2, available: 2, running: 2, isObserved: true };
        const still = { isStuck: false, isDeleting: false, isUnmanaged: false };
        return {
          name: ["east", "north", "west"][index] ?? "",
          state,
          copy: { ...reported, ...still, start: 2 * index },
        };
      },
    );
    const volumes = {
      isIn: (ordinal: number, cluster: string) =>
        cluster === clusters[Math.floor(ordinal / 2)]?.name,
      mayLeaveFor: () => false,
      keptBy: (ordinal: number) =>
        refused.has(ordinal) ? clusters[Math.floor(ordinal / 2)]?.name : undefined,
    };
    const requested = () => {
      const ordinals = { first: 0, volumes };
      const { requestedOrdinals } = moveOrdinals({ replicas: 6, clusters, ordinals });
      return requestedOrdinals?.get("north");
    };
    assert.deepEqual(requested(), { start: 1, end: 4 });
    refused.add(1);
    assert.deepEqual(requested(), { start: 1, end: 5 });
    refused.add(4);
    assert.deepEqual(requested(), { start: 1, end: 5 });
  });
});
