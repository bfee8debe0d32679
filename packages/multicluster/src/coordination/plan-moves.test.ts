import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { unlimitedBudget } from "./members.ts";
import { type ClusterCopy, type ClusterShare, planMoves } from "./plan-moves.ts";
import type { ClusterState } from "./standing.ts";

const part = (
  replicas: number,
  available = replicas,
  more: Partial<ClusterCopy> = {},
): ClusterCopy => ({
  replicas,
  available,
  isObserved: true,
  isStuck: false,
  isGoing: false,
  isPinned: false,
  ...more,
});
const member = (name: string, standing: ClusterState, has?: ClusterCopy): ClusterShare => ({
  name,
  standing,
  part: has,
});
const next = (replicas: number, ...members: ClusterShare[]) =>
  Object.fromEntries(planMoves({ replicas, members, scaledDownBy: 0 }).next);

describe("moves", () => {
  it("a new Deployment is split at once", () => {
    assert.deepEqual(next(15, member("east", "accepting"), member("west", "accepting")), {
      east: 8,
      west: 7,
    });
  });

  it("a cluster that joins is filled first, and the other emptied as far as that is available", () => {
    const west = (available: number) => member("west", "accepting", part(7, available));
    const east = member("east", "accepting", part(15));
    assert.deepEqual(next(15, east, member("west", "accepting")), { east: 15, west: 7 });
    assert.deepEqual(next(15, east, west(0)), { east: 15, west: 7 });
    assert.deepEqual(next(15, east, west(3)), { east: 12, west: 7 });
    assert.deepEqual(next(15, east, west(7)), { east: 8, west: 7 });
  });

  it("a lost cluster is replaced and its part left as it is", () => {
    const west = member("west", "lost", part(7));
    assert.deepEqual(next(15, member("east", "accepting", part(8)), west), { east: 15, west: 7 });
    assert.deepEqual(next(15, member("east", "accepting", part(15)), west), { east: 15, west: 7 });
  });

  it("a cluster that is back counts when it has settled, and nothing in it is restarted", () => {
    const east = member("east", "accepting", part(15));
    assert.deepEqual(next(15, east, member("west", "settling", part(7))), { east: 15, west: 7 });
    assert.deepEqual(next(15, east, member("west", "accepting", part(7))), { east: 8, west: 7 });
  });

  it("what is being removed draws nothing back to where it was", () => {
    const going = part(4, 4, { isGoing: true });
    const members = [member("east", "accepting", going), member("west", "accepting", part(1))];
    const { goal } = planMoves({ replicas: 1, members, scaledDownBy: 0 });
    assert.deepEqual(Object.fromEntries(goal), { east: 0, west: 1 });
    const cordoned = member("east", "cordoned", going);
    assert.deepEqual(next(8, cordoned, member("west", "accepting", part(4))), { west: 8 });
  });

  it("a cluster that leaves is emptied step by step, and its part removed at the end", () => {
    const west = member("west", "leaving", part(7));
    const east = (available: number) => member("east", "accepting", part(15, available));
    assert.deepEqual(next(15, member("east", "accepting", part(8)), west), { east: 15, west: 7 });
    assert.deepEqual(next(15, east(10), west), { east: 15, west: 5 });
    assert.deepEqual(next(15, east(15), west), { east: 15, west: "remove" });
  });

  it("the last copy stays where it is when there is nowhere to go", () => {
    for (const standing of ["leaving", "lost", "gone", "wavering"] as const) {
      assert.deepEqual(next(15, member("west", standing, part(15))), { west: 15 });
    }
  });

  it("what has somewhere to go does so without a surge, as far as the budget spares it, and the rest stays", () => {
    const budget = { ...unlimitedBudget, surge: 0, unavailable: 1 };
    const west = (has?: ClusterCopy): ClusterShare => ({
      ...member("west", "accepting", has),
      room: 2,
    });
    const step = (east: number, has?: ClusterCopy) => {
      const members = [member("east", "leaving", part(east)), west(has)];
      return Object.fromEntries(planMoves({ replicas: 4, members, scaledDownBy: 0, budget }).next);
    };
    assert.deepEqual(step(4), { east: 3 });
    assert.deepEqual(step(3), { east: 3, west: 1 });
    assert.deepEqual(step(3, part(1)), { east: 2, west: 1 });
    assert.deepEqual(step(2, part(1)), { east: 2, west: 2 });
    // Two have nowhere to go.
    assert.deepEqual(step(2, part(2)), { east: 2, west: 2 });
  });

  it("where some have nowhere to go, what is more than may be where it is goes first", () => {
    const crowded: ClusterShare = { ...member("east", "accepting", part(3)), room: 2 };
    const members = [crowded, member("west", "leaving", part(2))];
    const { next } = planMoves({ replicas: 4, members, scaledDownBy: 0 });
    assert.deepEqual(Object.fromEntries(next), { east: 2, west: 2 });
  });

  it("a cluster that wavers keeps what it has, gets nothing, and is not relied on", () => {
    const east = member("east", "wavering", part(8));
    assert.deepEqual(next(20, east, member("west", "accepting", part(7))), { east: 8, west: 12 });
    const north = member("north", "accepting", part(5));
    assert.deepEqual(next(15, member("east", "wavering", part(10)), north), { east: 10, north: 7 });
  });

  it("a smaller number takes away at once what is not available, and as much else as can be spared", () => {
    const scaled = (replicas: number, ...members: ClusterShare[]) =>
      Object.fromEntries(planMoves({ replicas, members, scaledDownBy: 15 - replicas }).next);
    const starting = (name: string, replicas: number, available: number) =>
      member(name, "accepting", part(replicas, available));
    assert.deepEqual(scaled(6, starting("a", 8, 2), starting("b", 7, 1)), { a: 3, b: 3 });
    assert.deepEqual(scaled(6, starting("a", 8, 8), starting("b", 7, 0)), { a: 6, b: 3 });
  });

  it("what a cluster has given up on is not waited for", () => {
    const stuck = member("a", "accepting", part(15, 6, { isStuck: true }));
    assert.deepEqual(next(15, stuck, member("b", "accepting", part(7, 7))), { a: 8, b: 7 });
    const slow = member("a", "accepting", part(15, 6));
    assert.deepEqual(next(15, slow, member("b", "accepting", part(7, 7))), { a: 15, b: 7 });
  });

  it("an old report does not count", () => {
    const east = member("east", "accepting", part(15));
    const west = member("west", "accepting", part(7, 7, { isObserved: false }));
    assert.deepEqual(next(15, east, west), { east: 15, west: 7 });
  });

  it("a part that is somebody else's business is worked around", () => {
    const pinned = member("a", "accepting", part(3, 3, { isPinned: true }));
    assert.deepEqual(next(15, pinned, member("b", "accepting", part(7, 7))), { b: 12 });
  });
});

