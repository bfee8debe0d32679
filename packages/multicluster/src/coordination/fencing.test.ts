import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { findCondition } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { type SyncTarget, sharedTargetName, stopBeforeStartLabel } from "../api/index.ts";
import { type DecideInput, decide } from "./decide.ts";
import type { Deployment } from "./deployment.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { FencedClusters, fencedAtMs, fenceMarginMs } from "./fencing.ts";
import type { ClusterCopy, ClusterShare } from "./members.ts";
import { newClusterCopy } from "./part.ts";
import { planStopBeforeStart } from "./plan-exclusive.ts";
import type { Plan } from "./plan-moves.ts";
import { planOrdinals } from "./plan-ordinals.ts";
import { failoverStrategyAnnotation } from "./rollout.ts";
import { type ClusterInfo, clusterInfoOf } from "./standing.ts";
import type { Workload } from "./workload.ts";

const startMs = Date.UTC(2026, 0, 1);
const leaseMs = 60_000;
const patience = { graceMs: 10_000, settleMs: 0 };
const target = (name: string, more: Partial<ClusterInfo> = {}): ClusterInfo => ({
  name,
  labels: {},
  taints: [],
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
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
const whole: Workload = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "db",
    namespace: "demo",
    uid: "whole",
    generation: 1,
    annotations: { [failoverStrategyAnnotation]: "true" },
  },
  spec: { replicas: 1, template: { spec: { terminationGracePeriodSeconds: 5 } } },
};
const stoppedAtMs = startMs + leaseMs + fenceMarginMs(leaseMs) + 5000;

function part(cluster: string, replicas: number, running = replicas): Workload {
  const share = { replicas };
  const made = newClusterCopy({
    strategy: deploymentStrategy,
    parent: whole,
    cluster,
    share,
    askedReplicas: 1,
    isAtMostOne: true,
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
    parent: whole,
    parts: [],
    takenNames: new Set(),
    targets: [],
    patience,
    nowMs: startMs,
    ...input,
  });
  const replicas = (one: object) => (one as Workload).spec as { replicas: number };
  const written = [...decision.creations, ...decision.updates, ...decision.cuts].map(
    (one) => `${one.metadata.name} ${replicas(one).replicas}`,
  );
  const { conditions } = decision.status as { conditions: never };
  return { written, placed: findCondition(conditions, "Placed"), wakeAtMs: decision.wakeAtMs };
};

describe("what may run once at most", () => {
  it("is marked on its parts, for the agents", () => {
    assert.equal(part("east", 1).metadata.labels?.[stopBeforeStartLabel], "true");
  });

  it("is started elsewhere when the lease is surely over, its Pods have ended, and its part says none", () => {
    const targets = [silent("east"), target("west")];
    const lost = { parts: [part("east", 1)], targets };
    const before = decided({ ...lost, nowMs: stoppedAtMs - 1 });
    // Only that its cluster is lost is noted.
    assert.deepEqual(before.written, ["db--east 1"]);
    assert.equal(before.placed?.reason, "Unfenced");
    assert.equal(before.wakeAtMs, stoppedAtMs);
    assert.deepEqual(decided({ ...lost, nowMs: stoppedAtMs }).written, ["db--east 0"]);
    const none = { parts: [part("east", 0, 1)], targets, nowMs: stoppedAtMs };
    assert.ok(decided(none).written.includes("db--west 1"));
  });

  it("is not started elsewhere while its heartbeats count, or where nobody stops it", () => {
    const lateMs = startMs + 3_600_000;
    const notReady = { isReady: false, changedAtMs: startMs };
    for (const lease of [{ durationMs: leaseMs, silentSinceMs: undefined }, undefined]) {
      const targets = [target("east", { ...notReady, lease }), target("west")];
      const { written, placed } = decided({ parts: [part("east", 1)], targets, nowMs: lateMs });
      assert.deepEqual(written, ["db--east 1"]);
      assert.equal(placed?.reason, "Unfenced");
    }
  });

  it("moves by stopping first", () => {
    const targets = [target("east", { drain: "all" }), target("west")];
    assert.deepEqual(decided({ parts: [part("east", 1)], targets }).written, ["db--east 0"]);
    assert.deepEqual(decided({ parts: [part("east", 0, 1)], targets }).written, []);
    assert.deepEqual(decided({ parts: [part("east", 0, 0)], targets }).written, ["db--west 1"]);
  });
});

