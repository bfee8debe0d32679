/**
 * Goal: also for kinds without a replica budget, no step removes anything from a copy whose
 * disruption is blocked or while moves are paused, and no copy scales in a state that does not
 * permit it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  copyEverywhere,
  dividedOrdinals,
  type StepCapabilities,
  singleRunningOnce,
  singleSchedule,
} from "./capabilities.ts";
import { type ClusterShare, type PlanInput, unlimitedBudget } from "./cluster-share.ts";
import { mayGrow, mayShrink } from "./move-machine.ts";
import type { Plan } from "./plan.ts";
import { step } from "./step.ts";

const rows: Readonly<Record<string, StepCapabilities>> = {
  ordinal: dividedOrdinals,
  duplicate: copyEverywhere,
  schedule: singleSchedule,
  once: singleRunningOnce,
};
const planners: Readonly<Record<string, (input: PlanInput) => Plan>> = Object.fromEntries(
  Object.entries(rows).map(([kind, row]) => [kind, (input: PlanInput) => step(input, row)]),
);

const clusterStates = [
  "Ready",
  "Cordoned",
  "Recovering",
  "NotReady",
  "Draining",
  "Unreachable",
  "Unregistered",
] as const;

function anyMembers(random: SeededRandom, kind: string): readonly ClusterShare[] {
  let start = 0;
  return ["a", "b", "c"].map((name): ClusterShare => {
    const state = random.pick(clusterStates);
    if (random.chance(0.3)) return { name, state };
    const mayRest = kind === "schedule" && random.chance(0.1);
    const replicas = kind === "ordinal" ? random.integer(3) : mayRest ? 0 : 1;
    const available = random.integer(replicas + 1);
    const copy = {
      replicas,
      available,
      start,
      running: available,
      isObserved: random.chance(0.8),
      isStuck: false,
      isDeleting: random.chance(0.1),
      isUnmanaged: false,
      isDisruptionBlocked: random.chance(0.3),
    };
    start += replicas;
    return { name, state, copy };
  });
}

describe("plans without a replica budget", () => {
  for (const [kind, planIt] of Object.entries(planners)) {
    it(`${kind}: blocked disruption and paused moves remove nothing, and every step is permitted by its state`, () => {
      for (let seed = 0; seed < 2000; seed++) {
        const random = new SeededRandom(seed);
        const members = anyMembers(random, kind);
        const replicas = kind === "ordinal" ? random.integer(6) : 1;
        const isPaused = random.chance(0.3);
        const budget = { ...unlimitedBudget, isPaused };
        const { next, starts, states } = planIt({
          replicas,
          clusters: members,
          scaledDownBy: 0,
          budget,
        });
        for (const { name, state: clusterState, copy } of members) {
          const told = `seed ${seed}, ${name}: ${JSON.stringify({ members, next: [...next] })}`;
          const state = states.get(name) ?? assert.fail(told);
          const has = copy?.replicas ?? 0;
          const wanted = next.get(name);
          const isLess = copy !== undefined && (wanted === "remove" || (wanted ?? has) < has);
          const isMore = typeof wanted === "number" && wanted > has;
          assert.ok(!isLess || mayShrink[state], `${state} gives up; ${told}`);
          assert.ok(!isMore || mayGrow[state], `${state} gets more; ${told}`);
          if (copy?.isDisruptionBlocked === true) {
            assert.ok(!isLess, `held; ${told}`);
            if (state === "disruptionBlocked")
              assert.equal(starts?.get(name) ?? copy.start, copy.start, told);
          }
          const isAsked =
            kind === "duplicate" || (kind === "ordinal" && sizeOf(members) <= replicas);
          const isKept =
            isPaused && clusterState === "Draining" && isAsked && copy?.isDeleting !== true;
          assert.ok(!isKept || !isLess, `paused; ${told}`);
        }
      }
    });
  }

  const part = { replicas: 1, available: 1, running: 1, start: 0, isObserved: true };
  const still = { isStuck: false, isDeleting: false, isUnmanaged: false };
  /**
   * A duplicated workload has an available copy in the other cluster: otherwise the last copy would
   * stay for that reason alone.
   */
  const leaving = (kind: string, isDisruptionBlocked: boolean): readonly ClusterShare[] => [
    { name: "a", state: "Draining", copy: { ...part, ...still, isDisruptionBlocked } },
    { name: "b", state: "Ready", ...(kind === "duplicate" ? { copy: { ...part, ...still } } : {}) },
  ];
  const input = { replicas: 1, scaledDownBy: 0 };

  for (const kind of ["ordinal", "duplicate", "schedule"]) {
    const planIt = planners[kind] ?? assert.fail();
    it(`${kind}: a copy whose disruption is blocked stays until it is unblocked, and a paused copy stays`, () => {
      const held = planIt({ ...input, clusters: leaving(kind, true) });
      assert.deepEqual([held.next.get("a"), held.states.get("a")], [1, "disruptionBlocked"]);
      const free = planIt({ ...input, clusters: leaving(kind, false) });
      assert.notEqual(free.next.get("a"), 1);
      assert.equal(free.states.get("a"), "draining");
      const budget = { ...unlimitedBudget, isPaused: true };
      const paused = planIt({ ...input, clusters: leaving(kind, false), budget });
      assert.deepEqual([paused.next.get("a"), paused.states.get("a")], [1, "ready"]);
    });
  }
});

function sizeOf(shares: readonly ClusterShare[]): number {
  return shares.reduce((sum, { copy }) => sum + (copy?.replicas ?? 0), 0);
}
