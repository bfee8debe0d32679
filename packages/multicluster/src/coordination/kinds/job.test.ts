/**
 * Goal: every completion of a Job is started once, however clusters register and fail. Method:
 * seeded histories without servers, and common cases.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { assignedCluster } from "../../api/index.ts";
import type { ClusterInfo } from "../cluster-state.ts";
import type { DecideInput, Decision } from "../decide.ts";
import type { PlacementRecord } from "../placement-record.ts";
import { conditionsOf, statusCount, type Workload } from "../workload.ts";
import { jobStrategy as strategy } from "./job.ts";

const nowMs = Date.UTC(2026, 0, 1);
const target = (name: string, more: Partial<ClusterInfo> = {}) =>
  ({
    name,
    labels: {},
    isReady: true,
    changedAtMs: 0,
    isUnschedulable: false,
    isDeleting: false,
    taints: [],
    ...more,
  }) as ClusterInfo;
const unreachable = { isReady: false };

const job = (spec: object, more: Partial<Workload> = {}): Workload => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "sum", namespace: "demo", uid: "whole", generation: 1 },
  spec: { template: { spec: {} }, ...spec },
  ...more,
});

function decided(
  parent: Workload,
  copies: readonly Workload[],
  targets: readonly ClusterInfo[],
  more: Pick<Partial<DecideInput>, "record" | "scheduling"> = {},
) {
  const input: DecideInput = {
    strategy,
    parent,
    copies,
    takenNames: new Set(),
    targets,
    gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
    nowMs,
    ...more,
  };
  assert.ok(strategy.decide !== undefined);
  return strategy.decide(input);
}

const partsOf = ({ creations }: Decision, status: object = {}): Workload[] =>
  creations.map(({ metadata, spec }) => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { ...metadata, name: metadata.name ?? "", generation: 1 },
    spec,
    status,
  }));

const shares = (decision: Decision) =>
  Object.fromEntries(
    decision.creations.map(({ metadata, spec }) => [
      metadata.name,
      [
        (spec as Record<string, unknown>)["completions"],
        (spec as Record<string, unknown>)["parallelism"],
      ],
    ]),
  );

const complete = { conditions: [{ type: "Complete", status: "True", lastTransitionTime: "" }] };
const both = [target("east"), target("west")];

describe("Job over clusters", () => {
  it("a Job starts no more completions than requested, also at the next reconcile", () => {
    const parent = job({ completions: 5, parallelism: 5 });
    const allowance = { location: "l", resourceLimits: { pods: 3 }, includes: () => true };
    const first = decided(parent, [], both, { scheduling: { locationLimits: [allowance] } });
    assert.deepEqual(shares(first), { "sum--east": [2, 2], "sum--west": [1, 1] });
    const again = decided(parent, partsOf(first), both, {
      scheduling: { locationLimits: [allowance] },
    });
    assert.deepEqual([shares(again), again.plan.unscheduled], [{}, 2]);
  });

  it("a Job's completions and its parallelism are divided among clusters", () => {
    const parent = job({ completions: 5, parallelism: 3, ttlSecondsAfterFinished: 60 });
    const decision = decided(parent, [], both);
    assert.deepEqual(shares(decision), { "sum--east": [3, 2], "sum--west": [2, 2] });
    // A cluster that deleted an expired copy would get it, and run it, again.
    for (const { spec } of decision.creations) {
      assert.ok(!("ttlSecondsAfterFinished" in spec));
    }
  });

  it("an Indexed Job is not divided: no index is in two clusters", () => {
    const parent = job({ completions: 6, parallelism: 2, completionMode: "Indexed" });
    const decision = decided(parent, [], both);
    assert.deepEqual(shares(decision), { "sum--east": [6, 2] });
    // The Job does not start a second time while its cluster is reachable.
    const running = partsOf(decision, { active: 2 });
    assert.deepEqual(
      decided(parent, running, [target("east", { isDeleting: true }), target("west")]).creations,
      [],
    );
  });

  it("the missing completions of an Unreachable cluster start in other clusters, as an additional copy", () => {
    const parent = job({ completions: 6, parallelism: 2 });
    const [east, west] = partsOf(decided(parent, [], both));
    assert.ok(east !== undefined && west !== undefined);
    const copies = [
      { ...east, status: { succeeded: 1, active: 1 } },
      { ...west, status: { succeeded: 2, active: 1 } },
    ];
    const decision = decided(parent, copies, [target("east"), target("west", unreachable)]);
    assert.deepEqual(shares(decision), { "sum--east-2": [1, 1] });
    // The completions start once: neither the next reconcile nor the return of the cluster adds a
    // copy.
    const all = [...copies, ...partsOf(decision)];
    assert.deepEqual(
      decided(parent, all, [target("east"), target("west", unreachable)]).creations,
      [],
    );
    assert.deepEqual(decided(parent, all, both).creations, []);
  });

  it("a StopBeforeStart Job waits until the Unreachable cluster is fenced, and removes the stopped copy before its completions start elsewhere", () => {
    const workload = job({ completions: 4, parallelism: 2 });
    const annotations = { "workload.kcp.io/failover-strategy": "StopBeforeStart" };
    const parent = { ...workload, metadata: { ...workload.metadata, annotations } };
    const copies = partsOf(decided(parent, [], both), { succeeded: 1, active: 1 });
    for (const { metadata } of copies)
      assert.equal(metadata.labels?.["workload.kcp.io/stop-before-start"], "true");
    const silent = (sinceMs: number): Partial<ClusterInfo> => ({
      ...unreachable,
      lease: { durationMs: 60_000, silentSinceMs: nowMs - sinceMs },
    });
    const waiting = decided(parent, copies, [target("east"), target("west", silent(70_000))]);
    assert.deepEqual(
      [waiting.creations, waiting.removals, waiting.record.completions],
      [[], [], undefined],
    );
    const fenced = [target("east"), target("west", silent(120_000))];
    const removed = decided(parent, copies, fenced);
    assert.deepEqual(removed.record.completions, { "sum--west": 1 });
    assert.deepEqual(
      [removed.creations, removed.removals.map(({ metadata }) => metadata.name)],
      [[], ["sum--west"]],
    );
    const [east, west] = copies;
    assert.ok(east !== undefined && west !== undefined);
    const deletionTimestamp = new Date(nowMs).toISOString();
    const going = { ...west, metadata: { ...west.metadata, deletionTimestamp } };
    assert.deepEqual(shares(decided(parent, [east, going], fenced, removed)), {
      "sum--east-2": [1, 1],
    });
  });

  it("a running copy finishes in a Draining cluster, and its completions are recorded before it is removed", () => {
    const parent = job({ completions: 4, parallelism: 2 });
    const copies = partsOf(decided(parent, [], both), { active: 1 });
    const leaving = [target("east"), target("west", { isDeleting: true })];
    const busy = decided(parent, copies, leaving);
    assert.deepEqual([busy.creations, busy.updates, busy.removals], [[], [], []]);
    const [east, west] = copies;
    assert.ok(east !== undefined && west !== undefined);
    const ended = [east, { ...west, status: { succeeded: 2, ...complete } }];
    const removed = decided(parent, ended, leaving);
    assert.deepEqual(removed.record.completions, { "sum--west": 2 });
    assert.deepEqual(
      removed.removals.map(({ metadata }) => metadata.name),
      ["sum--west"],
    );
    const after = decided(parent, [east], [target("east")], removed);
    assert.deepEqual(after.creations, []);
    assert.equal((after.status as { succeeded?: number }).succeeded, 2);
  });

  it("a Job is complete when the requested completions are done, and then removes surplus copies", () => {
    const parent = job({ completions: 2 });
    const copies = partsOf(decided(parent, [], both), { succeeded: 1, ...complete });
    const { status } = decided(parent, copies, both);
    assert.equal(conditionsOf({ ...parent, status })[0]?.type, "Complete");
    const extra = { ...(copies[0] as Workload), status: { active: 1 } };
    const named = { ...extra, metadata: { ...extra.metadata, name: "sum--east-2" } };
    const done = { ...parent, status };
    assert.deepEqual(
      decided(done, [...copies, named], both).removals.map(({ metadata }) => metadata.name),
      ["sum--east-2"],
    );
  });

  it("a Job fails when a copy fails, and the other copies are suspended", () => {
    const parent = job({ completions: 4, parallelism: 2 });
    const [east, west] = partsOf(decided(parent, [], both), { active: 1 });
    assert.ok(east !== undefined && west !== undefined);
    const conditions = [
      { type: "Failed", status: "True", reason: "BackoffLimitExceeded", lastTransitionTime: "" },
    ];
    const copies = [{ ...east, status: { conditions } }, west];
    const { status } = decided(parent, copies, both);
    const failure = conditionsOf({ ...parent, status })[0];
    assert.equal(failure?.reason, "BackoffLimitExceeded");
    assert.match(failure?.message ?? "", /^east: /);
    const { updates, creations } = decided({ ...parent, status }, copies, both);
    assert.deepEqual(creations, []);
    assert.equal(updates[0]?.spec["parallelism" as never], 0);
  });

  it("a Job is deleted when its ttlSecondsAfterFinished has passed", () => {
    const lastTransitionTime = new Date(nowMs - 61_000).toISOString();
    const conditions = [{ type: "Complete", status: "True", lastTransitionTime }];
    const over = job({ completions: 1, ttlSecondsAfterFinished: 60 }, { status: { conditions } });
    assert.equal(decided(over, [], both).isExpired, true);
    const young = job({ completions: 1, ttlSecondsAfterFinished: 90 }, { status: { conditions } });
    assert.equal(decided(young, [], both).isExpired, false);
  });

  it("a Job finishes in every history, and repeats no more completions than were lost", () => {
    for (let seed = 0; seed < 200; seed++) play(seed);
  });
});

/** Clusters finish one completion at a time; some become Unreachable for a while, or forever. */
function play(seed: number): void {
  const random = new SeededRandom(seed);
  const completions = 1 + random.integer(8);
  let parent = job({ completions, parallelism: 1 + random.integer(3) });
  let parts: Workload[] = [];
  let record: PlacementRecord | undefined;
  const isLost = new Map([
    ["east", false],
    ["west", false],
  ]);
  let repeated = 0;
  const look = () => {
    const targets = [...isLost].map(([name, one]) => target(name, one ? unreachable : {}));
    const decision = decided(parent, parts, targets, { record });
    ({ record } = decision);
    // The process ends after the write of the record, at times.
    if (random.chance(0.1)) return;
    for (const { metadata, spec } of decision.creations) {
      if (parts.some((copy) => copy.metadata.name === metadata.name)) assert.fail("made twice");
      assert.ok(isLost.get(assignedCluster(metadata.labels) ?? "") === false);
      if (parts.length >= isLost.size) repeated += Number(spec["completions" as never]);
    }
    parts = parts.filter((copy) => !decision.removals.includes(copy));
    parts.push(...partsOf(decision));
    parent = { ...parent, status: decision.status };
  };
  const work = () => {
    parts = parts.map((copy) => {
      const cluster = assignedCluster(copy.metadata.labels) ?? "";
      const done = statusCount(copy, "succeeded");
      const requested = Number(copy.spec["completions" as never]);
      if (isLost.get(cluster) === true || done >= requested || !random.chance(0.3)) return copy;
      const status =
        done + 1 === requested ? { succeeded: done + 1, ...complete } : { succeeded: done + 1 };
      return { ...copy, status };
    });
  };
  let losses = 0;
  for (let step = 0; step < 400; step++) {
    if (step < 200 && random.chance(0.05)) {
      const name = random.pick(["east", "west"] as const);
      isLost.set(name, isLost.get(name) !== true);
      losses++;
    }
    if (step === 200) isLost.set("east", false);
    look();
    work();
  }
  const text = `seed ${seed}: ${JSON.stringify({ parts, status: parent.status })}`;
  assert.ok(
    conditionsOf(parent).some(({ type, status }) => type === "Complete" && status === "True"),
    text,
  );
  if (losses === 0) assert.equal(repeated, 0, text);
}
