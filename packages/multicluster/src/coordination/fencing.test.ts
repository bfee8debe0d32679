import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { findCondition } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { type SyncTarget, sharedTargetName, stopBeforeStartLabel } from "../api/index.ts";
import { newClusterCopy } from "./cluster-copy.ts";
import { type ClusterInfo, clusterInfoOf } from "./cluster-state.ts";
import { type DecideInput, decide } from "./decide.ts";
import type { Deployment } from "./deployment.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { FencedClusters, fencedAtMs, fenceMarginMs } from "./fencing.ts";
import { failoverStrategyAnnotation } from "./rollout-policy.ts";
import { dividedOrdinals, singleSchedule } from "./stepper/capabilities.ts";
import type { ClusterCopy, ClusterShare } from "./stepper/cluster-share.ts";
import type { Plan } from "./stepper/plan.ts";
import { step } from "./stepper/step.ts";
import type { Workload } from "./workload.ts";

const startMs = Date.UTC(2026, 0, 1);
const leaseMs = 60_000;
const gracePeriods = { unreachableAfterMs: 10_000, recoveryMs: 0 };
const target = (name: string, more: Partial<ClusterInfo> = {}): ClusterInfo => ({
  name,
  labels: {},
  taints: [],
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
  lease: { durationMs: leaseMs, silentSinceMs: undefined },
  ...more,
});
const silent = (name: string): ClusterInfo =>
  target(name, {
    isReady: false,
    changedAtMs: startMs,
    lease: { durationMs: leaseMs, silentSinceMs: startMs },
  });
const workload: Workload = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "db",
    namespace: "demo",
    uid: "whole",
    generation: 1,
    annotations: { [failoverStrategyAnnotation]: "StopBeforeStart" },
  },
  spec: { replicas: 1, template: { spec: { terminationGracePeriodSeconds: 5 } } },
};
const stoppedAtMs = startMs + leaseMs + fenceMarginMs(leaseMs) + 5000;

function copy(cluster: string, replicas: number, running = replicas): Workload {
  const share = { replicas };
  const made = newClusterCopy({
    strategy: deploymentStrategy,
    parent: workload,
    cluster,
    share,
    isStopBeforeStart: true,
  });
  const metadata = { ...made.metadata, name: made.metadata.name ?? "", generation: 1 };
  const status = { observedGeneration: 1, replicas: running, availableReplicas: running };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: made.spec,
    status,
  } as Deployment;
}

const decided = (input: Partial<DecideInput>) => {
  const decision = decide({
    strategy: deploymentStrategy,
    parent: workload,
    copies: [],
    takenNames: new Set(),
    targets: [],
    gracePeriods,
    nowMs: startMs,
    ...input,
  });
  const replicas = (one: object) => (one as Workload).spec as { replicas: number };
  const written = [...decision.creations, ...decision.updates, ...decision.scaleDowns].map(
    (one) => `${one.metadata.name} ${replicas(one).replicas}`,
  );
  const { conditions } = decision.status as { conditions: never };
  return {
    written,
    placed: findCondition(conditions, "Scheduled"),
    wakeAtMs: decision.requeueAtMs,
    unreachableSince: decision.record.clusters?.[0]?.unreachableSince,
  };
};

describe("StopBeforeStart", () => {
  it("a StopBeforeStart workload has a label on its copies, for the agents", () => {
    assert.equal(copy("east", 1).metadata.labels?.[stopBeforeStartLabel], "true");
  });

  it("a copy starts elsewhere when the lease has expired, its Pods have terminated, and the old copy says 0 replicas", () => {
    const targets = [silent("east"), target("west")];
    const unreachable = { copies: [copy("east", 1)], targets };
    const before = decided({ ...unreachable, nowMs: stoppedAtMs - 1 });
    // Only the loss of the cluster is recorded.
    assert.deepEqual(before.written, []);
    assert.notEqual(before.unreachableSince, undefined);
    assert.equal(before.placed?.reason, "AwaitingFencing");
    assert.equal(before.wakeAtMs, stoppedAtMs);
    assert.deepEqual(decided({ ...unreachable, nowMs: stoppedAtMs }).written, ["db--east 0"]);
    const none = { copies: [copy("east", 0, 1)], targets, nowMs: stoppedAtMs };
    assert.ok(decided(none).written.includes("db--west 1"));
  });

  it("a copy does not start elsewhere while heartbeats arrive, or where no agent stops the old copy", () => {
    const lateMs = startMs + 3_600_000;
    const notReady = { isReady: false, changedAtMs: startMs };
    for (const lease of [{ durationMs: leaseMs, silentSinceMs: undefined }, undefined]) {
      const targets = [target("east", { ...notReady, lease }), target("west")];
      const { written, placed } = decided({ copies: [copy("east", 1)], targets, nowMs: lateMs });
      assert.deepEqual(written, []);
      assert.equal(placed?.reason, "AwaitingFencing");
    }
  });

  it("a move stops the old copy first", () => {
    const targets = [target("east", { drain: "All" }), target("west")];
    assert.deepEqual(decided({ copies: [copy("east", 1)], targets }).written, ["db--east 0"]);
    assert.deepEqual(decided({ copies: [copy("east", 0, 1)], targets }).written, []);
    assert.deepEqual(decided({ copies: [copy("east", 0, 0)], targets }).written, ["db--west 1"]);
  });
});

