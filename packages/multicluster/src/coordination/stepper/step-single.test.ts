/**
 * Goal: a single workload is in one cluster, and a duplicated workload in all clusters, at every
 * step. Method: seeded histories, and the steps of a move one by one.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { ClusterState } from "../cluster-state.ts";
import { copyEverywhere, singleSchedule } from "./capabilities.ts";
import type { ClusterCopy, ClusterShare, VolumeMigration } from "./cluster-share.ts";
import { step } from "./step.ts";

const copy = (more: Partial<ClusterCopy> = {}): ClusterCopy => ({
  replicas: 1,
  available: 0,
  isObserved: true,
  isStuck: false,
  isDeleting: false,
  isUnmanaged: false,
  ...more,
});

const share = (name: string, state: ClusterState, its?: Partial<ClusterCopy>): ClusterShare =>
  its === undefined ? { name, state } : { name, state, copy: copy(its) };

const everywhere = (clusters: readonly ClusterShare[], migration?: VolumeMigration) =>
  step({ replicas: 1, clusters, scaledDownBy: 0, migration }, copyEverywhere);

const exclusive = (...clusters: ClusterShare[]) =>
  Object.fromEntries(step({ replicas: 1, clusters, scaledDownBy: 0 }, singleSchedule).next);

describe("single workload", () => {
  it("a single workload is stopped and removed before it starts in another cluster", () => {
    const west = share("west", "Ready");
    assert.deepEqual(exclusive(share("east", "Draining", { available: 1 }), west), { east: 0 });
    const resting = { replicas: 0, available: 1 };
    assert.deepEqual(exclusive(share("east", "Draining", resting), west), { east: 0 });
    assert.deepEqual(exclusive(share("east", "Draining", { ...resting, available: 0 }), west), {
      east: "remove",
    });
    assert.deepEqual(exclusive(share("east", "Draining", { isDeleting: true }), west), {});
    assert.deepEqual(exclusive(share("east", "Draining"), west), { west: 1 });
  });

  it("a single workload is replaced when its cluster is Unreachable, and the replacement stays when that cluster is back", () => {
    const unreachable = share("east", "Unreachable", {});
    assert.deepEqual(exclusive(unreachable, share("west", "Ready")), { east: 1, west: 1 });
    const back: ClusterShare = { ...share("east", "Recovering", {}), isTrusted: false };
    assert.deepEqual(exclusive(back, share("west", "Ready", {})), { east: 0, west: 1 });
    const atOnce = share("east", "Ready", { wasUnreachable: true });
    assert.deepEqual(exclusive(atOnce, share("west", "Ready", {})), { east: 0, west: 1 });
    const told = share("east", "Ready", { replicas: 0, available: 1 });
    assert.deepEqual(exclusive(told, share("west", "Ready", {})), { east: 0, west: 1 });
  });

  it("a single workload stays when no feasible cluster exists", () => {
    assert.deepEqual(exclusive(share("east", "Draining", { available: 1 })), { east: 1 });
  });

  it("a single workload is never in two reachable clusters, in any history", () => {
    for (let seed = 0; seed < 500; seed++) history(seed);
  });
});

/**
 * A copy that is being removed exists for a while; each cluster starts and stops copies as
 * assigned.
 */
function history(seed: number): void {
  const random = new SeededRandom(seed);
  const places = ["east", "north", "west"].map((name) => ({
    name,
    standing: "Ready" as ClusterState,
    part: undefined as ClusterCopy | undefined,
    wasLost: false,
  }));
  for (let round = 0; round < 200; round++) {
    const place = places[random.integer(places.length)];
    assert.ok(place !== undefined);
    if (random.chance(0.1)) {
      place.standing = random.pick(["Ready", "Draining", "Unreachable", "Cordoned", "NotReady"]);
      if (place.standing === "Unreachable") place.wasLost = true;
    }
    if (place.part?.isDeleting === true && place.standing !== "Unreachable" && random.chance(0.5)) {
      place.part = undefined;
    }
    const clusters: ClusterShare[] = places.map(({ name, standing: clusterState, part: its }) =>
      its === undefined ? { name, state: clusterState } : { name, state: clusterState, copy: its },
    );
    const { next } = step({ replicas: 1, clusters, scaledDownBy: 0 }, singleSchedule);
    for (const one of places) {
      const wanted = next.get(one.name);
      if (wanted === "remove" && one.part !== undefined)
        one.part = { ...one.part, isDeleting: true };
      else if (wanted === undefined || wanted === "remove") continue;
      else if (one.part === undefined) {
        const others = places.filter(
          (other) => other !== one && other.part !== undefined && other.standing !== "Unreachable",
        );
        assert.deepEqual(others, [], `seed ${seed}: ${one.name} is started beside others`);
        one.part = copy({ available: 1 });
      } else one.part = { ...one.part, replicas: wanted, available: wanted };
    }
  }
}

describe("duplicated workload", () => {
  const copies = (...clusters: ClusterShare[]) => Object.fromEntries(everywhere(clusters).next);

  it("a duplicated workload gets a copy with each cluster, loses it with the cluster, and keeps it in an Unreachable one", () => {
    assert.deepEqual(
      copies(
        share("east", "Ready"),
        share("lost", "Unreachable", {}),
        share("north", "Draining", {}),
        share("south", "Cordoned"),
        share("west", "Cordoned", {}),
      ),
      { east: 1, lost: 1, north: "remove", west: 1 },
    );
  });

  it("a duplicated workload stays with its volumes until another cluster may have them", () => {
    const migration = { from: "east", to: "west" };
    const next = (opened: boolean) => {
      const clusters = [
        share("east", "Draining", {}),
        share("west", "Ready", { isVolumeGateOpen: opened }),
      ];
      return Object.fromEntries(everywhere(clusters, migration).next);
    };
    assert.deepEqual(
      [next(false), next(true)],
      [
        { east: 1, west: 1 },
        { east: "remove", west: 1 },
      ],
    );
  });

  it("a duplicated workload keeps its last copy until another copy is available", () => {
    assert.deepEqual(copies(share("east", "Draining", {})), { east: 1 });
    const leaving = share("east", "Draining", { available: 1 });
    assert.deepEqual(copies(leaving, share("west", "Ready")), { east: 1, west: 1 });
    const starting = share("west", "Ready", {});
    assert.deepEqual(copies(leaving, starting), { east: 1, west: 1 });
    assert.equal(everywhere([leaving, starting]).surplus, 1);
    // A copy in a second Draining cluster does not count, nor does a report of an older spec.
    const other = share("north", "Draining", { available: 1 });
    const older = share("west", "Ready", { available: 1, isObserved: false });
    assert.deepEqual(copies(leaving, other, older), { east: 1, north: 1, west: 1 });
    const ready = share("west", "Ready", { available: 1 });
    assert.deepEqual(copies(leaving, ready), { east: "remove", west: 1 });
  });
});
