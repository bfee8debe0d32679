import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { clusterLabel } from "../../api/index.ts";
import type { ClusterInfo } from "../cluster-state.ts";
import type { DecideInput } from "../decide.ts";
import type { Workload } from "../workload.ts";
import { minMaxReplicasFor, autoscalerStrategy as strategy } from "./autoscaler.ts";

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

const scaler = (minReplicas: number, maxReplicas: number): Workload => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "web", namespace: "demo", uid: "whole", generation: 1 },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    minReplicas,
    maxReplicas,
  },
});

const deployment = (
  cluster: string | undefined,
  replicas: number,
  status: object = {},
): Workload => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: cluster === undefined ? "web" : `web--${cluster}`,
    namespace: "demo",
    uid: cluster === undefined ? "u-web" : `u-${cluster}`,
    ...(cluster === undefined ? {} : { labels: { [clusterLabel]: cluster } }),
  },
  spec: { replicas },
  status,
});

const copy = (cluster: string, desiredReplicas: number): Workload => ({
  ...scaler(1, 5),
  metadata: { name: `web--${cluster}`, labels: { [clusterLabel]: cluster }, generation: 1 },
  status: { desiredReplicas },
});

function decided(
  parent: Workload,
  related: readonly Workload[],
  copies: readonly Workload[] = [],
  targets: readonly ClusterInfo[] = [target("east"), target("west")],
) {
  const input: DecideInput = {
    strategy,
    parent,
    copies,
    related,
    takenNames: new Set(),
    targets,
    gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
    nowMs,
  };
  assert.ok(strategy.decide !== undefined);
  return strategy.decide(input);
}

