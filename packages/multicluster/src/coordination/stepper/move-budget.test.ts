import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ClusterState } from "../cluster-state.ts";
import { PlacementError } from "../placement-error.ts";
import { budgetOf, failoverOf, rolloutOf } from "../rollout-policy.ts";
import { dividedReplicas } from "./capabilities.ts";
import {
  type ClusterCopy,
  type ClusterShare,
  type RolloutBudget,
  unlimitedBudget,
} from "./cluster-share.ts";
import type { MoveRecord } from "./move-record.ts";
import type { Plan } from "./plan.ts";
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
  running: replicas,
  ...more,
});
const share = (
  name: string,
  state: ClusterState,
  has?: ClusterCopy,
  more: Partial<ClusterShare> = {},
): ClusterShare => ({ name, state, copy: has, ...more });

interface Case {
  readonly replicas: number;
  readonly members: readonly ClusterShare[];
  readonly budget?: Partial<RolloutBudget>;
  readonly scaledDownBy?: number;
  readonly nowMs?: number;
}

function plan({ replicas, members, budget, scaledDownBy = 0, nowMs = 0 }: Case): Plan {
  const full = { ...unlimitedBudget, ...budget };
  return step(
    { replicas, clusters: members, scaledDownBy, budget: full, nowMs, requestHash: "wish" },
    dividedReplicas,
  );
}
const next = (one: Case) => Object.fromEntries(plan(one).next);
const states = (one: Case) => Object.fromEntries(plan(one).states);

describe("rolling update limits of moves", () => {
  it("maxSurge limits the replicas that start, and the next start when these have replaced others", () => {
    const step = (west: ClusterCopy | undefined, east: number) =>
      next({
        replicas: 10,
        members: [share("east", "Draining", copy(east)), share("west", "Ready", west)],
        budget: { surge: 2 },
      });
    assert.deepEqual(step(undefined, 10), { east: 10, west: 2 });
    assert.deepEqual(step(copy(2, 1), 10), { east: 9, west: 2 });
    assert.deepEqual(step(copy(2), 10), { east: 8, west: 2 });
    assert.deepEqual(step(copy(2), 8), { east: 8, west: 4 });
  });

  it("a single replica moves without maxSurge: its replacement starts first", () => {
    const surge = (replicas: number) =>
      budgetOf({ maxSurge: 0, maxUnavailable: 1 }, {}, replicas).surge;
    assert.deepEqual([surge(1), surge(2)], [1, 0]);
  });

  it("missing replicas are replaced immediately, whatever maxSurge is", () => {
    const members = [share("east", "Unreachable", copy(6)), share("west", "Ready", copy(4))];
    assert.deepEqual(next({ replicas: 10, members, budget: { surge: 1 } }), {
      east: 6,
      west: 10 + 1 - 1,
    });
  });

  it("broken replicas do not use up maxSurge", () => {
    const members = [share("east", "Draining", copy(10, 0)), share("west", "Ready", copy(2))];
    assert.deepEqual(next({ replicas: 10, members, budget: { surge: 2 } }), { east: 10, west: 10 });
  });

  it("replicas stop before their replacement within maxUnavailable, and never the last one", () => {
    const shares = (replicas: number) => [
      share("east", "Draining", copy(replicas)),
      share("west", "Ready"),
    ];
    const budget = { surge: 0, unavailable: 3 };
    assert.deepEqual(next({ replicas: 10, members: shares(10), budget }), { east: 7 });
    assert.deepEqual(next({ replicas: 1, members: shares(1), budget: { ...budget, surge: 1 } }), {
      east: 1,
      west: 1,
    });
    const nowhere = [share("east", "Draining", copy(10))];
    assert.deepEqual(next({ replicas: 10, members: nowhere, budget }), { east: 10 });
    assert.deepEqual(states({ replicas: 10, members: nowhere, budget }), { east: "blocked" });
  });

  it("a paused workload makes only required moves", () => {
    const budget = { isPaused: true };
    const members = [share("east", "Draining", copy(10)), share("west", "Ready", copy(3))];
    assert.deepEqual(next({ replicas: 10, members, budget }), { east: 10, west: 3 });
    const unlucky = [share("east", "Unreachable", copy(10)), share("west", "Ready", copy(3))];
    assert.deepEqual(next({ replicas: 10, members: unlucky, budget }), { east: 10, west: 10 });
    assert.deepEqual(next({ replicas: 15, members, budget }), { east: 10, west: 5 });
    assert.deepEqual(next({ replicas: 8, members, budget, scaledDownBy: 2 }), { east: 5, west: 3 });
  });

  it("limits are read from annotations before the policy, as numbers and percentages", () => {
    const annotations = {
      "workload.kcp.io/max-surge": "25%",
      "workload.kcp.io/max-unavailable": "1",
      "workload.kcp.io/progress-deadline-seconds": "600",
    };
    const rollout = rolloutOf(annotations, { maxSurge: 7, paused: true });
    assert.deepEqual(budgetOf(rollout, {}, 10), {
      surge: 3,
      unavailable: 1,
      isPaused: true,
      isStopBeforeStart: false,
      deadlineMs: undefined,
    });
    assert.equal(budgetOf({ ...rollout, paused: false }, {}, 10).deadlineMs, 600_000);
    assert.deepEqual(budgetOf({}, {}, 10), unlimitedBudget);
    assert.equal(budgetOf({ maxSurge: 0, maxUnavailable: "9%" }, {}, 10).surge, 1);
    assert.equal(
      budgetOf({ progressDeadlineSeconds: 5, rollback: false }, {}, 1).deadlineMs,
      undefined,
    );
    const failover = { "workload.kcp.io/toleration-seconds": "5" };
    assert.deepEqual(failoverOf(failover, { tolerationSeconds: 9, strategy: "StopBeforeStart" }), {
      tolerationSeconds: 5,
      strategy: "StopBeforeStart",
    });
    for (const [name, text] of [
      ["max-surge", "-1"],
      ["max-unavailable", "1.5"],
      ["paused", "yes"],
      ["progress-deadline-seconds", "10m"],
    ]) {
      const wrong = { [`workload.kcp.io/${name}`]: text ?? "" };
      assert.throws(() => rolloutOf(wrong), PlacementError, text);
    }
  });
});

