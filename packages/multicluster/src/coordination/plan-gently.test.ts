/** Goal: for kinds without a budget of replicas, too, nothing is taken from a copy that somebody holds or while moves are paused, and no copy grows or shrinks in a state that does not allow it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { type ClusterShare, type PlanInput, unlimitedBudget } from "./members.ts";
import { mayGrow, mayShrink } from "./move-machine.ts";
import { planDuplicated } from "./plan-copies.ts";
import { finishInPlace, planStopBeforeStart } from "./plan-exclusive.ts";
import { withMoveGuards } from "./plan-gently.ts";
import type { Plan } from "./plan-moves.ts";
import { planOrdinals } from "./plan-ordinals.ts";

const planners: Readonly<Record<string, (input: PlanInput) => Plan>> = {
  ordinal: (input) => withMoveGuards(input, (wish) => planOrdinals({ ...wish, first: 0 })),
  duplicate: (input) => withMoveGuards(input, planDuplicated),
  schedule: (input) =>
    withMoveGuards(input, (wish) => planStopBeforeStart({ ...wish, canRest: true })),
  once: (input) => withMoveGuards(input, (wish) => planStopBeforeStart(finishInPlace(wish))),
};

const standings = [
  "accepting",
  "cordoned",
  "settling",
  "wavering",
  "leaving",
  "lost",
  "gone",
] as const;

function anyMembers(random: SeededRandom, kind: string): readonly ClusterShare[] {
  let start = 0;
  return ["a", "b", "c"].map((name): ClusterShare => {
    const standing = random.pick(standings);
    if (random.chance(0.3)) return { name, standing };
    const mayRest = kind === "schedule" && random.chance(0.1);
    const replicas = kind === "ordinal" ? random.integer(3) : mayRest ? 0 : 1;
    const available = random.integer(replicas + 1);
    const part = {
      ...{ replicas, available, start, running: available },
      isObserved: random.chance(0.8),
      isStuck: false,
      isGoing: random.chance(0.1),
      isPinned: false,
      isHeld: random.chance(0.3),
    };
    start += replicas;
    return { name, standing, part };
  });
}

describe("plans without a budget of replicas", () => {
  for (const [kind, planIt] of Object.entries(planners)) {
    it(`${kind}: a hold and a pause take nothing away, and steps are those that the states allow`, () => {
      for (let seed = 0; seed < 2000; seed++) {
        const random = new SeededRandom(seed);
        const members = anyMembers(random, kind);
        const replicas = kind === "ordinal" ? random.integer(6) : 1;
        const isPaused = random.chance(0.3);
        const budget = { ...unlimitedBudget, isPaused };
        const { next, starts, states } = planIt({ replicas, members, scaledDownBy: 0, budget });
        for (const { name, standing, part } of members) {
          const told = `seed ${seed}, ${name}: ${JSON.stringify({ members, next: [...next] })}`;
          const state = states.get(name) ?? assert.fail(told);
          const has = part?.replicas ?? 0;
          const step = next.get(name);
          const isLess = part !== undefined && (step === "remove" || (step ?? has) < has);
          const isMore = typeof step === "number" && step > has;
          assert.ok(!isLess || mayShrink[state], `${state} gives up; ${told}`);
          assert.ok(!isMore || mayGrow[state], `${state} gets more; ${told}`);
          if (part?.isHeld === true) {
            assert.ok(!isLess, `held; ${told}`);
            if (state === "shifting")
              assert.equal(starts?.get(name) ?? part.start, part.start, told);
          }
          const isAsked =
            kind === "duplicate" || (kind === "ordinal" && sizeOf(members) <= replicas);
          const isKept = isPaused && standing === "leaving" && isAsked && part?.isGoing !== true;
          assert.ok(!isKept || !isLess, `paused; ${told}`);
        }
      }
    });
  }

  const part = { replicas: 1, available: 1, running: 1, start: 0, isObserved: true };
  const still = { isStuck: false, isGoing: false, isPinned: false };
  /** Of what is everywhere, the other cluster has an available copy: the last one would stay for that alone. */
  const leaving = (kind: string, isHeld: boolean): readonly ClusterShare[] => [
    { name: "a", standing: "leaving", part: { ...part, ...still, isHeld } },
    {
      name: "b",
      standing: "accepting",
      ...(kind === "duplicate" ? { part: { ...part, ...still } } : {}),
    },
  ];
  const input = { replicas: 1, scaledDownBy: 0 };

  for (const kind of ["ordinal", "duplicate", "schedule"]) {
    const planIt = planners[kind] ?? assert.fail();
    it(`${kind}: what is held stays, and goes when nobody holds it; what is paused stays`, () => {
      const held = planIt({ ...input, members: leaving(kind, true) });
      assert.deepEqual([held.next.get("a"), held.states.get("a")], [1, "shifting"]);
      const free = planIt({ ...input, members: leaving(kind, false) });
      assert.notEqual(free.next.get("a"), 1);
      assert.equal(free.states.get("a"), "draining");
      const budget = { ...unlimitedBudget, isPaused: true };
      const paused = planIt({ ...input, members: leaving(kind, false), budget });
      assert.deepEqual([paused.next.get("a"), paused.states.get("a")], [1, "ready"]);
    });
  }
});

function sizeOf(members: readonly ClusterShare[]): number {
  return members.reduce((sum, { part }) => sum + (part?.replicas ?? 0), 0);
}
