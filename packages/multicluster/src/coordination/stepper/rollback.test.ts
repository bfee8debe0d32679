/**
 * Goal: a workload that exists or not moves on when it misses its deadline, and does not circulate
 * forever. Method: the steps of a move one by one, each with the move records of the copies.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterState } from "../cluster-state.ts";
import { moveRecordOf, recordedMove } from "../placement-record.ts";
import { singleOverlapping } from "./capabilities.ts";
import {
  type ClusterCopy,
  type ClusterShare,
  type RolloutBudget,
  unlimitedBudget,
} from "./cluster-share.ts";
import type { MoveRecord } from "./move-record.ts";
import { step } from "./step.ts";

const deadlineMs = 60_000;

class Whole {
  readonly standings = new Map<string, ClusterState>();
  readonly parts = new Map<string, ClusterCopy>();
  nowMs = 0;

  constructor(states: Readonly<Record<string, ClusterState>>) {
    for (const [name, state] of Object.entries(states)) this.standings.set(name, state);
  }

  /** Runs all steps until none is left, with clusters that start nothing. */
  settle(requestHash = "wish", budget: Partial<RolloutBudget> = {}) {
    for (let round = 0; round < 20; round++) {
      const clusters = [...this.standings].map(
        ([name, state]): ClusterShare => ({ name, state, copy: this.parts.get(name) }),
      );
      const plan = step(
        {
          replicas: 1,
          clusters,
          scaledDownBy: 0,
          nowMs: this.nowMs,
          requestHash,
          budget: { ...unlimitedBudget, deadlineMs, ...budget },
        },
        singleOverlapping,
      );
      const before = JSON.stringify([...this.parts]);
      for (const [name, wanted] of plan.next) this.#carryOut(name, wanted, plan.records.get(name));
      if (JSON.stringify([...this.parts]) === before) return plan;
    }
    return assert.fail(`no end: ${JSON.stringify([...this.parts])}`);
  }

  #carryOut(name: string, wanted: number | "remove", record: MoveRecord | undefined): void {
    if (wanted === "remove") this.parts.delete(name);
    else this.parts.set(name, { ...(this.parts.get(name) ?? started), move: stored(record) });
  }

  get where(): string {
    return [...this.parts.keys()].sort().join();
  }

  make(name: string, available: number): void {
    this.parts.set(name, { ...(this.parts.get(name) ?? started), available });
  }
}

const started: ClusterCopy = {
  replicas: 1,
  available: 0,
  isObserved: true,
  isStuck: false,
  isDeleting: false,
  isUnmanaged: false,
};

/** The record as it is after a round trip through the WorkloadPlacement. */
function stored(record: MoveRecord | undefined): MoveRecord | undefined {
  const move = recordedMove(record);
  return move && moveRecordOf({ name: "", move });
}

describe("all-or-nothing workload past its deadline", () => {
  it("an all-or-nothing workload tries one cluster after the other, then stays where it was until its request changes", () => {
    const workload = new Whole({ east: "Draining", north: "Ready", west: "Ready" });
    workload.make("east", 1);
    workload.settle();
    assert.equal(workload.where, "east,north");
    workload.nowMs += deadlineMs;
    workload.settle();
    assert.equal(workload.where, "east,west");
    workload.nowMs += deadlineMs;
    const { states } = workload.settle();
    assert.equal(workload.where, "east");
    assert.deepEqual(Object.fromEntries(states), {
      east: "ready",
      north: "rolledBack",
      west: "rolledBack",
    });
    workload.nowMs += 10 * deadlineMs;
    workload.settle();
    assert.equal(workload.where, "east");
    workload.settle("another wish");
    assert.equal(workload.where, "east,north");
  });

  it("an all-or-nothing workload waits in the last feasible cluster when its own is Unreachable", () => {
    const workload = new Whole({ east: "Unreachable", north: "Ready", west: "Ready" });
    workload.make("east", 1);
    workload.settle();
    for (const there of ["east,west", "east,west", "east,west"]) {
      workload.nowMs += deadlineMs;
      workload.settle();
      assert.equal(workload.where, there);
    }
  });

  it("an all-or-nothing workload clears its failures when it is stable, so that it may use these clusters the next time", () => {
    const workload = new Whole({ east: "Draining", north: "Ready", west: "Ready" });
    workload.make("east", 1);
    workload.settle();
    workload.nowMs += deadlineMs;
    workload.settle();
    assert.deepEqual(workload.parts.get("west")?.move?.failedIn, ["north"]);
    workload.make("west", 1);
    workload.settle();
    assert.equal(workload.where, "west");
    assert.equal(workload.parts.get("west")?.move, undefined);
    workload.standings.set("west", "Draining");
    workload.settle();
    assert.equal(workload.where, "north,west");
  });

  it("an all-or-nothing workload records a failure while the copy that was rolled back is being removed", () => {
    const workload = new Whole({ east: "Draining", north: "Ready" });
    workload.make("east", 1);
    workload.settle();
    workload.nowMs += deadlineMs;
    const late = workload.parts.get("north") ?? assert.fail();
    workload.settle();
    workload.parts.set("north", { ...late, isDeleting: true });
    workload.settle();
    workload.parts.delete("north");
    workload.settle();
    assert.equal(workload.where, "east");
  });

  it("an all-or-nothing workload waits when the deadline is removed", () => {
    const workload = new Whole({ east: "Draining", north: "Ready" });
    workload.make("east", 1);
    workload.settle();
    workload.nowMs += deadlineMs;
    workload.settle();
    workload.settle("wish", { deadlineMs: undefined });
    assert.equal(workload.where, "east,north");
  });
});