describe("HorizontalPodAutoscaler over clusters", () => {
  it("the copies' minReplicas and maxReplicas add up to the workload's, with at least one replica in each cluster", () => {
    const limits = fc.record({
      min: fc.integer({ min: 1, max: 50 }),
      more: fc.integer({ min: 0, max: 50 }),
      replicas: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 8 }),
    });
    fc.assert(
      fc.property(limits, ({ min, more, replicas }) => {
        const copies = replicas.map((one, index) => deployment(`c${index}`, one));
        const shares = [...minMaxReplicasFor(scaler(min, min + more), copies, false).values()];
        const sum = (field: "min" | "max") => shares.reduce((total, one) => total + one[field], 0);
        for (const one of shares) assert.ok(one.min >= 1 && one.max >= one.min);
        assert.ok(sum("min") >= min && sum("min") <= Math.max(min, min + shares.length - 1));
        assert.ok(sum("max") >= min + more);
        if (min >= 31 * shares.length) assert.equal(sum("max"), min + more);
      }),
    );
  });

  it("minReplicas of a copy stays when one cluster reaches its own before the other", () => {
    const minsOf = (replicas: readonly [number, number], present?: ReadonlyMap<string, number>) => {
      const copies = [deployment("east", replicas[0]), deployment("west", replicas[1])];
      const shares = minMaxReplicasFor(scaler(6, 10), copies, false, present);
      return [...shares.values()].map(({ min }) => min);
    };
    assert.deepEqual(minsOf([2, 2]), [3, 3]);
    const even = new Map([
      ["east", 3],
      ["west", 3],
    ]);
    assert.deepEqual(minsOf([3, 2], even), [3, 3]);
    // No longer where that exceeds the maxReplicas of a cluster, or does not add up.
    assert.deepEqual(minsOf([8, 2], even), minsOf([8, 2]));
    assert.deepEqual(minsOf([3, 2], new Map([["east", 6]])), minsOf([3, 2]));
  });

  it("an autoscaler has a copy in each cluster of its Deployment, for the Deployment's copy there, and loses it with that copy", () => {
    const related = [deployment(undefined, 4), deployment("east", 4)];
    const { creations, removals } = decided(scaler(2, 8), related, [copy("west", 2)]);
    assert.deepEqual(
      creations.map(({ spec }) => spec),
      [
        {
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web--east" },
          minReplicas: 2,
          maxReplicas: 8,
        },
      ],
    );
    assert.deepEqual(
      removals.map(({ metadata }) => metadata.name),
      ["web--west"],
    );
  });

  it("the Deployment gets the sum of the replicas that the autoscalers' copies desire", () => {
    const related = [deployment(undefined, 4), deployment("east", 2), deployment("west", 2)];
    const copies = [copy("east", 5), copy("west", 2)];
    assert.deepEqual(decided(scaler(2, 10), related, copies).scale, {
      name: "web",
      uid: "u-web",
      replicas: 7,
    });
    assert.deepEqual(decided(scaler(2, 6), related, copies).scale, {
      name: "web",
      uid: "u-web",
      replicas: 6,
    });
    const off = [deployment(undefined, 0), ...related.slice(1)];
    assert.equal(decided(scaler(2, 10), off, copies).scale, undefined);
  });

  it("moving replicas do not count twice, and an Unreachable cluster does not reduce the desired replicas", () => {
    const moving = { conditions: [{ type: "Scheduled", status: "False", reason: "Migrating" }] };
    const related = [
      deployment(undefined, 4, moving),
      deployment("east", 4),
      deployment("west", 2),
    ];
    const copies = [copy("east", 4), copy("west", 2)];
    const move = decided(scaler(1, 10), related, copies);
    assert.equal(move.scale, undefined);
    // The destination's minReplicas are its desired replicas: load arrives only after the replicas
    // are available.
    assert.deepEqual(
      move.updates.map(({ spec }) => (spec as Record<string, unknown>)["minReplicas"]),
      [4, 2],
    );
    const placed = [deployment(undefined, 6), deployment("east", 6), deployment("west", 2)];
    const targets = [target("east"), target("west", { isReady: false })];
    const loss = decided(scaler(1, 10), placed, copies, targets);
    assert.equal(loss.scale, undefined);
    assert.deepEqual(loss.removals, []);
    const busy = [copy("east", 8), copy("west", 2)];
    assert.deepEqual(decided(scaler(1, 10), placed, busy, targets).scale, {
      name: "web",
      uid: "u-web",
      replicas: 8,
    });
  });

  it("maxReplicas of a copy grows only by what the other copies have given up", () => {
    const related = [deployment(undefined, 10), deployment("east", 8), deployment("west", 2)];
    const [east, west] = [copy("east", 8), copy("west", 2)];
    const maxOf = ({ spec }: Workload) => (spec as Record<string, unknown>)["maxReplicas"];
    const maxsOf = (copies: readonly Workload[], around = related) =>
      decided(scaler(2, 10), around, copies).updates.flatMap((one) => {
        const before = copies.find(({ metadata: { name } }) => name === one.metadata.name);
        const isSame = before !== undefined && maxOf(before) === maxOf(one);
        return isSame ? [] : [[one.metadata.labels?.[clusterLabel], maxOf(one)]];
      });
    assert.deepEqual(maxsOf([east, west]), [["west", 2]]);
    // West has the smaller maximum, and has not observed it, or still runs more.
    const lowered = { ...west, spec: { ...west.spec, maxReplicas: 2 } };
    const status = { desiredReplicas: 2, observedGeneration: 1 };
    const unobserved = { ...lowered, metadata: { ...west.metadata, generation: 2 }, status };
    assert.deepEqual(maxsOf([east, unobserved]), []);
    const full = [deployment(undefined, 10), deployment("east", 8), deployment("west", 4)];
    assert.deepEqual(maxsOf([east, lowered], full), [["east", 6]]);
    assert.deepEqual(maxsOf([east, lowered]), [["east", 8]]);
  });

  it("the current metrics are those of all copies, each weighed by its replicas", () => {
    const cpu = (current: object) => ({ type: "Resource", resource: { name: "cpu", current } });
    const reporting = (cluster: string, currentReplicas: number, current: object) => ({
      ...copy(cluster, currentReplicas),
      status: { currentReplicas, currentMetrics: [cpu(current)] },
    });
    const related = [deployment(undefined, 4), deployment("east", 3), deployment("west", 1)];
    const metricsOf = (copies: readonly Workload[]) =>
      (decided(scaler(1, 10), related, copies).status as { currentMetrics?: unknown })
        .currentMetrics;
    const copies = [
      reporting("east", 3, { averageUtilization: 80, averageValue: "80m" }),
      reporting("west", 1, { averageUtilization: 40, averageValue: "40m" }),
    ];
    assert.deepEqual(metricsOf(copies), [cpu({ averageUtilization: 70, averageValue: "70m" })]);
    const silent = { ...copy("west", 1), status: { currentReplicas: 1 } };
    assert.deepEqual(metricsOf([copies[0] as Workload, silent]), [
      cpu({ averageUtilization: 80, averageValue: "80m" }),
    ]);
    assert.equal(metricsOf([silent]), undefined);
  });

  it("an autoscaler reports a target that it cannot scale", () => {
    const set = { apiVersion: "apps/v1", kind: "StatefulSet", name: "db" };
    const odd = { ...scaler(1, 3), spec: { scaleTargetRef: set, maxReplicas: 3 } };
    assert.match(JSON.stringify(decided(odd, []).status), /UnsupportedTarget/);
    assert.match(JSON.stringify(decided(scaler(1, 3), []).status), /TargetNotFound/);
  });
});