describe("soft finalizers", () => {
  it("soft finalizers block the disruption of a copy until they are removed, and do not block other copies from starting", () => {
    const shares = (isDisruptionBlocked: boolean) => [
      share("east", "Draining", copy(10, 10, { isDisruptionBlocked })),
      share("west", "Ready", copy(10)),
    ];
    const held = { replicas: 10, members: shares(true) };
    assert.deepEqual(next(held), { east: 10, west: 10 });
    assert.deepEqual(states(held), { east: "disruptionBlocked", west: "ready" });
    assert.deepEqual(next({ replicas: 10, members: shares(false) }), { east: "remove", west: 10 });
    const empty = [
      share("east", "Draining", copy(0, 0, { isDisruptionBlocked: true })),
      share("west", "Ready", copy(10)),
    ];
    assert.deepEqual(next({ replicas: 10, members: empty }), { east: 0, west: 10 });
    const starting = [
      share("east", "Draining", copy(10, 10, { isDisruptionBlocked: true })),
      share("west", "Ready"),
    ];
    assert.deepEqual(next({ replicas: 10, members: starting }), { east: 10, west: 10 });
  });
});

describe("progress deadline of moves", () => {
  const budget = { deadlineMs: 60_000 };
  const record = (more: Partial<MoveRecord> = {}): MoveRecord => ({
    from: 0,
    sinceMs: 0,
    isRolledBack: false,
    request: "wish",
    ...more,
  });
  const east = (has: ClusterCopy, more: Partial<ClusterShare> = {}) =>
    share("east", "Draining", has, { mayMoveBack: true, ...more });

  it("the deadline counts from the last scale-up of a copy, and requeues the workload", () => {
    const members = [east(copy(10)), share("west", "Ready")];
    const { records, requeueAtMs } = plan({ replicas: 10, members, budget, nowMs: 5000 });
    assert.deepEqual([...records], [["west", record({ sinceMs: 5000 })]]);
    assert.equal(requeueAtMs, 65_000);
    assert.equal(plan({ replicas: 10, members }).records.size, 0);
  });

  it("unavailable replicas are rolled back after the deadline, and removed replicas return", () => {
    const shares = (west: ClusterCopy, eastern: ClusterCopy) => [
      east(eastern),
      share("west", "Ready", west),
    ];
    const late = copy(10, 4, { move: record() });
    const cut = copy(6, 6, { move: record({ from: 10 }) });
    const before = { replicas: 10, members: shares(late, cut), budget, nowMs: 59_999 };
    assert.deepEqual(next(before), { east: 6, west: 10 });
    const after = { ...before, nowMs: 60_000 };
    assert.deepEqual(next(after), { east: 10, west: 4 });
    assert.equal(states(after)["west"], "rolledBack");
    assert.deepEqual(plan(after).records.get("west"), record({ isRolledBack: true }));
    const back = shares(
      copy(4, 4, { move: record({ isRolledBack: true }) }),
      copy(10, 10, { move: record({ from: 10 }) }),
    );
    assert.deepEqual(next({ ...after, members: back }), { east: 10, west: 0 });
  });

  it("a move that was rolled back is not retried before the request changes", () => {
    const given = (request: string) =>
      copy(0, 0, { move: record({ isRolledBack: true, request }) });
    const shares = (request: string) => [east(copy(10)), share("west", "Ready", given(request))];
    assert.deepEqual(next({ replicas: 10, members: shares("wish"), budget }), {
      east: 10,
      west: 0,
    });
    assert.deepEqual(next({ replicas: 10, members: shares("other"), budget }), {
      east: 10,
      west: 10,
    });
  });

  it("a copy that was rolled back gets the replicas from before the move, and no more", () => {
    const given = copy(3, 3, { move: record({ from: 5, isRolledBack: true }) });
    const members = [east(copy(5)), share("west", "Ready", given)];
    assert.deepEqual(next({ replicas: 10, members, budget }), { east: 5, west: 5 });
  });

  it("replicas that fail in one cluster move to another desired cluster, and not back", () => {
    const late = share("west", "Ready", copy(5, 0, { move: record() }));
    const members = [east(copy(10)), late, share("north", "Ready", copy(5))];
    assert.deepEqual(next({ replicas: 10, members, budget, nowMs: 60_000 }), {
      east: 5,
      north: 10,
      west: 0,
    });
  });

  it("the copy in a Draining cluster stays when no other cluster succeeds", () => {
    const late = share("west", "Ready", copy(10, 0, { move: record() }));
    const members = [share("east", "Draining", copy(10)), late];
    const one = { replicas: 10, members, budget, nowMs: 60_000 };
    assert.deepEqual(next(one), { east: 10, west: 0 });
    assert.deepEqual(states(one), { east: "ready", west: "rolledBack" });
  });

  it("no move is rolled back to a cluster whose copy is being removed", () => {
    const late = share("west", "Ready", copy(10, 3, { move: record() }));
    const gone = share("east", "Draining", copy(10, 0, { isDeleting: true }));
    const one = { replicas: 10, members: [gone, late], budget, nowMs: 60_000 };
    assert.deepEqual(next(one), { west: 10 });
  });

  it("no move is rolled back without another feasible cluster", () => {
    const late = share("west", "Ready", copy(10, 3, { move: record() }));
    const one = { replicas: 10, members: [late], budget, nowMs: 60_000 };
    assert.deepEqual(next(one), { west: 10 });
    assert.deepEqual(states(one), { west: "starting" });
    const before = copy(0, 0, { move: record({ isRolledBack: true }) });
    const again = [share("west", "Ready", before), share("east", "Unreachable", copy(10))];
    const retried = plan({ ...one, members: again });
    assert.deepEqual(Object.fromEntries(retried.next), { east: 10, west: 10 });
    // The failed replicas stay for good: replicas without another feasible cluster wait, and are
    // not rolled back in turns forever.
    assert.equal(retried.records.get("west")?.isRolledBack, true);
    assert.equal(retried.requeueAtMs, undefined);
  });

  it("the deadline ends with the move: available replicas are not rolled back later", () => {
    const done = copy(10, 10, { move: record() });
    const members = [share("west", "Ready", done)];
    assert.equal(plan({ replicas: 10, members, budget, nowMs: 1000 }).records.size, 0);
    const crashed = [share("west", "Ready", copy(10, 3))];
    assert.deepEqual(next({ replicas: 10, members: crashed, budget, nowMs: 99_000 }), { west: 10 });
  });
});

