import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type ClusterCopy,
  type ClusterShare,
  type RolloutBudget,
  unlimitedBudget,
} from "./members.ts";
import type { MoveRecord } from "./move-record.ts";
import { PlacementError } from "./placement-error.ts";
import { type Plan, planMoves } from "./plan-moves.ts";
import { budgetOf, failoverOf, rolloutOf } from "./rollout.ts";
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
  running: replicas,
  ...more,
});
const member = (
  name: string,
  standing: ClusterState,
  has?: ClusterCopy,
  more: Partial<ClusterShare> = {},
): ClusterShare => ({ name, standing, part: has, ...more });

interface Case {
  readonly replicas: number;
  readonly members: readonly ClusterShare[];
  readonly budget?: Partial<RolloutBudget>;
  readonly scaledDownBy?: number;
  readonly nowMs?: number;
}

function plan({ replicas, members, budget, scaledDownBy = 0, nowMs = 0 }: Case): Plan {
  const full = { ...unlimitedBudget, ...budget };
  return planMoves({ replicas, members, scaledDownBy, budget: full, nowMs, of: "wish" });
}
const next = (one: Case) => Object.fromEntries(plan(one).next);
const states = (one: Case) => Object.fromEntries(plan(one).states);

describe("the budget", () => {
  it("lets only so many more be started, and the next ones when these have replaced others", () => {
    const step = (west: ClusterCopy | undefined, east: number) =>
      next({
        replicas: 10,
        members: [member("east", "leaving", part(east)), member("west", "accepting", west)],
        budget: { surge: 2 },
      });
    assert.deepEqual(step(undefined, 10), { east: 10, west: 2 });
    assert.deepEqual(step(part(2, 1), 10), { east: 9, west: 2 });
    assert.deepEqual(step(part(2), 10), { east: 8, west: 2 });
    assert.deepEqual(step(part(2), 8), { east: 8, west: 4 });
  });

  it("without a surge still lets a single one leave: it is replaced first", () => {
    const surge = (replicas: number) =>
      budgetOf({ maxSurge: 0, maxUnavailable: 1 }, {}, replicas).surge;
    assert.deepEqual([surge(1), surge(2)], [1, 0]);
  });

  it("replaces what is missing at once, whatever the surge", () => {
    const members = [member("east", "lost", part(6)), member("west", "accepting", part(4))];
    assert.deepEqual(next({ replicas: 10, members, budget: { surge: 1 } }), {
      east: 6,
      west: 10 + 1 - 1,
    });
  });

  it("does not let what is broken eat up the surge", () => {
    const members = [member("east", "leaving", part(10, 0)), member("west", "accepting", part(2))];
    assert.deepEqual(next({ replicas: 10, members, budget: { surge: 2 } }), { east: 10, west: 10 });
  });

  it("may take away before, as far as it spares some, and never the last one", () => {
    const members = (replicas: number) => [
      member("east", "leaving", part(replicas)),
      member("west", "accepting"),
    ];
    const budget = { surge: 0, unavailable: 3 };
    assert.deepEqual(next({ replicas: 10, members: members(10), budget }), { east: 7 });
    assert.deepEqual(next({ replicas: 1, members: members(1), budget: { ...budget, surge: 1 } }), {
      east: 1,
      west: 1,
    });
    const nowhere = [member("east", "leaving", part(10))];
    assert.deepEqual(next({ replicas: 10, members: nowhere, budget }), { east: 10 });
    assert.deepEqual(states({ replicas: 10, members: nowhere, budget }), { east: "blocked" });
  });

  it("paused, nothing moves that need not", () => {
    const budget = { isPaused: true };
    const members = [member("east", "leaving", part(10)), member("west", "accepting", part(3))];
    assert.deepEqual(next({ replicas: 10, members, budget }), { east: 10, west: 3 });
    const unlucky = [member("east", "lost", part(10)), member("west", "accepting", part(3))];
    assert.deepEqual(next({ replicas: 10, members: unlucky, budget }), { east: 10, west: 10 });
    assert.deepEqual(next({ replicas: 15, members, budget }), { east: 10, west: 5 });
    assert.deepEqual(next({ replicas: 8, members, budget, scaledDownBy: 2 }), { east: 5, west: 3 });
  });

  it("is read from annotations before the policy, in numbers and percentages", () => {
    const annotations = {
      "workloads.kcp.io/max-surge": "25%",
      "workloads.kcp.io/max-unavailable": "1",
      "workloads.kcp.io/progress-deadline-seconds": "600",
    };
    const rollout = rolloutOf(annotations, { maxSurge: 7, paused: true });
    assert.deepEqual(budgetOf(rollout, {}, 10), {
      surge: 3,
      unavailable: 1,
      isPaused: true,
      isExclusive: false,
      deadlineMs: undefined,
    });
    assert.equal(budgetOf({ ...rollout, paused: false }, {}, 10).deadlineMs, 600_000);
    assert.deepEqual(budgetOf({}, {}, 10), unlimitedBudget);
    assert.equal(budgetOf({ maxSurge: 0, maxUnavailable: "9%" }, {}, 10).surge, 1);
    assert.equal(
      budgetOf({ progressDeadlineSeconds: 5, rollback: false }, {}, 1).deadlineMs,
      undefined,
    );
    const failover = { "workloads.kcp.io/toleration-seconds": "5" };
    assert.deepEqual(failoverOf(failover, { tolerationSeconds: 9, atMostOne: true }), {
      tolerationSeconds: 5,
      atMostOne: true,
    });
    for (const [name, text] of [
      ["max-surge", "-1"],
      ["max-unavailable", "1.5"],
      ["paused", "yes"],
      ["progress-deadline-seconds", "10m"],
    ]) {
      const wrong = { [`workloads.kcp.io/${name}`]: text ?? "" };
      assert.throws(() => rolloutOf(wrong), PlacementError, text);
    }
  });
});