const parts = fc.record({
  replicas: fc.nat(12),
  available: fc.nat(12),
  isObserved: fc.boolean(),
  isStuck: fc.boolean(),
  isGoing: fc.constant(false),
  isPinned: fc.constant(false),
});
const standings = fc.constantFrom<ClusterState>(
  "accepting",
  "accepting",
  "cordoned",
  "settling",
  "wavering",
  "leaving",
  "lost",
  "gone",
);
const members = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    standing: standings,
    part: fc.option(parts, { nil: undefined }),
  }),
  { selector: ({ name }) => name, minLength: 1 },
);

const counts = new Set<ClusterState>(["accepting", "cordoned", "leaving"]);
const reliable = (list: readonly ClusterShare[], replicasOf: (one: ClusterShare) => number) =>
  list.reduce(
    (sum, one) =>
      one.part?.isObserved && counts.has(one.standing)
        ? sum + Math.min(one.part.available, replicasOf(one))
        : sum,
    0,
  );

describe("moves, whatever the state", () => {
  it("never let what is available fall below what is asked for, nor further below", () => {
    fc.assert(
      fc.property(fc.nat(20), members, fc.nat(10), (replicas, list, scaledDownBy) => {
        const { next } = planMoves({ replicas, members: list, scaledDownBy });
        const after = (one: ClusterShare) => {
          const step = next.get(one.name) ?? one.part?.replicas ?? 0;
          return step === "remove" ? 0 : step;
        };
        const before = reliable(list, (one) => one.part?.replicas ?? 0);
        assert.ok(reliable(list, after) >= Math.min(replicas, before));
      }),
      { numRuns: 2000 },
    );
  });

  it("end, with nothing left to do", () => {
    fc.assert(
      fc.property(fc.nat(20), members, (replicas, list) => {
        let now: readonly ClusterShare[] = list;
        for (let step = 0; step < 10; step++) {
          const { next } = planMoves({ replicas, members: now, scaledDownBy: step === 0 ? 5 : 0 });
          const then = now.flatMap((one): readonly ClusterShare[] => {
            const wanted = next.get(one.name);
            if (wanted === "remove")
              return one.standing === "gone" ? [] : [{ ...one, part: undefined }];
            return wanted === undefined ? [one] : [{ ...one, part: part(wanted) }];
          });
          if (JSON.stringify(then) === JSON.stringify(now)) return;
          now = then;
        }
        assert.fail(`no end: ${JSON.stringify(now)}`);
      }),
      { numRuns: 1000 },
    );
  });
});
