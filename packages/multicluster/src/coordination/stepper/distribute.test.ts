import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type ClusterWeightInfo, distribute } from "./distribute.ts";

const cluster = (
  name: string,
  current = 0,
  more: Partial<ClusterWeightInfo> = {},
): ClusterWeightInfo => ({ name, ready: true, current, ...more });
const split = (replicas: number, ...clusters: ClusterWeightInfo[]) =>
  Object.fromEntries(distribute(replicas, clusters));

describe("distribute", () => {
  it("replicas are distributed evenly, the remainder to the first clusters by name", () => {
    assert.deepEqual(split(15, cluster("west"), cluster("east")), { east: 8, west: 7 });
    assert.deepEqual(split(10, cluster("a"), cluster("b"), cluster("c")), { a: 4, b: 3, c: 3 });
    assert.deepEqual(split(1, cluster("a"), cluster("b")), { a: 1, b: 0 });
  });

  it("the remainder stays in the clusters that have it", () => {
    assert.deepEqual(split(15, cluster("east", 7), cluster("west", 8)), { east: 7, west: 8 });
  });

  it("an ineligible cluster gets no replicas, and no cluster gets any when none is eligible", () => {
    assert.deepEqual(split(15, cluster("east", 8, { ready: false }), cluster("west", 7)), {
      east: 0,
      west: 15,
    });
    assert.deepEqual(split(15, cluster("east", 8, { ready: false })), { east: 0 });
  });

  it("replicas are distributed by weight", () => {
    assert.deepEqual(split(12, cluster("a", 0, { weight: 3 }), cluster("b")), { a: 9, b: 3 });
    assert.deepEqual(split(1, cluster("a"), cluster("b", 0, { weight: 5 })), { a: 0, b: 1 });
  });

  it("a cluster fills up to its capacity, and the other clusters get the rest", () => {
    assert.deepEqual(split(15, cluster("a", 0, { capacity: 2 }), cluster("b"), cluster("c")), {
      a: 2,
      b: 7,
      c: 6,
    });
  });

  it("capacity is exceeded only when all of it is used up, and by all clusters alike", () => {
    assert.deepEqual(
      split(10, cluster("a", 0, { capacity: 2 }), cluster("b", 0, { capacity: 4 })),
      { a: 4, b: 6 },
    );
  });

  it("a Cordoned cluster never gets more replicas than it has", () => {
    assert.deepEqual(split(20, cluster("a", 8, { isCordoned: true }), cluster("b", 7)), {
      a: 8,
      b: 12,
    });
    assert.deepEqual(split(20, cluster("a", 8, { isCordoned: true })), { a: 8 });
    assert.deepEqual(split(4, cluster("a", 8, { isCordoned: true }), cluster("b", 7)), {
      a: 2,
      b: 2,
    });
  });

  it("retained replicas stay, and the other clusters share the rest as if these were a quota", () => {
    const kept = (name: string, current: number, more: Partial<ClusterWeightInfo> = {}) =>
      cluster(name, current, { isCordoned: true, retained: true, ...more });
    assert.deepEqual(split(4, kept("a", 4), cluster("b")), { a: 4, b: 0 });
    assert.deepEqual(split(6, kept("a", 4), cluster("b"), cluster("c")), { a: 4, b: 1, c: 1 });
    assert.deepEqual(split(9, kept("a", 1), cluster("b"), cluster("c")), { a: 1, b: 4, c: 4 });
    assert.deepEqual(split(6, kept("a", 4, { maxReplicas: 2 }), cluster("b")), { a: 2, b: 4 });
    assert.deepEqual(split(4, kept("a", 8), cluster("b", 7)), { a: 2, b: 2 });
    const us = { domains: ["us"] };
    const regions = [kept("a", 4, us), cluster("b", 0, us), cluster("c", 0, { domains: ["eu"] })];
    assert.deepEqual(split(8, ...regions), { a: 4, b: 0, c: 4 });
    assert.deepEqual(split(10, ...regions), { a: 4, b: 1, c: 5 });
  });
});

