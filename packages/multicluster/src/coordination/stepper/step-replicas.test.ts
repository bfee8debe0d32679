import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ClusterState } from "../cluster-state.ts";
import { dividedReplicas } from "./capabilities.ts";
import type { ClusterCopy, ClusterShare } from "./cluster-share.ts";
import { unlimitedBudget } from "./cluster-share.ts";
import { step } from "./step.ts";

const copy = (
  replicas: number,
  available = replicas,
  more: Partial<ClusterCopy> = {},
): ClusterCopy => ({
  replicas,
  available,
  isObserved: true,
  isStuck: false,
  isDeleting: false,
  isUnmanaged: false,
  ...more,
});
const share = (name: string, state: ClusterState, has?: ClusterCopy): ClusterShare => ({
  name,
  state,
  copy: has,
});
const next = (replicas: number, ...clusters: ClusterShare[]) =>
  Object.fromEntries(step({ replicas, clusters, scaledDownBy: 0 }, dividedReplicas).next);

describe("plan of moves", () => {
  it("a new Deployment is scheduled in one step", () => {
    assert.deepEqual(next(15, share("east", "Ready"), share("west", "Ready")), {
      east: 8,
      west: 7,
    });
  });

  it("a new cluster scales up first, and the other cluster scales down as replicas become available", () => {
    const west = (available: number) => share("west", "Ready", copy(7, available));
    const east = share("east", "Ready", copy(15));
    assert.deepEqual(next(15, east, share("west", "Ready")), { east: 15, west: 7 });
    assert.deepEqual(next(15, east, west(0)), { east: 15, west: 7 });
    assert.deepEqual(next(15, east, west(3)), { east: 12, west: 7 });
    assert.deepEqual(next(15, east, west(7)), { east: 8, west: 7 });
  });

  it("replicas of an Unreachable cluster are replaced, and its copy stays unchanged", () => {
    const west = share("west", "Unreachable", copy(7));
    assert.deepEqual(next(15, share("east", "Ready", copy(8)), west), { east: 15, west: 7 });
    assert.deepEqual(next(15, share("east", "Ready", copy(15)), west), { east: 15, west: 7 });
  });

  it("a cluster that is back counts after its recovery period, and none of its replicas restarts", () => {
    const east = share("east", "Ready", copy(15));
    assert.deepEqual(next(15, east, share("west", "Recovering", copy(7))), { east: 15, west: 7 });
    assert.deepEqual(next(15, east, share("west", "Ready", copy(7))), { east: 8, west: 7 });
  });

  it("a copy that is being removed attracts no replicas to its cluster", () => {
    const going = copy(4, 4, { isDeleting: true });
    const clusters = [share("east", "Ready", going), share("west", "Ready", copy(1))];
    const { goal } = step({ replicas: 1, clusters, scaledDownBy: 0 }, dividedReplicas);
    assert.deepEqual(Object.fromEntries(goal), { east: 0, west: 1 });
    const cordoned = share("east", "Cordoned", going);
    assert.deepEqual(next(8, cordoned, share("west", "Ready", copy(4))), { west: 8 });
  });

  it("a Draining cluster scales down step by step, and its copy is removed at the end", () => {
    const west = share("west", "Draining", copy(7));
    const east = (available: number) => share("east", "Ready", copy(15, available));
    assert.deepEqual(next(15, share("east", "Ready", copy(8)), west), { east: 15, west: 7 });
    assert.deepEqual(next(15, east(10), west), { east: 15, west: 5 });
    assert.deepEqual(next(15, east(15), west), { east: 15, west: "remove" });
  });

  it("unavailable replicas leave a Draining cluster when their replacements have started", () => {
    const west = (available: number) => share("west", "Draining", copy(2, available));
    const east = (replicas: number) => share("east", "Ready", copy(replicas, 0));
    assert.deepEqual(next(4, east(2), west(0)), { east: 4, west: 2 });
    assert.deepEqual(next(4, east(4), west(0)), { east: 4, west: "remove" });
    assert.deepEqual(next(4, east(4), west(1)), { east: 4, west: 1 });
    const isObserved = false;
    const unobserved = share("west", "Draining", copy(2, 0, { isObserved }));
    assert.deepEqual(next(4, east(4), unobserved), { east: 4, west: 2 });
    assert.deepEqual(next(4, east(4), share("west", "NotReady", copy(2, 0))), { east: 4, west: 2 });
  });

  it("the last copy stays when no feasible cluster exists", () => {
    for (const state of ["Draining", "Unreachable", "Unregistered", "NotReady"] as const) {
      assert.deepEqual(next(15, share("west", state, copy(15))), { west: 15 });
    }
  });

  it("replicas with a feasible cluster move without surge within maxUnavailable, and the other replicas stay", () => {
    const budget = { ...unlimitedBudget, surge: 0, unavailable: 1 };
    const west = (has?: ClusterCopy): ClusterShare => ({
      ...share("west", "Ready", has),
      maxReplicas: 2,
    });
    const then = (east: number, has?: ClusterCopy) => {
      const clusters = [share("east", "Draining", copy(east)), west(has)];
      return Object.fromEntries(
        step({ replicas: 4, clusters, scaledDownBy: 0, budget }, dividedReplicas).next,
      );
    };
    assert.deepEqual(then(4), { east: 3 });
    assert.deepEqual(then(3), { east: 3, west: 1 });
    assert.deepEqual(then(3, copy(1)), { east: 2, west: 1 });
    assert.deepEqual(then(2, copy(1)), { east: 2, west: 2 });
    // Two replicas have no feasible cluster.
    assert.deepEqual(then(2, copy(2)), { east: 2, west: 2 });
  });

  it("when some replicas have no feasible cluster, replicas above a cluster's limit move first", () => {
    const crowded: ClusterShare = { ...share("east", "Ready", copy(3)), maxReplicas: 2 };
    const clusters = [crowded, share("west", "Draining", copy(2))];
    const { next } = step({ replicas: 4, clusters, scaledDownBy: 0 }, dividedReplicas);
    assert.deepEqual(Object.fromEntries(next), { east: 2, west: 2 });
  });

  it("a NotReady cluster keeps its replicas, gets no more, and does not count as available", () => {
    const east = share("east", "NotReady", copy(8));
    assert.deepEqual(next(20, east, share("west", "Ready", copy(7))), { east: 8, west: 12 });
    const north = share("north", "Ready", copy(5));
    assert.deepEqual(next(15, share("east", "NotReady", copy(10)), north), { east: 10, north: 7 });
  });

  it("a scale-down removes unavailable replicas immediately, and available ones within maxUnavailable", () => {
    const scaled = (replicas: number, ...clusters: ClusterShare[]) =>
      Object.fromEntries(
        step({ replicas, clusters, scaledDownBy: 15 - replicas }, dividedReplicas).next,
      );
    const starting = (name: string, replicas: number, available: number) =>
      share(name, "Ready", copy(replicas, available));
    assert.deepEqual(scaled(6, starting("a", 8, 2), starting("b", 7, 1)), { a: 3, b: 3 });
    assert.deepEqual(scaled(6, starting("a", 8, 8), starting("b", 7, 0)), { a: 6, b: 3 });
  });

  it("replicas that failed their progress deadline are not waited for", () => {
    const stuck = share("a", "Ready", copy(15, 6, { isStuck: true }));
    assert.deepEqual(next(15, stuck, share("b", "Ready", copy(7, 7))), { a: 8, b: 7 });
    const slow = share("a", "Ready", copy(15, 6));
    assert.deepEqual(next(15, slow, share("b", "Ready", copy(7, 7))), { a: 15, b: 7 });
  });

  it("a report of an older generation does not count", () => {
    const east = share("east", "Ready", copy(15));
    const west = share("west", "Ready", copy(7, 7, { isObserved: false }));
    assert.deepEqual(next(15, east, west), { east: 15, west: 7 });
  });

  it("an unmanaged copy keeps its replicas, and the plan distributes the rest", () => {
    const pinned = share("a", "Ready", copy(3, 3, { isUnmanaged: true }));
    assert.deepEqual(next(15, pinned, share("b", "Ready", copy(7, 7))), { b: 12 });
  });
});