describe("StopBeforeStart for other kinds", () => {
  const has = (replicas: number, more: Partial<ClusterCopy> = {}): ClusterCopy => ({
    replicas,
    available: replicas,
    running: replicas,
    isObserved: true,
    isStuck: false,
    isDeleting: false,
    isUnmanaged: false,
    ...more,
  });
  const shares = (
    isFenced: boolean,
    east: ClusterCopy,
    west?: ClusterCopy,
  ): readonly ClusterShare[] => [
    { name: "east", state: "Unreachable", isFenced, copy: east },
    { name: "west", state: "Ready", isFenced: false, copy: west },
  ];
  const stepOf = ({ next }: Plan) => Object.fromEntries(next);

  it("ordinals of an Unreachable cluster move when its agent has stopped them and its copy says 0 replicas", () => {
    const next = (...of: Parameters<typeof shares>) =>
      stepOf(step({ replicas: 4, scaledDownBy: 0, clusters: shares(...of) }, dividedOrdinals));
    const [two, west] = [has(2, { start: 0 }), has(2, { start: 2 })];
    assert.deepEqual(next(false, two, west), { east: 2, west: 2 });
    assert.deepEqual(next(true, two, west), { east: 0, west: 2 });
    assert.deepEqual(next(true, has(0, { start: 0, running: 2 }), west), { east: 0, west: 4 });
    // The cluster has no ordinals when it is back.
    const back = shares(false, has(0, { start: 0 }), has(4, { start: 0 })).map((one) => ({
      ...one,
      state: "Ready" as const,
    }));
    assert.deepEqual(
      stepOf(step({ replicas: 4, scaledDownBy: 0, clusters: back }, dividedOrdinals)),
      { east: 0, west: 4 },
    );
  });

  it("a single workload waits for fencing, too", () => {
    const singleStep = (clusters: readonly ClusterShare[], mayRest: boolean) =>
      step({ replicas: 1, scaledDownBy: 0, clusters }, { ...singleSchedule, mayRest });
    const next = (canRest: boolean, ...of: Parameters<typeof shares>) =>
      stepOf(singleStep(shares(...of), canRest));
    for (const canRest of [true, false]) {
      assert.deepEqual(next(canRest, false, has(1)), { east: 1 });
      assert.deepEqual(next(canRest, true, has(1)), { east: canRest ? 0 : "remove" });
    }
    assert.deepEqual(next(true, true, has(0)), { east: 0, west: 1 });
    assert.deepEqual(next(false, true, has(1, { isDeleting: true })), { west: 1 });
    const unasked = shares(false, has(1)).map(({ isFenced: _, ...one }) => one);
    assert.deepEqual(stepOf(singleStep(unasked, false)), { east: 1, west: 1 });
  });
});