describe("soft finalizers", () => {
  it("hold all of a part until nobody needs it, and do not keep others from starting", () => {
    const members = (isHeld: boolean) => [
      member("east", "leaving", part(10, 10, { isHeld })),
      member("west", "accepting", part(10)),
    ];
    const held = { replicas: 10, members: members(true) };
    assert.deepEqual(next(held), { east: 10, west: 10 });
    assert.deepEqual(states(held), { east: "shifting", west: "ready" });
    assert.deepEqual(next({ replicas: 10, members: members(false) }), { east: "remove", west: 10 });
    const empty = [
      member("east", "leaving", part(0, 0, { isHeld: true })),
      member("west", "accepting", part(10)),
    ];
    assert.deepEqual(next({ replicas: 10, members: empty }), { east: 0, west: 10 });
    const starting = [
      member("east", "leaving", part(10, 10, { isHeld: true })),
      member("west", "accepting"),
    ];
    assert.deepEqual(next({ replicas: 10, members: starting }), { east: 10, west: 10 });
  });
});

describe("the deadline", () => {
  const budget = { deadlineMs: 60_000 };
  const record = (more: Partial<MoveRecord> = {}): MoveRecord => ({
    from: 0,
    sinceMs: 0,
    isRolledBack: false,
    of: "wish",
    ...more,
  });
  const east = (has: ClusterCopy, more: Partial<ClusterShare> = {}) =>
    member("east", "leaving", has, { mayReturn: true, ...more });

  it("is counted from when a copy was given more, and waited for", () => {
    const members = [east(part(10)), member("west", "accepting")];
    const { records, wakeAtMs } = plan({ replicas: 10, members, budget, nowMs: 5000 });
    assert.deepEqual([...records], [["west", record({ sinceMs: 5000 })]]);
    assert.equal(wakeAtMs, 65_000);
    assert.equal(plan({ replicas: 10, members }).records.size, 0);
  });

  it("takes back what is not available, and what was taken away before returns", () => {
    const members = (west: ClusterCopy, eastern: ClusterCopy) => [
      east(eastern),
      member("west", "accepting", west),
    ];
    const late = part(10, 4, { move: record() });
    const cut = part(6, 6, { move: record({ from: 10 }) });
    const before = { replicas: 10, members: members(late, cut), budget, nowMs: 59_999 };
    assert.deepEqual(next(before), { east: 6, west: 10 });
    const after = { ...before, nowMs: 60_000 };
    assert.deepEqual(next(after), { east: 10, west: 4 });
    assert.equal(states(after)["west"], "rolledBack");
    assert.deepEqual(plan(after).records.get("west"), record({ isRolledBack: true }));
    const back = members(
      part(4, 4, { move: record({ isRolledBack: true }) }),
      part(10, 10, { move: record({ from: 10 }) }),
    );
    assert.deepEqual(next({ ...after, members: back }), { east: 10, west: 0 });
  });

  it("is not tried again before something else is asked for", () => {
    const given = (of: string) => part(0, 0, { move: record({ isRolledBack: true, of }) });
    const members = (of: string) => [east(part(10)), member("west", "accepting", given(of))];
    assert.deepEqual(next({ replicas: 10, members: members("wish"), budget }), {
      east: 10,
      west: 0,
    });
    assert.deepEqual(next({ replicas: 10, members: members("other"), budget }), {
      east: 10,
      west: 10,
    });
  });

  it("gives what was given up no more than it had, and that much again", () => {
    const given = part(3, 3, { move: record({ from: 5, isRolledBack: true }) });
    const members = [east(part(5)), member("west", "accepting", given)];
    assert.deepEqual(next({ replicas: 10, members, budget }), { east: 5, west: 5 });
  });

  it("sends what fails in one place to another that is wanted, and not back", () => {
    const late = member("west", "accepting", part(5, 0, { move: record() }));
    const members = [east(part(10)), late, member("north", "accepting", part(5))];
    assert.deepEqual(next({ replicas: 10, members, budget, nowMs: 60_000 }), {
      east: 5,
      north: 10,
      west: 0,
    });
  });

  it("leaves the copy in a cluster that is drained where it is, when nothing else succeeds", () => {
    const late = member("west", "accepting", part(10, 0, { move: record() }));
    const members = [member("east", "leaving", part(10)), late];
    const one = { replicas: 10, members, budget, nowMs: 60_000 };
    assert.deepEqual(next(one), { east: 10, west: 0 });
    assert.deepEqual(states(one), { east: "ready", west: "rolledBack" });
  });

  it("gives up nothing for a place where it is being removed", () => {
    const late = member("west", "accepting", part(10, 3, { move: record() }));
    const gone = member("east", "leaving", part(10, 0, { isGoing: true }));
    const one = { replicas: 10, members: [gone, late], budget, nowMs: 60_000 };
    assert.deepEqual(next(one), { west: 10 });
  });

  it("gives up nothing that has no other place", () => {
    const late = member("west", "accepting", part(10, 3, { move: record() }));
    const one = { replicas: 10, members: [late], budget, nowMs: 60_000 };
    assert.deepEqual(next(one), { west: 10 });
    assert.deepEqual(states(one), { west: "starting" });
    const before = part(0, 0, { move: record({ isRolledBack: true }) });
    const again = [member("west", "accepting", before), member("east", "lost", part(10))];
    const retried = plan({ ...one, members: again });
    assert.deepEqual(Object.fromEntries(retried.next), { east: 10, west: 10 });
    // And then for good: what has no other place is waited for, not given up in turns for ever.
    assert.equal(retried.records.get("west")?.isRolledBack, true);
    assert.equal(retried.wakeAtMs, undefined);
  });

  it("ends with the move: what is available is not given up later", () => {
    const done = part(10, 10, { move: record() });
    const members = [member("west", "accepting", done)];
    assert.equal(plan({ replicas: 10, members, budget, nowMs: 1000 }).records.size, 0);
    const crashed = [member("west", "accepting", part(10, 3))];
    assert.deepEqual(next({ replicas: 10, members: crashed, budget, nowMs: 99_000 }), { west: 10 });
  });
});