const copies = fc.record({
  replicas: fc.nat(12),
  available: fc.nat(12),
  isObserved: fc.boolean(),
  isStuck: fc.boolean(),
  isDeleting: fc.constant(false),
  isUnmanaged: fc.constant(false),
});
const states = fc.constantFrom<ClusterState>(
  "Ready",
  "Ready",
  "Cordoned",
  "Recovering",
  "NotReady",
  "Draining",
  "Unreachable",
  "Unregistered",
);
const members = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    state: states,
    copy: fc.option(copies, { nil: undefined }),
  }),
  { selector: ({ name }) => name, minLength: 1 },
);

const counts = new Set<ClusterState>(["Ready", "Cordoned", "Draining"]);
const reliable = (list: readonly ClusterShare[], replicasOf: (one: ClusterShare) => number) =>
  list.reduce(
    (sum, one) =>
      one.copy?.isObserved && counts.has(one.state)
        ? sum + Math.min(one.copy.available, replicasOf(one))
        : sum,
    0,
  );

describe("plan of moves from random states", () => {
  it("available replicas never fall below the requested replicas, nor further below", () => {
    fc.assert(
      fc.property(fc.nat(20), members, fc.nat(10), (replicas, list, scaledDownBy) => {
        const { next } = step({ replicas, clusters: list, scaledDownBy }, dividedReplicas);
        const after = (one: ClusterShare) => {
          const step = next.get(one.name) ?? one.copy?.replicas ?? 0;
          return step === "remove" ? 0 : step;
        };
        const before = reliable(list, (one) => one.copy?.replicas ?? 0);
        assert.ok(reliable(list, after) >= Math.min(replicas, before));
      }),
      { numRuns: 2000 },
    );
  });

  it("repeated steps of a plan end without another step to take", () => {
    fc.assert(
      fc.property(fc.nat(20), members, (replicas, list) => {
        let now: readonly ClusterShare[] = list;
        for (let round = 0; round < 10; round++) {
          const { next } = step(
            { replicas, clusters: now, scaledDownBy: round === 0 ? 5 : 0 },
            dividedReplicas,
          );
          const then = now.flatMap((one): readonly ClusterShare[] => {
            const wanted = next.get(one.name);
            if (wanted === "remove")
              return one.state === "Unregistered" ? [] : [{ ...one, copy: undefined }];
            return wanted === undefined ? [one] : [{ ...one, copy: copy(wanted) }];
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
