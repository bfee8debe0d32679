/** Goal: what a Job asks for is begun once, however clusters come and go. Method: histories without servers, and the cases that people meet. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { assignedCluster } from "../../api/index.ts";
import type { DecideInput, Decision } from "../decide.ts";
import type { ClusterInfo } from "../standing.ts";
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
    evictAfterMs: undefined,
    isDeleting: false,
    taints: [],
    ...more,
  }) as ClusterInfo;
const lost = { isReady: false };

const job = (spec: object, more: Partial<Workload> = {}): Workload => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "sum", namespace: "demo", uid: "whole", generation: 1 },
  spec: { template: { spec: {} }, ...spec },
  ...more,
});

function decided(
  parent: Workload,
  parts: readonly Workload[],
  targets: readonly ClusterInfo[],
  surroundings: DecideInput["surroundings"] = {},
) {
  const input: DecideInput = {
    strategy,
    parent,
    parts,
    takenNames: new Set(),
    targets,
    patience: { graceMs: 60_000, settleMs: 0 },
    nowMs,
    surroundings,
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

describe("a Job over clusters", () => {
  it("begins no more than there may be, also when it is looked at again", () => {
    const parent = job({ completions: 5, parallelism: 5 });
    const allowance = { location: "l", bounds: { pods: 3 }, includes: () => true };
    const first = decided(parent, [], both, { allowances: [allowance] });
    assert.deepEqual(shares(first), { "sum--east": [2, 2], "sum--west": [1, 1] });
    const again = decided(parent, partsOf(first), both, { allowances: [allowance] });
    assert.deepEqual([shares(again), again.plan.unplaced], [{}, 2]);
  });

  it("divides its completions, and its workers with them", () => {
    const parent = job({ completions: 5, parallelism: 3, ttlSecondsAfterFinished: 60 });
    const decision = decided(parent, [], both);
    assert.deepEqual(shares(decision), { "sum--east": [3, 2], "sum--west": [2, 2] });
    // A cluster that deleted it would have it made, and run, anew.
    for (const { spec } of decision.creations) {
      assert.ok(!("ttlSecondsAfterFinished" in spec));
    }
  });

  it("with indexes is not divided: no index is in two clusters", () => {
    const parent = job({ completions: 6, parallelism: 2, completionMode: "Indexed" });
    const decision = decided(parent, [], both);
    assert.deepEqual(shares(decision), { "sum--east": [6, 2] });
    // Nor begun a second time while it can be seen.
    const running = partsOf(decision, { active: 2 });
    assert.deepEqual(
      decided(parent, running, [target("east", { isDeleting: true }), target("west")]).creations,
      [],
    );
  });

  it("gives what a lost cluster has not completed to the others, as a further part", () => {
    const parent = job({ completions: 6, parallelism: 2 });
    const [east, west] = partsOf(decided(parent, [], both));
    assert.ok(east !== undefined && west !== undefined);
    const parts = [
      { ...east, status: { succeeded: 1, active: 1 } },
      { ...west, status: { succeeded: 2, active: 1 } },
    ];
    const decision = decided(parent, parts, [target("east"), target("west", lost)]);
    assert.deepEqual(shares(decision), { "sum--east-2": [1, 1] });
    // Begun once: the next look has nothing to add. Nor has one after the cluster is back.
    const all = [...parts, ...partsOf(decision)];
    assert.deepEqual(decided(parent, all, [target("east"), target("west", lost)]).creations, []);
    assert.deepEqual(decided(parent, all, both).creations, []);
  });

  it("that may run once at most waits for the lost cluster's agent, and takes what it has stopped away before it is begun elsewhere", () => {
    const whole = job({ completions: 4, parallelism: 2 });
    const annotations = { "workloads.kcp.io/at-most-one": "true" };
    const parent = { ...whole, metadata: { ...whole.metadata, annotations } };
    const parts = partsOf(decided(parent, [], both), { succeeded: 1, active: 1 });
    for (const { metadata } of parts)
      assert.equal(metadata.labels?.["workloads.kcp.io/at-most-one"], "true");
    const silent = (sinceMs: number): Partial<ClusterInfo> => ({
      ...lost,
      lease: { durationMs: 60_000, silentSinceMs: nowMs - sinceMs },
    });
    const waiting = decided(parent, parts, [target("east"), target("west", silent(70_000))]);
    assert.deepEqual(
      [waiting.creations, waiting.removals, waiting.annotations],
      [[], [], undefined],
    );
    const fenced = [target("east"), target("west", silent(120_000))];
    const noted = decided(parent, parts, fenced);
    assert.deepEqual([noted.creations, noted.removals], [[], []]);
    const remembering = {
      ...parent,
      metadata: { ...parent.metadata, annotations: { ...annotations, ...noted.annotations } },
    };
    const removed = decided(remembering, parts, fenced);
    assert.deepEqual(
      [removed.creations, removed.removals.map(({ metadata }) => metadata.name)],
      [[], ["sum--west"]],
    );
    const [east, west] = parts;
    assert.ok(east !== undefined && west !== undefined);
    const deletionTimestamp = new Date(nowMs).toISOString();
    const going = { ...west, metadata: { ...west.metadata, deletionTimestamp } };
    assert.deepEqual(shares(decided(remembering, [east, going], fenced)), {
      "sum--east-2": [1, 1],
    });
  });

  it("lets what runs end in a cluster that is to be emptied, and writes down what it has done before it is removed", () => {
    const parent = job({ completions: 4, parallelism: 2 });
    const parts = partsOf(decided(parent, [], both), { active: 1 });
    const leaving = [target("east"), target("west", { isDeleting: true })];
    const busy = decided(parent, parts, leaving);
    assert.deepEqual([busy.creations, busy.updates, busy.removals], [[], [], []]);
    const [east, west] = parts;
    assert.ok(east !== undefined && west !== undefined);
    const ended = [east, { ...west, status: { succeeded: 2, ...complete } }];
    const noted = decided(parent, ended, leaving);
    assert.deepEqual(noted.removals, []);
    const annotations = noted.annotations ?? {};
    const remembering = { ...parent, metadata: { ...parent.metadata, annotations } };
    const removed = decided(remembering, ended, leaving);
    assert.deepEqual(
      removed.removals.map(({ metadata }) => metadata.name),
      ["sum--west"],
    );
    const after = decided(remembering, [east], [target("east")]);
    assert.deepEqual(after.creations, []);
    assert.equal((after.status as { succeeded?: number }).succeeded, 2);
  });

  it("is complete when as much is completed as was asked for, and then removes what is superfluous", () => {
    const parent = job({ completions: 2 });
    const parts = partsOf(decided(parent, [], both), { succeeded: 1, ...complete });
    const { status } = decided(parent, parts, both);
    assert.equal(conditionsOf({ ...parent, status })[0]?.type, "Complete");
    const extra = { ...(parts[0] as Workload), status: { active: 1 } };
    const named = { ...extra, metadata: { ...extra.metadata, name: "sum--east-2" } };
    const done = { ...parent, status };
    const noted = decided(done, [...parts, named], both);
    const annotations = noted.annotations ?? {};
    const remembering = { ...done, metadata: { ...done.metadata, annotations } };
    assert.deepEqual(
      decided(remembering, [...parts, named], both).removals.map(({ metadata }) => metadata.name),
      ["sum--east-2"],
    );
  });

  it("fails when a part of it does, and the others come to rest", () => {
    const parent = job({ completions: 4, parallelism: 2 });
    const [east, west] = partsOf(decided(parent, [], both), { active: 1 });
    assert.ok(east !== undefined && west !== undefined);
    const conditions = [
      { type: "Failed", status: "True", reason: "BackoffLimitExceeded", lastTransitionTime: "" },
    ];
    const parts = [{ ...east, status: { conditions } }, west];
    const { status } = decided(parent, parts, both);
    const failure = conditionsOf({ ...parent, status })[0];
    assert.equal(failure?.reason, "BackoffLimitExceeded");
    assert.match(failure?.message ?? "", /^east: /);
    const { updates, creations } = decided({ ...parent, status }, parts, both);
    assert.deepEqual(creations, []);
    assert.equal(updates[0]?.spec["parallelism" as never], 0);
  });

  it("expires when it has been over for as long as it said", () => {
    const lastTransitionTime = new Date(nowMs - 61_000).toISOString();
    const conditions = [{ type: "Complete", status: "True", lastTransitionTime }];
    const over = job({ completions: 1, ttlSecondsAfterFinished: 60 }, { status: { conditions } });
    assert.equal(decided(over, [], both).isExpired, true);
    const young = job({ completions: 1, ttlSecondsAfterFinished: 90 }, { status: { conditions } });
    assert.equal(decided(young, [], both).isExpired, false);
  });

  it("comes to its end in every history, and begins no more than was lost", () => {
    for (let seed = 0; seed < 200; seed++) play(seed);
  });
});

/** Clusters complete one at a time; some are lost for a while, or for good. */
function play(seed: number): void {
  const random = new SeededRandom(seed);
  const completions = 1 + random.integer(8);
  let parent = job({ completions, parallelism: 1 + random.integer(3) });
  let parts: Workload[] = [];
  const isLost = new Map([
    ["east", false],
    ["west", false],
  ]);
  let repeated = 0;
  const look = () => {
    const targets = [...isLost].map(([name, one]) => target(name, one ? lost : {}));
    const decision = decided(parent, parts, targets);
    if (decision.annotations !== undefined) {
      const annotations = decision.annotations;
      parent = { ...parent, metadata: { ...parent.metadata, annotations } };
      return;
    }
    for (const { metadata, spec } of decision.creations) {
      if (parts.some((part) => part.metadata.name === metadata.name)) assert.fail("made twice");
      assert.ok(isLost.get(assignedCluster(metadata.labels) ?? "") === false);
      if (parts.length >= isLost.size) repeated += Number(spec["completions" as never]);
    }
    parts = parts.filter((part) => !decision.removals.includes(part));
    parts.push(...partsOf(decision));
    parent = { ...parent, status: decision.status };
  };
  const work = () => {
    parts = parts.map((part) => {
      const cluster = assignedCluster(part.metadata.labels) ?? "";
      const done = statusCount(part, "succeeded");
      const asked = Number(part.spec["completions" as never]);
      if (isLost.get(cluster) === true || done >= asked || !random.chance(0.3)) return part;
      const status =
        done + 1 === asked ? { succeeded: done + 1, ...complete } : { succeeded: done + 1 };
      return { ...part, status };
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