describe("StopBeforeStart", () => {
  const budget = { isStopBeforeStart: true };
  it("a StopBeforeStart move stops the old replica first, and only if a feasible cluster exists", () => {
    const west = share("west", "Ready");
    const going = (has: ClusterCopy) =>
      next({ replicas: 1, members: [share("east", "Draining", has), west], budget });
    assert.deepEqual(going(copy(1)), { east: 0 });
    assert.deepEqual(going(copy(0, 0, { running: 1 })), { east: 0 });
    assert.deepEqual(going(copy(0, 0, { running: 0, isObserved: false })), { east: 0 });
    assert.deepEqual(going(copy(0, 0, { running: 0 })), { east: "remove", west: 1 });
    assert.deepEqual(next({ replicas: 1, members: [share("east", "Draining", copy(1))], budget }), {
      east: 1,
    });
  });

  it("replicas of an Unreachable cluster are replaced only after fencing, when its copy says 0 replicas", () => {
    const unreachable = (has: ClusterCopy, isFenced: boolean) =>
      next({
        replicas: 1,
        members: [share("east", "Unreachable", has, { isFenced }), share("west", "Ready")],
        budget,
      });
    assert.deepEqual(unreachable(copy(1), false), { east: 1 });
    assert.deepEqual(unreachable(copy(1), true), { east: 0 });
    assert.deepEqual(unreachable(copy(0, 0, { running: 1 }), false), { east: 0 });
    assert.deepEqual(unreachable(copy(0, 0, { running: 1 }), true), { east: 0, west: 1 });
  });

  it("a StopBeforeStart workload does not move for balance", () => {
    const members = [share("east", "Ready", copy(4)), share("west", "Ready")];
    assert.deepEqual(next({ replicas: 4, members, budget }), { east: 4 });
  });

  it("no replica stops for a copy that is being removed in its former cluster", () => {
    const going = copy(1, 0, { isDeleting: true });
    const back = [share("east", "Ready", going), share("west", "Ready", copy(1))];
    assert.deepEqual(next({ replicas: 1, members: back, budget }), { west: 1 });
    const unreachable = [
      share("east", "Unreachable", going, { isFenced: true }),
      share("west", "Unreachable", copy(1), { isFenced: false }),
    ];
    assert.deepEqual(next({ replicas: 1, members: unreachable, budget }), { west: 1 });
  });

  it("no replica starts while a copy that is being removed may start, though none of its replicas runs", () => {
    const going = copy(1, 0, { running: 0, isDeleting: true });
    const step = (state: ClusterState, has: ClusterCopy, more: Partial<ClusterShare> = {}) => {
      const members = [share("east", state, has, more), share("west", "Ready")];
      return next({ replicas: 1, members, budget });
    };
    assert.deepEqual(step("Draining", going), {});
    assert.deepEqual(step("Unreachable", going, { isFenced: false }), {});
    assert.deepEqual(step("Draining", { ...going, replicas: 0 }), { west: 1 });
    assert.deepEqual(step("Unreachable", going, { isFenced: true }), { west: 1 });
    assert.deepEqual(step("Unregistered", going), { west: 1 });
  });

  it("a copy that is being removed is created again when no other cluster has its replicas", () => {
    const going = share("east", "Ready", copy(2, 0, { isDeleting: true }));
    const members = [going, share("west", "Ready", copy(2))];
    const { goal } = plan({ replicas: 4, members, budget });
    assert.deepEqual(Object.fromEntries(goal), { east: 2, west: 2 });
    const fewer = plan({ replicas: 3, members, budget, scaledDownBy: 1 });
    assert.deepEqual(Object.fromEntries(fewer.goal), { east: 1, west: 2 });
  });
});

