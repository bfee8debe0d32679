import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type DrainedObject, type DrainInput, drainStep } from "./drain-step.ts";

const startMs = Date.UTC(2026, 0, 1);
const web = (name: string, replicas = 2, more: Partial<DrainedObject> = {}): DrainedObject => ({
  kind: "Deployment",
  namespace: "demo",
  name,
  replicas,
  isMarked: false,
  block: undefined,
  ...more,
});
const step = (more: Partial<DrainInput>) =>
  drainStep({
    target: "east",
    spec: {},
    known: undefined,
    occupants: [],
    leftover: undefined,
    wasDrained: false,
    nowMs: startMs,
    ...more,
  });
const names = (occupants: readonly DrainedObject[]) => occupants.map(({ name }) => name);

describe("a drain", () => {
  it("gives turns in the order of names, as many as the budget allows", () => {
    const occupants = [web("c"), web("a"), web("b")];
    assert.deepEqual(names(step({ occupants }).toMark), []);
    const turns = (budget: object, list = occupants) =>
      names(step({ spec: { budget }, occupants: list }).toMark);
    assert.deepEqual(turns({ workloads: 2 }), ["a", "b"]);
    assert.deepEqual(turns({ replicas: 3 }), ["a"]);
    assert.deepEqual(turns({ replicas: 1 }), ["a"]);
    assert.deepEqual(turns({ workloads: 1 }, [web("a", 2, { isMarked: true }), web("b")]), []);
  });

  it("does not let what is blocked keep others from leaving", () => {
    const block = { reason: "Paused", message: "moves are paused" };
    const occupants = [web("a", 2, { isMarked: true, block }), web("b")];
    const { toMark, status, condition } = step({ spec: { budget: { workloads: 1 } }, occupants });
    assert.deepEqual(names(toMark), ["b"]);
    assert.deepEqual(status.blocked, [
      { kind: "Deployment", namespace: "demo", name: "a", ...block },
    ]);
    assert.equal(condition.reason, "Draining");
    assert.equal(step({ occupants: occupants.slice(0, 1) }).condition.reason, "Blocked");
  });

  it("counts from the most there were, and estimates the end by the pace", () => {
    const started = step({ occupants: [web("a"), web("b"), web("c"), web("d")] });
    assert.deepEqual(started.status, {
      startedAt: "2026-01-01T00:00:00Z",
      total: 4,
      moved: 0,
      remaining: 4,
      remainingReplicas: 8,
    });
    assert.deepEqual(
      started.happenings.map(({ reason }) => reason),
      ["DrainStarted"],
    );
    const later = { known: started.status, occupants: [web("d")], nowMs: startMs + 60_000 };
    const { status } = step(later);
    assert.equal(status.moved, 3);
    assert.equal(status.estimatedEnd, "2026-01-01T00:01:20Z");
    const waiting = step({ ...later, known: status, nowMs: startMs + 70_000 });
    assert.deepEqual(waiting.status, status);
    assert.deepEqual(waiting.happenings, []);
  });

  it("is over when nothing is assigned and nothing is left in the cluster, and says so once", () => {
    const leftover = step({ leftover: "Deployment demo/a" });
    assert.equal(leftover.isDrained, false);
    assert.match(leftover.condition.message ?? "", /^Deployment demo\/a is still/);
    const { isDrained, condition, happenings } = step({ known: leftover.status });
    assert.ok(isDrained);
    assert.equal(condition.status, "True");
    assert.deepEqual(
      happenings.map(({ reason }) => reason),
      ["Drained"],
    );
    assert.deepEqual(step({ known: leftover.status, wasDrained: true }).happenings, []);
  });

  it("is called late at its deadline, and not before", () => {
    const at = (seconds: number) =>
      step({
        spec: { deadlineSeconds: 60 },
        known: step({ occupants: [web("a")] }).status,
        occupants: [web("a")],
        nowMs: startMs + seconds * 1000,
      }).condition.reason;
    assert.equal(at(59), "Draining");
    assert.equal(at(60), "DeadlineExceeded");
  });

  it("never has more under way than the budget, but one that is larger", () => {
    const occupants = fc.uniqueArray(
      fc.record({
        name: fc.string({ minLength: 1, maxLength: 3 }),
        replicas: fc.nat(9),
        isMarked: fc.boolean(),
      }),
      { selector: ({ name }) => name },
    );
    fc.assert(
      fc.property(
        occupants,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 9 }),
        (list, workloads, replicas) => {
          const all = list.map(({ name, ...more }) => web(name, more.replicas, more));
          const { toMark } = step({ spec: { budget: { workloads, replicas } }, occupants: all });
          const underWay = all.filter(({ isMarked }) => isMarked).concat(toMark);
          const weight = underWay.reduce((sum, one) => sum + one.replicas, 0);
          if (toMark.length === 0) return assert.ok(underWay.length > 0 || all.length === 0);
          assert.ok(underWay.length <= workloads);
          assert.ok(weight <= replicas || underWay.length === 1);
        },
      ),
    );
  });
});