describe("missed heartbeats", () => {
  it("a missed heartbeat is read from heartbeats and not from readiness", () => {
    const condition = (type: string, status: string) => ({
      type,
      status,
      reason: "Because",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    });
    const of = (healthy: string) =>
      clusterInfoOf({
        metadata: { name: "east" },
        status: {
          leaseDurationSeconds: 60,
          conditions: [condition("Ready", "False"), condition("HeartbeatHealthy", healthy)],
        },
      } as unknown as SyncTarget).lease?.silentSinceMs;
    assert.equal(of("True"), undefined);
    assert.equal(of("Unknown"), startMs);
    assert.equal(of("False"), startMs);
    assert.equal(fencedAtMs(target("east"), workload, { kind: "Deployment" }), undefined);
  });

  it("fencing waits for Pods to terminate, for every kind that has a termination grace period", () => {
    const pod = { spec: { terminationGracePeriodSeconds: 600 } };
    const specs: readonly (readonly [string, object])[] = [
      ["Deployment", { template: pod }],
      ["StatefulSet", { template: pod }],
      ["Job", { template: pod }],
      ["CronJob", { jobTemplate: { spec: { template: pod } } }],
      ["Pod", pod.spec],
    ];
    for (const [kind, spec] of specs) {
      const object = { ...workload, kind, spec: spec as Workload["spec"] };
      const endMs = startMs + leaseMs + fenceMarginMs(leaseMs);
      assert.equal(fencedAtMs(silent("east"), object, { kind }), endMs + 600_000, kind);
      const brief = { ...object, spec: {} as Workload["spec"] };
      assert.equal(fencedAtMs(silent("east"), brief, { kind }), endMs + 30_000, kind);
    }
  });

  it("the heartbeat of a shared cluster is read in its compute workspace, as long as the cluster may be used", async () => {
    const fenced = new FencedClusters(new FakeClock());
    const of = (name: string, uid: string) => ({
      metadata: { name, uid },
      status: {
        leaseDurationSeconds: 60,
        conditions: [
          {
            type: "HeartbeatHealthy",
            status: "Unknown",
            lastTransitionTime: "2020-01-01T00:00:00Z",
          },
        ],
      },
    });
    const stored = new Map([
      ["tenant", [of("east", "1")]],
      ["compute", [of("east", "2"), of("west", "3")]],
    ]);
    const asked: string[] = [];
    const client = (cluster: ClusterName) => {
      asked.push(cluster);
      async function* pages() {
        yield { items: stored.get(cluster) ?? [] };
      }
      return { resource: () => ({ pages }) } as never;
    };
    const cluster = "tenant" as ClusterName;
    const compute = "compute" as ClusterName;
    const shared = sharedTargetName({ name: "west", cluster: compute });
    const { signal } = new AbortController();
    const read = async (computeWorkspaces: readonly ClusterName[], ...known: readonly string[]) => {
      const found = await fenced.read(
        { client, cluster, computeWorkspaces },
        known.map((name) => target(name)),
        signal,
      );
      return found.map(({ lease }) => lease?.silentSinceMs !== undefined);
    };
    assert.deepEqual(await read([compute], "east", shared), [true, true]);
    // The cluster is Unregistered, or its compute export is withdrawn.
    assert.deepEqual(await read([], "east", shared), [true, false]);
    asked.length = 0;
    await read([compute], "east");
    assert.deepEqual(asked, ["tenant"]);
  });

  it("a missed heartbeat counts from the observation of this process, by a monotonic clock", async () => {
    const clock = new FakeClock();
    const fenced = new FencedClusters(clock);
    let isHealthy = false;
    const item = () => ({
      metadata: { name: "east", uid: "1" },
      status: {
        leaseDurationSeconds: 60,
        conditions: [
          {
            type: "HeartbeatHealthy",
            status: isHealthy ? "True" : "Unknown",
            lastTransitionTime: "2020-01-01T00:00:00Z",
          },
        ],
      },
    });
    async function* pages() {
      yield { items: [item()] };
    }
    const client = () => ({ resource: () => ({ pages }) }) as never;
    const since = async () => {
      const { signal } = new AbortController();
      const known = [target("east"), silent("of-another-workspace")];
      const [found, other] = await fenced.read(
        { client, cluster: "root" as ClusterName },
        known,
        signal,
      );
      // A cluster that is only shared stays in the list, and never counts as fenced.
      assert.equal(other?.name, "of-another-workspace");
      assert.equal(other?.lease, undefined);
      return found?.lease?.silentSinceMs;
    };
    const seenAtMs = clock.now();
    assert.equal(await since(), seenAtMs);
    await clock.advance(30_000);
    assert.equal(await since(), seenAtMs);
    isHealthy = true;
    assert.equal(await since(), undefined);
    isHealthy = false;
    assert.equal(await since(), clock.now());
  });
});