describe("at most one", () => {
  const budget = { isExclusive: true };
  it("breaks before it makes, and only where there is somewhere to go", () => {
    const west = member("west", "accepting");
    const going = (has: ClusterCopy) =>
      next({ replicas: 1, members: [member("east", "leaving", has), west], budget });
    assert.deepEqual(going(part(1)), { east: 0 });
    assert.deepEqual(going(part(0, 0, { running: 1 })), { east: 0 });
    assert.deepEqual(going(part(0, 0, { running: 0, isObserved: false })), { east: 0 });
    assert.deepEqual(going(part(0, 0, { running: 0 })), { east: "remove", west: 1 });
    assert.deepEqual(next({ replicas: 1, members: [member("east", "leaving", part(1))], budget }), {
      east: 1,
    });
  });

  it("replaces nothing of a lost cluster before its fence is up and its part says none", () => {
    const lost = (has: ClusterCopy, isFenced: boolean) =>
      next({
        replicas: 1,
        members: [member("east", "lost", has, { isFenced }), member("west", "accepting")],
        budget,
      });
    assert.deepEqual(lost(part(1), false), { east: 1 });
    assert.deepEqual(lost(part(1), true), { east: 0 });
    assert.deepEqual(lost(part(0, 0, { running: 1 }), false), { east: 0 });
    assert.deepEqual(lost(part(0, 0, { running: 1 }), true), { east: 0, west: 1 });
  });

  it("moves nothing for balance", () => {
    const members = [member("east", "accepting", part(4)), member("west", "accepting")];
    assert.deepEqual(next({ replicas: 4, members, budget }), { east: 4 });
  });

  it("takes nothing away for what is being removed where it was", () => {
    const going = part(1, 0, { isGoing: true });
    const back = [member("east", "accepting", going), member("west", "accepting", part(1))];
    assert.deepEqual(next({ replicas: 1, members: back, budget }), { west: 1 });
    const lost = [
      member("east", "lost", going, { isFenced: true }),
      member("west", "lost", part(1), { isFenced: false }),
    ];
    assert.deepEqual(next({ replicas: 1, members: lost, budget }), { west: 1 });
  });

  it("starts nothing while what is being removed may be started, though none of it runs", () => {
    const going = part(1, 0, { running: 0, isGoing: true });
    const step = (standing: ClusterState, has: ClusterCopy, more: Partial<ClusterShare> = {}) => {
      const members = [member("east", standing, has, more), member("west", "accepting")];
      return next({ replicas: 1, members, budget });
    };
    assert.deepEqual(step("leaving", going), {});
    assert.deepEqual(step("lost", going, { isFenced: false }), {});
    assert.deepEqual(step("leaving", { ...going, replicas: 0 }), { west: 1 });
    assert.deepEqual(step("lost", going, { isFenced: true }), { west: 1 });
    assert.deepEqual(step("gone", going), { west: 1 });
  });

  it("makes again what is being removed and nobody else has", () => {
    const going = member("east", "accepting", part(2, 0, { isGoing: true }));
    const members = [going, member("west", "accepting", part(2))];
    const { goal } = plan({ replicas: 4, members, budget });
    assert.deepEqual(Object.fromEntries(goal), { east: 2, west: 2 });
    const fewer = plan({ replicas: 3, members, budget, scaledDownBy: 1 });
    assert.deepEqual(Object.fromEntries(fewer.goal), { east: 1, west: 2 });
  });
});

