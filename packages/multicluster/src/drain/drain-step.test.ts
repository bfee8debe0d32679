import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type DrainedObject, type DrainInput, drainStep } from "./drain-step.ts";
import { pendingReasonOf } from "./drained-objects.ts";

const startMs = Date.UTC(2026, 0, 1);
const web = (name: string, replicas = 2, more: Partial<DrainedObject> = {}): DrainedObject => ({
  kind: "Deployment",
  namespace: "demo",
  name,
  replicas,
  isEvicting: false,
  isDependency: false,
  pending: undefined,
  ...more,
});
const step = (more: Partial<DrainInput>) =>
  drainStep({
    target: "east",
    spec: {},
    previousStatus: undefined,
    objects: [],
    heldObject: undefined,
    wasDrained: false,
    nowMs: startMs,
    ...more,
  });
const names = (occupants: readonly DrainedObject[]) => occupants.map(({ name }) => name);

describe("drain", () => {
  it("a drain selects objects for eviction in the order of names, within its budget", () => {
    const objects = [web("c"), web("a"), web("b")];
    assert.deepEqual(names(step({ objects }).toEvict), []);
    const turns = (budget: object, list = objects) =>
      names(step({ spec: { budget }, objects: list }).toEvict);
    assert.deepEqual(turns({ workloads: 2 }), ["a", "b"]);
    assert.deepEqual(turns({ replicas: 3 }), ["a"]);
    assert.deepEqual(turns({ replicas: 1 }), ["a"]);
    assert.deepEqual(turns({ workloads: 1 }, [web("a", 2, { isEvicting: true }), web("b")]), []);
  });

  it("a blocked object does not keep other objects from leaving", () => {
    const block = { reason: "Paused", message: "moves are paused" };
    const pending = { ...block, isBlocked: true };
    const objects = [web("a", 2, { isEvicting: true, pending }), web("b")];
    const { toEvict, status, condition } = step({ spec: { budget: { workloads: 1 } }, objects });
    assert.deepEqual(names(toEvict), ["b"]);
    assert.deepEqual(status.blocked, [
      {
        kind: "Deployment",
        namespace: "demo",
        name: "a",
        reason: "Paused",
        message:
          "moves are paused; next: kubectl annotate deployment/a -n demo workload.kcp.io/paused-",
      },
    ]);
    assert.equal(condition.reason, "Draining");
    assert.equal(step({ objects: objects.slice(0, 1) }).condition.reason, "Blocked");
  });

  it("progress counts from the largest number of objects, and the estimate from the rate so far", () => {
    const started = step({ objects: [web("a"), web("b"), web("c"), web("d")] });
    assert.deepEqual(started.status, {
      startedAt: "2026-01-01T00:00:00Z",
      total: 4,
      moved: 0,
      remaining: 4,
      remainingReplicas: 8,
    });
    assert.deepEqual(
      started.events.map(({ reason }) => reason),
      ["DrainStarted"],
    );
    const later = { previousStatus: started.status, objects: [web("d")], nowMs: startMs + 60_000 };
    const { status } = step(later);
    assert.equal(status.moved, 3);
    assert.equal(status.estimatedEnd, "2026-01-01T00:01:20Z");
    const waiting = step({ ...later, previousStatus: status, nowMs: startMs + 70_000 });
    assert.deepEqual(waiting.status, status);
    assert.deepEqual(waiting.events, []);
  });

  it("an estimate that has passed is replaced, and none is given for what cannot leave or has just begun", () => {
    const began = step({ objects: [web("a"), web("b")] }).status;
    const at = (seconds: number, objects: readonly DrainedObject[], previousStatus = began) =>
      step({ objects, previousStatus, nowMs: startMs + seconds * 1000 }).status;
    assert.equal(at(0.2, [web("b")]).estimatedEnd, undefined);
    const estimated = at(10, [web("b")]);
    assert.equal(estimated.estimatedEnd, "2026-01-01T00:00:20Z");
    assert.equal(at(15, [web("b")], estimated).estimatedEnd, "2026-01-01T00:00:20Z");
    assert.equal(at(20, [web("b")], estimated).estimatedEnd, "2026-01-01T00:00:40Z");
    const pending = { reason: "Paused", message: "", isBlocked: true };
    assert.equal(at(20, [web("b", 2, { pending })], estimated).estimatedEnd, undefined);
  });

  it("dependencies count neither as workloads nor as blockers, and the drain waits for them", () => {
    const slice = web("web-east-1", 1, { kind: "EndpointSlice", isDependency: true });
    const { status, condition } = step({ objects: [web("a"), slice, slice] });
    assert.deepEqual([status.total, status.remaining, status.blocked], [1, 1, undefined]);
    assert.equal(condition.message, "0 of 1 workloads have left, 1 remains");
    const last = step({ objects: [slice], previousStatus: status });
    assert.equal(last.isDrained, false);
    assert.equal(
      last.condition.message,
      "1 of 1 workloads have left; 1 dependency is being removed: 1 EndpointSlice",
    );
  });

  it("workloads that remain are counted by reason, with an example of what is waited for", () => {
    const pending = (reason: string, isBlocked: boolean) => ({
      reason,
      message: "0/2 available in west",
      isBlocked,
    });
    const objects = [
      web("a", 2, { pending: pending("Migrating", false) }),
      web("b", 2, { pending: pending("Migrating", false) }),
      web("c", 2, { pending: pending("RolledBack", true) }),
      web("d"),
    ];
    const { condition } = step({ objects });
    assert.equal(
      condition.message,
      "0 of 4 workloads have left, 4 remain: 2 Migrating, 1 RolledBack; Deployment demo/a: 0/2 available in west; 1 cannot leave by itself, see status.drain.blocked",
    );
  });

  it("a drain is complete when nothing is assigned and nothing is left in the cluster, and reports so once", () => {
    const leftover = step({ heldObject: "Deployment demo/a" });
    assert.equal(leftover.isDrained, false);
    assert.match(
      leftover.condition.message ?? "",
      /; waiting until Deployment demo\/a is removed from the cluster$/,
    );
    const { isDrained, condition, events } = step({ previousStatus: leftover.status });
    assert.ok(isDrained);
    assert.equal(condition.status, "True");
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ["Drained"],
    );
    assert.deepEqual(step({ previousStatus: leftover.status, wasDrained: true }).events, []);
  });

  it("a drain is reported late at its deadline, and not before", () => {
    const at = (seconds: number) =>
      step({
        spec: { deadlineSeconds: 60 },
        previousStatus: step({ objects: [web("a")] }).status,
        objects: [web("a")],
        nowMs: startMs + seconds * 1000,
      }).condition.reason;
    assert.equal(at(59), "Draining");
    assert.equal(at(60), "DeadlineExceeded");
  });

  it("the evictions in flight never exceed the budget, except one object that is larger", () => {
    const occupants = fc.uniqueArray(
      fc.record({
        name: fc.string({ minLength: 1, maxLength: 3 }),
        replicas: fc.nat(9),
        isEvicting: fc.boolean(),
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
          const { toEvict } = step({ spec: { budget: { workloads, replicas } }, objects: all });
          const inFlight = all.filter(({ isEvicting }) => isEvicting).concat(toEvict);
          const weight = inFlight.reduce((sum, one) => sum + one.replicas, 0);
          if (toEvict.length === 0) return assert.ok(inFlight.length > 0 || all.length === 0);
          assert.ok(inFlight.length <= workloads);
          assert.ok(weight <= replicas || inFlight.length === 1);
        },
      ),
    );
  });

  it("a move without progress for a minute is blocked, and its next step is named", () => {
    const at = (seconds: number) => {
      const condition = {
        ...{ type: "Scheduled", status: "False", reason: "Migrating", message: "0/2 in west" },
        lastTransitionTime: "2026-01-01T00:00:00Z",
        lastUpdateTime: "2026-01-01T00:00:10Z",
      } as const;
      const workload = { metadata: { name: "a" }, status: { conditions: [condition] } };
      const nowMs = startMs + seconds * 1000;
      const pending = pendingReasonOf(workload as never, "east", undefined, nowMs);
      return step({ objects: [web("a", 2, { pending })], nowMs });
    };
    assert.equal(at(69).status.blocked, undefined);
    assert.equal(at(69).stallsAtMs, startMs + 70_000);
    const { condition, status, stallsAtMs } = at(70);
    assert.equal(stallsAtMs, undefined);
    assert.equal(condition.reason, "Blocked");
    assert.equal(
      status.blocked?.[0]?.message,
      "0/2 in west; no progress since 2026-01-01T00:00:10Z; next: kubectl describe deployment/a -n demo",
    );
  });

  it("the progress of a kind without update times is read from its last decision", () => {
    const condition = { type: "Scheduled", status: "False", reason: "Migrating", message: "" };
    const workload = { metadata: { name: "a" }, status: { conditions: [condition] } };
    const history = [{ time: "2026-01-01T00:00:10Z", replicas: 2, assigned: {}, reasons: [] }];
    const pendingAt = (seconds: number) =>
      pendingReasonOf(workload as never, "east", { history }, startMs + seconds * 1000);
    assert.equal(pendingAt(69)?.isBlocked, false);
    assert.equal(pendingAt(70)?.isBlocked, true);
  });
});