describe("at most one, for other kinds", () => {
  const has = (replicas: number, more: Partial<ClusterCopy> = {}): ClusterCopy => ({
    replicas,
    available: replicas,
    running: replicas,
    isObserved: true,
    isStuck: false,
    isGoing: false,
    isPinned: false,
    ...more,
  });
  const members = (
    isFenced: boolean,
    east: ClusterCopy,
    west?: ClusterCopy,
  ): readonly ClusterShare[] => [
    { name: "east", standing: "lost", isFenced, part: east },
    { name: "west", standing: "accepting", isFenced: false, part: west },
  ];
  const stepOf = ({ next }: Plan) => Object.fromEntries(next);

  it("numbers of a lost cluster are given to another when it has stopped them and its part says none", () => {
    const step = (...of: Parameters<typeof members>) =>
      stepOf(planOrdinals({ replicas: 4, first: 0, members: members(...of) }));
    const [two, west] = [has(2, { start: 0 }), has(2, { start: 2 })];
    assert.deepEqual(step(false, two, west), { east: 2, west: 2 });
    assert.deepEqual(step(true, two, west), { east: 0, west: 2 });
    assert.deepEqual(step(true, has(0, { start: 0, running: 2 }), west), { east: 0, west: 4 });
    // When it is back, it has none.
    const back = members(false, has(0, { start: 0 }), has(4, { start: 0 })).map((one) => ({
      ...one,
      standing: "accepting" as const,
    }));
    assert.deepEqual(stepOf(planOrdinals({ replicas: 4, first: 0, members: back })), {
      east: 0,
      west: 4,
    });
  });

  it("what is in one cluster only waits for the fence, too", () => {
    const step = (canRest: boolean, ...of: Parameters<typeof members>) =>
      stepOf(planStopBeforeStart({ replicas: 1, members: members(...of), canRest }));
    for (const canRest of [true, false]) {
      assert.deepEqual(step(canRest, false, has(1)), { east: 1 });
      assert.deepEqual(step(canRest, true, has(1)), { east: canRest ? 0 : "remove" });
    }
    assert.deepEqual(step(true, true, has(0)), { east: 0, west: 1 });
    assert.deepEqual(step(false, true, has(1, { isGoing: true })), { west: 1 });
    const unasked = members(false, has(1)).map(({ isFenced: _, ...one }) => one);
    assert.deepEqual(stepOf(planStopBeforeStart({ replicas: 1, members: unasked })), {
      east: 1,
      west: 1,
    });
  });
});

describe("silence", () => {
  it("is read from heartbeats and not from readiness", () => {
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
    assert.equal(fencedAtMs(target("east"), whole, { kind: "Deployment" }), undefined);
  });

  it("waits for Pods to end, wherever their kind says how long that takes", () => {
    const pod = { spec: { terminationGracePeriodSeconds: 600 } };
    const specs: readonly (readonly [string, object])[] = [
      ["Deployment", { template: pod }],
      ["StatefulSet", { template: pod }],
      ["Job", { template: pod }],
      ["CronJob", { jobTemplate: { spec: { template: pod } } }],
      ["Pod", pod.spec],
    ];
    for (const [kind, spec] of specs) {
      const object = { ...whole, kind, spec: spec as Workload["spec"] };
      const endMs = startMs + leaseMs + fenceMarginMs(leaseMs);
      assert.equal(fencedAtMs(silent("east"), object, { kind }), endMs + 600_000, kind);
      const brief = { ...object, spec: {} as Workload["spec"] };
      assert.equal(fencedAtMs(silent("east"), brief, { kind }), endMs + 30_000, kind);
    }
  });

  it("of a cluster of another workspace is read there, as long as it may be used", async () => {
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
    const read = async (homes: readonly ClusterName[], ...known: readonly string[]) => {
      const found = await fenced.read(
        { client, cluster, homes },
        known.map((name) => target(name)),
        signal,
      );
      return found.map(({ lease }) => lease?.silentSinceMs !== undefined);
    };
    assert.deepEqual(await read([compute], "east", shared), [true, true]);
    // It has left, or the offer has ended.
    assert.deepEqual(await read([], "east", shared), [true, false]);
    asked.length = 0;
    await read([compute], "east");
    assert.deepEqual(asked, ["tenant"]);
  });

  it("counts from when this process saw it, by a clock that nobody sets", async () => {
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
      // What is only used here stays, and is never held for stopped.
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
