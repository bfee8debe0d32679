/**
 * Goal: no number is ever in two clusters at once, in the world as it is and not as it is told. Method: seeded histories of clusters that carry
 * out late what they are told, join, leave, are lost and come back, while the number of all is changed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { applyPlan, checkDisjoint, OrdinalCluster, plan } from "./test-support/ordinal-places.ts";

function play(seed: number): void {
  const random = new SeededRandom(seed);
  const places = ["east", "north", "west"].map((name) => new OrdinalCluster(name));
  let replicas = random.integer(9);
  try {
    for (let step = 0; step < 300; step++) {
      if (random.chance(0.03)) replicas = random.integer(9);
      if (random.chance(0.03)) {
        const place = places[random.integer(places.length)];
        const standing = random.pick(["accepting", "leaving", "lost", "cordoned"] as const);
        if (place !== undefined) place.standing = standing;
      }
      if (random.chance(0.6)) applyPlan(places, { replicas });
      for (const place of places) place.step(random);
      checkDisjoint(places);
    }
    for (const place of places) place.standing = "accepting";
    for (let step = 0; step < 200; step++) {
      applyPlan(places, { replicas });
      for (const place of places) place.step(random);
      checkDisjoint(places);
    }
    const all = places.flatMap(({ running }) => [...running]).sort((a, b) => a - b);
    assert.deepEqual(
      all,
      Array.from({ length: replicas }, (_, index) => index),
    );
  } catch (error) {
    const told = places.map(({ name, standing, told: now, running }) => ({
      name,
      standing,
      now,
      running: [...running],
    }));
    throw new Error(`seed ${seed}, ${replicas} asked for: ${JSON.stringify(told)}`, {
      cause: error,
    });
  }
}

describe("ranges of ordinals", () => {
  it("never have a number in two clusters, and come to have all of them", () => {
    for (let seed = 0; seed < 500; seed++) play(seed);
  });

  it("are even at the beginning, and begin where the whole does", () => {
    const places = ["east", "west"].map((name) => new OrdinalCluster(name));
    const { next, starts } = plan(places, { replicas: 5, first: 10 });
    assert.deepEqual([...next].sort(), [
      ["east", 3],
      ["west", 2],
    ]);
    assert.deepEqual([...(starts ?? [])].sort(), [
      ["east", 10],
      ["west", 13],
    ]);
  });

  it("stay where they are when a cluster joins, and when one is lost", () => {
    const places = ["east", "west"].map((name) => new OrdinalCluster(name));
    applyPlan(places, { replicas: 4 });
    for (const place of places) {
      place.heard = place.told;
      for (let one = 0; one < 2; one++) place.running.add((place.told?.start ?? 0) + one);
    }
    const [east] = places;
    assert.ok(east !== undefined);
    east.standing = "lost";
    places.push(new OrdinalCluster("north"));
    const { next, unplaced } = plan(places, { replicas: 4 });
    assert.deepEqual([...next].sort(), [
      ["east", 2],
      ["west", 2],
    ]);
    assert.equal(unplaced, 0);
  });

  it("leave a cluster one by one, from the end that the next can have", () => {
    const places = ["east", "west"].map((name) => new OrdinalCluster(name));
    applyPlan(places, { replicas: 4 });
    const settle = () => {
      for (const place of places) {
        place.heard = place.told;
        place.running.clear();
        const { start = 0, replicas = 0 } = place.told ?? {};
        for (let one = 0; one < replicas; one++) place.running.add(start + one);
      }
    };
    settle();
    const [east, west] = places;
    assert.ok(east !== undefined && west !== undefined);
    west.standing = "leaving";
    applyPlan(places, { replicas: 4 });
    assert.deepEqual(west.told, { start: 3, replicas: 1 });
    assert.deepEqual(east.told, { start: 0, replicas: 2 });
    // Before west has said that it is gone, nobody gets it.
    applyPlan(places, { replicas: 4 });
    assert.deepEqual(east.told, { start: 0, replicas: 2 });
    settle();
    applyPlan(places, { replicas: 4 });
    assert.deepEqual(east.told, { start: 0, replicas: 3 });
    settle();
    applyPlan(places, { replicas: 4 });
    assert.deepEqual(west.told, { start: 4, replicas: 0 });
    settle();
    applyPlan(places, { replicas: 4 });
    assert.equal(west.told, undefined);
    assert.deepEqual(east.told, { start: 0, replicas: 4 });
  });

  /** Clusters that have what they are told, and say so. */
  const settled = (ranges: Readonly<Record<string, readonly [start: number, replicas: number]>>) =>
    Object.entries(ranges).map(([name, [start, replicas]]) => {
      const place = new OrdinalCluster(name);
      place.told = { start, replicas };
      place.heard = place.told;
      for (let one = 0; one < replicas; one++) place.running.add(start + one);
      return place;
    });
  const told = (places: readonly OrdinalCluster[], name: string) =>
    places.find((one) => one.name === name)?.told;

  it("do not leave while another one is missing, unless the budget spares as many", () => {
    const places = settled({ east: [0, 2], north: [2, 1], west: [3, 0] });
    const [east, north] = places as [OrdinalCluster, OrdinalCluster];
    north.standing = "lost";
    east.standing = "leaving";
    assert.equal(plan(places, { replicas: 3 }).next.get("east"), 2);
    assert.equal(plan(places, { replicas: 3, unavailable: 2 }).next.get("east"), 1);
    // What is not available where it is, is not missed there; but what has not been started may be, at any moment.
    east.available = 0;
    assert.equal(plan(places, { replicas: 3 }).next.get("east"), 1);
    // Nor does it count as such by a report that may be from before its cluster was lost.
    east.isTrusted = false;
    assert.equal(plan(places, { replicas: 3 }).next.get("east"), 2);
    east.isTrusted = true;
    east.running.clear();
    assert.equal(plan(places, { replicas: 3 }).next.get("east"), 2);
  });

  it("do not leave while another one is missing, though there are some that are no longer asked for", () => {
    const places = settled({ east: [0, 1], north: [1, 1], south: [2, 1], west: [3, 2] });
    const [east, north] = places as [OrdinalCluster, OrdinalCluster];
    north.available = 0;
    east.standing = "leaving";
    places.push(new OrdinalCluster("free"));
    assert.equal(plan(places, { replicas: 3 }).next.get("east"), 1);
    north.available = 1;
    assert.equal(plan(places, { replicas: 3 }).next.get("east"), 0);
  });

  it("are given on while a cluster is lost that had none: its part is not removed", () => {
    const places = settled({ east: [0, 2], north: [2, 0] });
    const [, north] = places as [OrdinalCluster, OrdinalCluster];
    north.standing = "lost";
    const { next } = plan(places, { replicas: 3 });
    assert.deepEqual([...next].sort(), [
      ["east", 3],
      ["north", 0],
    ]);
  });

  it("leave though all clusters have numbers that are not next to theirs: one of these gives its own to its neighbour", () => {
    const places = settled({ a: [0, 1], b: [1, 1], c: [2, 1], d: [3, 1] });
    const [, , cordoned, leaving] = places as [
      OrdinalCluster,
      OrdinalCluster,
      OrdinalCluster,
      OrdinalCluster,
    ];
    cordoned.standing = "cordoned";
    leaving.standing = "leaving";
    const random = new SeededRandom(1);
    for (let step = 0; step < 200; step++) {
      applyPlan(places, { replicas: 4 });
      for (const place of places) place.step(random);
      checkDisjoint(places);
    }
    assert.equal(told(places, "d"), undefined);
    assert.deepEqual(told(places, "c"), { start: 2, replicas: 1 });
    const all = places.flatMap(({ running }) => [...running]).sort();
    assert.deepEqual(all, [0, 1, 2, 3]);
  });

  it("come to no cluster that has no room for them, and leave for none", () => {
    const places = settled({ east: [0, 2], north: [2, 1], west: [3, 0] });
    const [east, north, west] = places as [OrdinalCluster, OrdinalCluster, OrdinalCluster];
    north.room = 1;
    west.room = 1;
    const grown = plan(places, { replicas: 6 });
    assert.deepEqual(Object.fromEntries(grown.next), { east: 2, north: 1, west: 1 });
    // What is there stays, though there is no longer room for it.
    north.room = 0;
    west.room = 0;
    east.standing = "leaving";
    const { next, unplaced } = plan(places, { replicas: 3 });
    assert.deepEqual(Object.fromEntries(next), { east: 2, north: 1, west: 0 });
    assert.equal(unplaced, 2);
  });

  it("that never were do not take the room of those that have to leave", () => {
    const places = settled({ east: [0, 4], west: [4, 0] });
    const [east] = places as [OrdinalCluster, OrdinalCluster];
    east.standing = "leaving";
    const { next, unplaced } = plan(places, { replicas: 5, placeable: 4 });
    assert.deepEqual(Object.fromEntries(next), { east: 3, west: 0 });
    assert.equal(unplaced, 1);
  });

  it("that are next to none say so", () => {
    const places = settled({ a: [0, 1], b: [1, 1] });
    const [, last] = places as [OrdinalCluster, OrdinalCluster];
    last.standing = "cordoned";
    const { unplaced, obstacle } = plan(places, { replicas: 4 });
    assert.equal(unplaced, 2);
    assert.match(obstacle ?? "", /2-3 is next to none/);
  });

  it("stay in the last cluster when there is nowhere to go, and have no place", () => {
    const place = new OrdinalCluster("east");
    applyPlan([place], { replicas: 3 });
    place.heard = place.told;
    for (const ordinal of [0, 1, 2]) place.running.add(ordinal);
    place.standing = "leaving";
    const { next, unplaced } = plan([place], { replicas: 3 });
    assert.deepEqual([...next], [["east", 3]]);
    assert.equal(unplaced, 3);
  });
});