const copies = fc.record({
  replicas: fc.nat(12),
  available: fc.nat(12),
  isObserved: fc.boolean(),
  isStuck: fc.boolean(),
  isDeleting: fc.constant(false),
  isUnmanaged: fc.constant(false),
  isDisruptionBlocked: fc.boolean(),
  running: fc.nat(12),
  move: fc.option(
    fc.record({
      from: fc.nat(12),
      sinceMs: fc.nat(100),
      isRolledBack: fc.boolean(),
      request: fc.constantFrom("wish", "other"),
    }),
    { nil: undefined },
  ),
});
const anyStanding = fc.constantFrom<ClusterState>(
  "Ready",
  "Cordoned",
  "Recovering",
  "NotReady",
  "Draining",
  "Unreachable",
  "Unregistered",
);
const anyMembers = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    state: anyStanding,
    mayMoveBack: fc.boolean(),
    isFenced: fc.boolean(),
    copy: fc.option(copies, { nil: undefined }),
  }),
  { selector: ({ name }) => name, minLength: 1 },
);
const budgets = fc.record({
  surge: fc.constantFrom(0, 1, 3, Number.POSITIVE_INFINITY),
  unavailable: fc.constantFrom(0, 1, 3),
  isPaused: fc.boolean(),
  isStopBeforeStart: fc.constant(false),
  deadlineMs: fc.constantFrom(undefined, 50),
});
const counted = new Set<ClusterState>(["Ready", "Cordoned", "Draining"]);
const reported = (one: ClusterShare, replicas: number) =>
  one.copy?.isObserved && counted.has(one.state) ? Math.min(one.copy.available, replicas) : 0;