const parts = fc.record({
  replicas: fc.nat(12),
  available: fc.nat(12),
  isObserved: fc.boolean(),
  isStuck: fc.boolean(),
  isGoing: fc.constant(false),
  isPinned: fc.constant(false),
  isHeld: fc.boolean(),
  running: fc.nat(12),
  move: fc.option(
    fc.record({
      from: fc.nat(12),
      sinceMs: fc.nat(100),
      isRolledBack: fc.boolean(),
      of: fc.constantFrom("wish", "other"),
    }),
    { nil: undefined },
  ),
});
const anyStanding = fc.constantFrom<ClusterState>(
  "accepting",
  "cordoned",
  "settling",
  "wavering",
  "leaving",
  "lost",
  "gone",
);
const anyMembers = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    standing: anyStanding,
    mayReturn: fc.boolean(),
    isFenced: fc.boolean(),
    part: fc.option(parts, { nil: undefined }),
  }),
  { selector: ({ name }) => name, minLength: 1 },
);
const budgets = fc.record({
  surge: fc.constantFrom(0, 1, 3, Number.POSITIVE_INFINITY),
  unavailable: fc.constantFrom(0, 1, 3),
  isPaused: fc.boolean(),
  isExclusive: fc.constant(false),
  deadlineMs: fc.constantFrom(undefined, 50),
});
const counted = new Set<ClusterState>(["accepting", "cordoned", "leaving"]);
const reported = (one: ClusterShare, replicas: number) =>
  one.part?.isObserved && counted.has(one.standing) ? Math.min(one.part.available, replicas) : 0;