const shares = (constraints: { max: number; plain?: boolean }) =>
  fc
    .uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), {
      minLength: 1,
      maxLength: constraints.max,
    })
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc
            .record({
              name: fc.constant(name),
              ready: constraints.plain ? fc.constant(true) : fc.boolean(),
              weight: constraints.plain ? fc.constant(1) : fc.integer({ min: 1, max: 5 }),
              capacity: constraints.plain
                ? fc.constant(undefined)
                : fc.option(fc.nat(20), { nil: undefined }),
              isCordoned: constraints.plain
                ? fc.constant(false)
                : fc.boolean().map((yes) => yes && name > "c"),
              keeps: fc.boolean(),
              current: fc.nat(20),
            })
            // An open cluster with retained replicas is rounded to its current replicas: the quotas
            // of the other clusters may then differ.
            .map((share) => ({ ...share, retained: share.keeps && share.isCordoned })),
        ),
      ),
    );

const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);
const moved = (clusters: readonly ClusterWeightInfo[], split: ReadonlyMap<string, number>) =>
  sum(clusters.map(({ name, current }) => Math.abs((split.get(name) ?? 0) - current)));

describe("distribute for generated clusters", () => {
  it("the sum equals the requested replicas when an eligible cluster exists", () => {
    fc.assert(
      fc.property(fc.nat(60), shares({ max: 6 }), (replicas, clusters) => {
        const split = distribute(replicas, clusters);
        const total = sum(split.values());
        if (clusters.some(({ ready, isCordoned }) => ready && !isCordoned)) {
          assert.equal(total, replicas);
        } else {
          assert.ok(total <= replicas);
        }
        for (const { name, ready, isCordoned, current } of clusters) {
          const share = split.get(name) ?? 0;
          assert.ok(share >= 0);
          if (!ready) assert.equal(share, 0);
          if (isCordoned) assert.ok(share <= current);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("retained replicas are taken only when fewer are requested than retained", () => {
    fc.assert(
      fc.property(fc.nat(60), shares({ max: 6 }), (replicas, clusters) => {
        const keepers = clusters.filter(({ ready, retained }) => ready && retained);
        const floorOf = ({ capacity = 1e9, current }: ClusterWeightInfo) =>
          Math.min(capacity, current);
        if (sum(keepers.map(floorOf)) > replicas) return;
        const split = distribute(replicas, clusters);
        for (const one of keepers) assert.ok((split.get(one.name) ?? 0) >= floorOf(one));
      }),
      { numRuns: 1000 },
    );
  });

  it("capacity is not exceeded while other clusters have capacity", () => {
    fc.assert(
      fc.property(fc.nat(60), shares({ max: 6 }), (replicas, clusters) => {
        const split = distribute(replicas, clusters);
        const members = clusters.filter(({ ready }) => ready);
        const roomOf = ({ capacity = 1e9, isCordoned, current }: ClusterWeightInfo) =>
          isCordoned ? Math.min(capacity, current) : capacity;
        if (sum(members.map(roomOf)) < replicas) return;
        for (const member of members) {
          assert.ok((split.get(member.name) ?? 0) <= roomOf(member));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("the result does not depend on the order of the clusters", () => {
    fc.assert(
      fc.property(
        fc.nat(60),
        shares({ max: 6 }).chain((clusters) =>
          fc.tuple(
            fc.constant(clusters),
            fc.shuffledSubarray(clusters, { minLength: clusters.length }),
          ),
        ),
        (replicas, [clusters, shuffled]) => {
          const one = distribute(replicas, clusters);
          const other = distribute(replicas, shuffled);
          for (const [name, share] of one) assert.equal(other.get(name), share);
        },
      ),
    );
  });

  it("a second call changes nothing, though a Cordoned cluster may then have less", () => {
    const clusters = [
      cluster("a", 3),
      cluster("c", 0, { weight: 4 }),
      cluster("d", 3),
      cluster("f", 8, { weight: 3, isCordoned: true }),
    ];
    const first = distribute(22, clusters);
    const then = clusters.map((one) => ({ ...one, current: first.get(one.name) ?? 0 }));
    assert.deepEqual([...distribute(22, then)], [...first]);
  });

  it("a second call changes nothing", () => {
    fc.assert(
      fc.property(fc.nat(60), shares({ max: 6 }), (replicas, clusters) => {
        const first = distribute(replicas, clusters);
        const then = clusters.map((one) => ({ ...one, current: first.get(one.name) ?? 0 }));
        assert.deepEqual([...distribute(replicas, then)], [...first]);
      }),
      { numRuns: 1000 },
    );
  });

  it("the result moves as few replicas as any even distribution", () => {
    fc.assert(
      fc.property(fc.nat(24), shares({ max: 4, plain: true }), (replicas, clusters) => {
        const least = Math.min(
          ...evenSplits(replicas, clusters).map((one) => moved(clusters, one)),
        );
        assert.equal(moved(clusters, distribute(replicas, clusters)), least);
      }),
    );
  });

  it("a new cluster moves only its own replicas, and a removed cluster only those that it had", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 2, max: 6 }), (replicas, count) => {
        const names = ["a", "b", "c", "d", "e", "f"].slice(0, count);
        const fewer = distribute(
          replicas,
          names.slice(1).map((name) => cluster(name)),
        );
        const joined = distribute(
          replicas,
          names.map((name) => cluster(name, fewer.get(name) ?? 0)),
        );
        for (const [name, share] of fewer) assert.ok((joined.get(name) ?? 0) <= share);
        const left = distribute(
          replicas,
          names.map((name, index) => cluster(name, joined.get(name) ?? 0, { ready: index > 0 })),
        );
        for (const name of names.slice(1)) {
          assert.ok((left.get(name) ?? 0) >= (joined.get(name) ?? 0));
        }
      }),
    );
  });
});

/** All assignments that give each cluster its quota rounded down or up. */
function evenSplits(
  replicas: number,
  clusters: readonly ClusterWeightInfo[],
): Map<string, number>[] {
  const floor = Math.floor(replicas / clusters.length);
  const over = replicas % clusters.length;
  const found: Map<string, number>[] = [];
  for (let bits = 0; bits < 2 ** clusters.length; bits++) {
    const extras = clusters.map((_, index) => (bits >> index) & 1);
    if (sum(extras) !== over) continue;
    found.push(new Map(clusters.map(({ name }, index) => [name, floor + (extras[index] ?? 0)])));
  }
  return found;
}

describe("limits and topology domains", () => {
  const member = (name: string, more: Partial<ClusterWeightInfo> = {}): ClusterWeightInfo => ({
    name,
    ready: true,
    current: 0,
    ...more,
  });
  const shares = (...args: Parameters<typeof distribute>) =>
    Object.fromEntries(distribute(...args));

  it("maxReplicas is never exceeded, and capacity is exceeded before it", () => {
    const clusters = [
      member("a", { maxReplicas: 3, capacity: 1 }),
      member("b", { maxReplicas: 2 }),
      member("c", { maxReplicas: 0 }),
    ];
    assert.deepEqual(shares(3, clusters), { a: 1, b: 2, c: 0 });
    assert.deepEqual(shares(9, clusters), { a: 3, b: 2, c: 0 });
  });

  it("domains get equal numbers of replicas, however many clusters they have", () => {
    const clusters = [
      member("a", { domains: ["us", "us-1"] }),
      member("b", { domains: ["us", "us-2"] }),
      member("c", { domains: ["us", "us-2"] }),
      member("d", { domains: ["eu", "eu-1"] }),
    ];
    assert.deepEqual(shares(8, clusters), { a: 2, b: 1, c: 1, d: 4 });
    const full = clusters.map((one) => (one.name === "d" ? { ...one, maxReplicas: 1 } : one));
    assert.deepEqual(shares(8, full), { a: 4, b: 2, c: 1, d: 1 });
  });

  it("a permitted skew of the domains stays unchanged", () => {
    const clusters = [
      member("a", { domains: ["us"], current: 5 }),
      member("b", { domains: ["eu"], current: 3 }),
    ];
    assert.deepEqual(shares(8, clusters, [2]), { a: 5, b: 3 });
    assert.deepEqual(shares(8, clusters, [1]), { a: 4, b: 4 });
  });
});
