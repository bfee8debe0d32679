/** Goal: what is in one cluster, or in all of them, is so at every step. Method: seeded histories, and the steps of a move one by one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { planDuplicated } from "./plan-copies.ts";
import { planStopBeforeStart } from "./plan-exclusive.ts";
import type { ClusterCopy, ClusterShare } from "./plan-moves.ts";
import type { ClusterState } from "./standing.ts";

const part = (more: Partial<ClusterCopy> = {}): ClusterCopy => ({
  replicas: 1,
  available: 0,
  isObserved: true,
  isStuck: false,
  isGoing: false,
  isPinned: false,
  ...more,
});

const member = (name: string, standing: ClusterState, its?: Partial<ClusterCopy>): ClusterShare =>
  its === undefined ? { name, standing } : { name, standing, part: part(its) };

const exclusive = (...members: ClusterShare[]) =>
  Object.fromEntries(planStopBeforeStart({ replicas: 1, members, canRest: true }).next);

describe("what is in one cluster only", () => {
  it("is brought to rest, removed, and only then started elsewhere", () => {
    const west = member("west", "accepting");
    assert.deepEqual(exclusive(member("east", "leaving", { available: 1 }), west), { east: 0 });
    const resting = { replicas: 0, available: 1 };
    assert.deepEqual(exclusive(member("east", "leaving", resting), west), { east: 0 });
    assert.deepEqual(exclusive(member("east", "leaving", { ...resting, available: 0 }), west), {
      east: "remove",
    });
    assert.deepEqual(exclusive(member("east", "leaving", { isGoing: true }), west), {});
    assert.deepEqual(exclusive(member("east", "leaving"), west), { west: 1 });
  });

  it("is replaced when its cluster is lost; what replaced it stays when that is back", () => {
    const lost = member("east", "lost", {});
    assert.deepEqual(exclusive(lost, member("west", "accepting")), { east: 1, west: 1 });
    const back: ClusterShare = { ...member("east", "settling", {}), isTrusted: false };
    assert.deepEqual(exclusive(back, member("west", "accepting", {})), { east: 0, west: 1 });
    const atOnce = member("east", "accepting", { wasLost: true });
    assert.deepEqual(exclusive(atOnce, member("west", "accepting", {})), { east: 0, west: 1 });
    const told = member("east", "accepting", { replicas: 0, available: 1 });
    assert.deepEqual(exclusive(told, member("west", "accepting", {})), { east: 0, west: 1 });
  });

  it("stays where it is when there is nowhere to go", () => {
    assert.deepEqual(exclusive(member("east", "leaving", { available: 1 })), { east: 1 });
  });

  it("is in no two clusters that can be seen, whatever happens", () => {
    for (let seed = 0; seed < 500; seed++) history(seed);
  });
});

/** A part that is to go is there for a while; each cluster starts and rests as it is told. */
function history(seed: number): void {
  const random = new SeededRandom(seed);
  const places = ["east", "north", "west"].map((name) => ({
    name,
    standing: "accepting" as ClusterState,
    part: undefined as ClusterCopy | undefined,
    wasLost: false,
  }));
  for (let step = 0; step < 200; step++) {
    const place = places[random.integer(places.length)];
    assert.ok(place !== undefined);
    if (random.chance(0.1)) {
      place.standing = random.pick(["accepting", "leaving", "lost", "cordoned", "wavering"]);
      if (place.standing === "lost") place.wasLost = true;
    }
    if (place.part?.isGoing === true && place.standing !== "lost" && random.chance(0.5)) {
      place.part = undefined;
    }
    const members: ClusterShare[] = places.map(({ name, standing, part: its }) =>
      its === undefined ? { name, standing } : { name, standing, part: its },
    );
    const { next } = planStopBeforeStart({ replicas: 1, members, canRest: true });
    for (const one of places) {
      const wanted = next.get(one.name);
      if (wanted === "remove" && one.part !== undefined) one.part = { ...one.part, isGoing: true };
      else if (wanted === undefined || wanted === "remove") continue;
      else if (one.part === undefined) {
        const others = places.filter(
          (other) => other !== one && other.part !== undefined && other.standing !== "lost",
        );
        assert.deepEqual(others, [], `seed ${seed}: ${one.name} is started beside others`);
        one.part = part({ available: 1 });
      } else one.part = { ...one.part, replicas: wanted, available: wanted };
    }
  }
}

describe("what is in every cluster", () => {
  const copies = (...members: ClusterShare[]) =>
    Object.fromEntries(planDuplicated({ members }).next);

  it("comes with a cluster, goes with it, and stays in one that is lost", () => {
    assert.deepEqual(
      copies(
        member("east", "accepting"),
        member("lost", "lost", {}),
        member("north", "leaving", {}),
        member("south", "cordoned"),
        member("west", "cordoned", {}),
      ),
      { east: 1, lost: 1, north: "remove", west: 1 },
    );
  });

  it("stays where its volumes are until another one may have them", () => {
    const takeover = { from: "east", to: "west" };
    const next = (opened: boolean) => {
      const members = [
        member("east", "leaving", {}),
        member("west", "accepting", { isOpened: opened }),
      ];
      return Object.fromEntries(planDuplicated({ members, takeover }).next);
    };
    assert.deepEqual(
      [next(false), next(true)],
      [
        { east: 1, west: 1 },
        { east: "remove", west: 1 },
      ],
    );
  });

  it("keeps its last copy, also until another one is available", () => {
    assert.deepEqual(copies(member("east", "leaving", {})), { east: 1 });
    const leaving = member("east", "leaving", { available: 1 });
    assert.deepEqual(copies(leaving, member("west", "accepting")), { east: 1, west: 1 });
    const starting = member("west", "accepting", {});
    assert.deepEqual(copies(leaving, starting), { east: 1, west: 1 });
    assert.equal(planDuplicated({ members: [leaving, starting] }).surplus, 1);
    // Nor does one count that is to be emptied as well, or whose report is of an older spec.
    const other = member("north", "leaving", { available: 1 });
    const older = member("west", "accepting", { available: 1, isObserved: false });
    assert.deepEqual(copies(leaving, other, older), { east: 1, north: 1, west: 1 });
    const ready = member("west", "accepting", { available: 1 });
    assert.deepEqual(copies(leaving, ready), { east: "remove", west: 1 });
  });
});