const stepOf = ({ next: steps }: Plan, { name, part: has }: ClusterShare) => {
  const step = steps.get(name) ?? has?.replicas ?? 0;
  return step === "remove" ? 0 : step;
};

describe("moves on a budget, whatever the state", () => {
  it("keep available what is asked for less what the budget spares, and keep held parts whole", () => {
    fc.assert(
      fc.property(
        fc.nat(20),
        anyMembers,
        budgets,
        fc.nat(5),
        (replicas, members, budget, scaledDownBy) => {
          const found = plan({ replicas, members, budget, scaledDownBy, nowMs: 100 });
          const before = members.reduce(
            (sum, one) => sum + reported(one, one.part?.replicas ?? 0),
            0,
          );
          const after = members.reduce((sum, one) => sum + reported(one, stepOf(found, one)), 0);
          const least = Math.max(Math.min(1, replicas), replicas - budget.unavailable);
          assert.ok(after >= Math.min(before, least), `${before} to ${after} of ${replicas}`);
          for (const one of members) {
            const isHeld = one.part?.isHeld === true && one.standing !== "lost";
            if (isHeld) assert.ok(stepOf(found, one) >= (one.part?.replicas ?? 0), one.name);
            if (isHeld) assert.notEqual(found.next.get(one.name), "remove");
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("exceed what is asked for by the surge at most, but for what nobody can see", () => {
    fc.assert(
      fc.property(fc.nat(20), anyMembers, budgets, (replicas, members, budget) => {
        const found = plan({ replicas, members, budget, nowMs: 100 });
        const grown = members.some((one) => stepOf(found, one) > (one.part?.replicas ?? 0));
        if (!grown) return;
        const seen = members.filter(({ standing }) => standing !== "lost" && standing !== "gone");
        const after = seen.reduce(
          (sum, one) => sum + reported(one, Math.min(one.part?.replicas ?? 0, stepOf(found, one))),
          0,
        );
        const more = seen.reduce(
          (sum, one) => sum + Math.max(0, stepOf(found, one) - (one.part?.replicas ?? 0)),
          0,
        );
        assert.ok(
          after + more <= replicas + Math.max(budget.surge, 1) ||
            budget.surge === Number.POSITIVE_INFINITY,
        );
      }),
      { numRuns: 3000 },
    );
  });

  it("end, with nothing left to do", () => {
    fc.assert(
      fc.property(fc.nat(20), anyMembers, budgets, (replicas, list, budget) => {
        let now: readonly ClusterShare[] = list.map((one) => ({
          ...one,
          part: one.part && { ...one.part, isHeld: false },
        }));
        for (let step = 0; step < 80; step++) {
          const found = plan({
            replicas,
            members: now,
            budget: { ...budget, surge: Math.max(budget.surge, 1) },
            nowMs: 100,
          });
          const then = now.flatMap((one): readonly ClusterShare[] => {
            const wanted = found.next.get(one.name);
            if (wanted === "remove")
              return one.standing === "gone" ? [] : [{ ...one, part: undefined }];
            if (wanted === undefined) return [one];
            return [{ ...one, part: part(wanted, wanted, { move: found.records.get(one.name) }) }];
          });
          if (JSON.stringify(then) === JSON.stringify(now)) return;
          now = then;
        }
        assert.fail(`no end: ${JSON.stringify(now)}`);
      }),
      { numRuns: 2000 },
    );
  });

  it("never run more than asked for where it is to run once at most", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), anyMembers, (replicas, members) => {
        const found = plan({ replicas, members, budget: { isExclusive: true } });
        const grown = members.filter((one) => stepOf(found, one) > (one.part?.replicas ?? 0));
        if (grown.length === 0) return;
        const runs = (one: ClusterShare) => {
          if (one.part === undefined) return 0;
          const isStopped =
            one.standing === "gone" || (one.standing === "lost" && one.isFenced === true);
          return Math.max(one.part.replicas, isStopped ? 0 : (one.part.running ?? 0));
        };
        const most = members.reduce((sum, one) => sum + Math.max(runs(one), stepOf(found, one)), 0);
        assert.ok(most <= replicas, `${most} of ${replicas}`);
      }),
      { numRuns: 3000 },
    );
  });
});
