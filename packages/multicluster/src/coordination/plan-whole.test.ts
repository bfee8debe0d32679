/** Goal: what is there or not goes elsewhere when it is late, and is not sent round for ever. Method: the steps of a move one by one, each with what the parts remember. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ClusterCopy,
  type ClusterShare,
  type RolloutBudget,
  unlimitedBudget,
} from "./members.ts";
import {
  formatMoveRecord,
  type MoveRecord,
  moveAnnotation,
  readMoveRecord,
} from "./move-record.ts";
import { planIndivisible } from "./plan-whole.ts";
import type { ClusterState } from "./standing.ts";

const deadlineMs = 60_000;

class Whole {
  readonly standings = new Map<string, ClusterState>();
  readonly parts = new Map<string, ClusterCopy>();
  nowMs = 0;

  constructor(standings: Readonly<Record<string, ClusterState>>) {
    for (const [name, standing] of Object.entries(standings)) this.standings.set(name, standing);
  }

  /** All steps until there are no more, as clusters carry them out that start nothing. */
  settle(of = "wish", budget: Partial<RolloutBudget> = {}) {
    for (let step = 0; step < 20; step++) {
      const members = [...this.standings].map(
        ([name, standing]): ClusterShare => ({ name, standing, part: this.parts.get(name) }),
      );
      const plan = planIndivisible({
        ...{ replicas: 1, members, scaledDownBy: 0, nowMs: this.nowMs, of },
        budget: { ...unlimitedBudget, deadlineMs, ...budget },
      });
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
  isGoing: false,
  isPinned: false,
};

/** As it is read again. */
function stored(record: MoveRecord | undefined): MoveRecord | undefined {
  return record && readMoveRecord({ [moveAnnotation]: formatMoveRecord(record) });
}

describe("what is there or not, and late", () => {
  it("goes to one cluster after the other, then stays where it was until something else is asked for", () => {
    const whole = new Whole({ east: "leaving", north: "accepting", west: "accepting" });
    whole.make("east", 1);
    whole.settle();
    assert.equal(whole.where, "east,north");
    whole.nowMs += deadlineMs;
    whole.settle();
    assert.equal(whole.where, "east,west");
    whole.nowMs += deadlineMs;
    const { states } = whole.settle();
    assert.equal(whole.where, "east");
    assert.deepEqual(Object.fromEntries(states), {
      east: "ready",
      north: "rolledBack",
      west: "rolledBack",
    });
    whole.nowMs += 10 * deadlineMs;
    whole.settle();
    assert.equal(whole.where, "east");
    whole.settle("another wish");
    assert.equal(whole.where, "east,north");
  });

  it("is waited for in the last cluster that is left, when its own is lost", () => {
    const whole = new Whole({ east: "lost", north: "accepting", west: "accepting" });
    whole.make("east", 1);
    whole.settle();
    for (const there of ["east,west", "east,west", "east,west"]) {
      whole.nowMs += deadlineMs;
      whole.settle();
      assert.equal(whole.where, there);
    }
  });

  it("forgets what failed when it is where it may stay, so that it may go there the next time", () => {
    const whole = new Whole({ east: "leaving", north: "accepting", west: "accepting" });
    whole.make("east", 1);
    whole.settle();
    whole.nowMs += deadlineMs;
    whole.settle();
    assert.deepEqual(whole.parts.get("west")?.move?.failedIn, ["north"]);
    whole.make("west", 1);
    whole.settle();
    assert.equal(whole.where, "west");
    assert.equal(whole.parts.get("west")?.move, undefined);
    whole.standings.set("west", "leaving");
    whole.settle();
    assert.equal(whole.where, "north,west");
  });

  it("remembers it while what was given up is still being removed", () => {
    const whole = new Whole({ east: "leaving", north: "accepting" });
    whole.make("east", 1);
    whole.settle();
    whole.nowMs += deadlineMs;
    const late = whole.parts.get("north") ?? assert.fail();
    whole.settle();
    whole.parts.set("north", { ...late, isGoing: true });
    whole.settle();
    whole.parts.delete("north");
    whole.settle();
    assert.equal(whole.where, "east");
  });

  it("is waited for where there is no deadline any more", () => {
    const whole = new Whole({ east: "leaving", north: "accepting" });
    whole.make("east", 1);
    whole.settle();
    whole.nowMs += deadlineMs;
    whole.settle();
    whole.settle("wish", { deadlineMs: undefined });
    assert.equal(whole.where, "east,north");
  });
});