const stepOf = ({ next: steps }: Plan, { name, copy: has }: ClusterShare) => {
  const step = steps.get(name) ?? has?.replicas ?? 0;
  return step === "remove" ? 0 : step;
};

describe("moves within limits from random states", () => {
  it("the requested replicas less maxUnavailable stay available, and blocked copies stay complete", () => {
    fc.assert(
      fc.property(
        fc.nat(20),
        anyMembers,
        budgets,
        fc.nat(5),
        (replicas, members, budget, scaledDownBy) => {
          const found = plan({ replicas, members, budget, scaledDownBy, nowMs: 100 });
          const before = members.reduce(
            (sum, one) => sum + reported(one, one.copy?.replicas ?? 0),
            0,
          );
          const after = members.reduce((sum, one) => sum + reported(one, stepOf(found, one)), 0);
          const least = Math.max(Math.min(1, replicas), replicas - budget.unavailable);
          assert.ok(after >= Math.min(before, least), `${before} to ${after} of ${replicas}`);
          for (const one of members) {
            const isDisruptionBlocked =
              one.copy?.isDisruptionBlocked === true && one.state !== "Unreachable";
            if (isDisruptionBlocked)
              assert.ok(stepOf(found, one) >= (one.copy?.replicas ?? 0), one.name);
            if (isDisruptionBlocked) assert.notEqual(found.next.get(one.name), "remove");
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("replicas exceed the requested number by maxSurge at most, except in Unreachable clusters", () => {
    fc.assert(
      fc.property(fc.nat(20), anyMembers, budgets, (replicas, members, budget) => {
        const found = plan({ replicas, members, budget, nowMs: 100 });
        const grown = members.some((one) => stepOf(found, one) > (one.copy?.replicas ?? 0));
        if (!grown) return;
        const observed = members.filter(
          ({ state }) => state !== "Unreachable" && state !== "Unregistered",
        );
        const after = observed.reduce(
          (sum, one) => sum + reported(one, Math.min(one.copy?.replicas ?? 0, stepOf(found, one))),
          0,
        );
        const more = observed.reduce(
          (sum, one) => sum + Math.max(0, stepOf(found, one) - (one.copy?.replicas ?? 0)),
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

  it("repeated steps of a plan within limits end without another step to take", () => {
    fc.assert(
      fc.property(fc.nat(20), anyMembers, budgets, (replicas, list, budget) => {
        let now: readonly ClusterShare[] = list.map((one) => ({
          ...one,
          copy: one.copy && { ...one.copy, isDisruptionBlocked: false },
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
              return one.state === "Unregistered" ? [] : [{ ...one, copy: undefined }];
            if (wanted === undefined) return [one];
            return [{ ...one, copy: copy(wanted, wanted, { move: found.records.get(one.name) }) }];
          });
          if (JSON.stringify(then) === JSON.stringify(now)) return;
          now = then;
        }
        assert.fail(`no end: ${JSON.stringify(now)}`);
      }),
      { numRuns: 2000 },
    );
  });

  it("a StopBeforeStart workload never runs more replicas than requested", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), anyMembers, (replicas, members) => {
        const found = plan({ replicas, members, budget: { isStopBeforeStart: true } });
        const grown = members.filter((one) => stepOf(found, one) > (one.copy?.replicas ?? 0));
        if (grown.length === 0) return;
        const runs = (one: ClusterShare) => {
          if (one.copy === undefined) return 0;
          const isStopped =
            one.state === "Unregistered" || (one.state === "Unreachable" && one.isFenced === true);
          return Math.max(one.copy.replicas, isStopped ? 0 : (one.copy.running ?? 0));
        };
        const most = members.reduce((sum, one) => sum + Math.max(runs(one), stepOf(found, one)), 0);
        assert.ok(most <= replicas, `${most} of ${replicas}`);
      }),
      { numRuns: 3000 },
    );
  });
});
