/**
 * Goal: the replicas that a move removes from one cluster before they are in another keep their
 * capacity for every reader, and never exceed the replicas that existed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { podsResource } from "../api/index.ts";
import {
  inFlightAnnotation,
  ReservationCache,
  readInFlight,
  type Usage,
} from "../scheduling/index.ts";
import { clusterCopyName, newClusterCopy } from "./cluster-copy.ts";
import type { ClusterInfo } from "./cluster-state.ts";
import { decide } from "./decide.ts";
import type { Deployment } from "./deployment.ts";
import { deploymentStrategy as strategy } from "./deployment-strategy.ts";
import { selectorAnnotation } from "./placement.ts";
import { placementHistoryAnnotation } from "./placement-history.ts";
import { maxSurgeAnnotation, maxUnavailableAnnotation } from "./rollout-policy.ts";

const nowMs = Date.UTC(2026, 0, 1);
const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
const targets: readonly ClusterInfo[] = ["east", "west"].map((name) => ({
  name,
  labels: { name },
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
  isDeleting: false,
}));
const spec = { containers: [{ name: "web" }] };

/** A workload that moves from east to west, one replica at a time, with StopBeforeStart. */
function moving(annotations: Record<string, string> = {}): Deployment {
  const last = { time: "2026-01-01T00:00:00Z", replicas: 4, assigned: { east: 4 }, reasons: [] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "web",
      namespace: "demo",
      uid: "whole",
      generation: 1,
      annotations: {
        [selectorAnnotation]: "name=west",
        [maxSurgeAnnotation]: "0",
        [maxUnavailableAnnotation]: "1",
        [placementHistoryAnnotation]: JSON.stringify([last]),
        ...annotations,
      },
    },
    spec: { replicas: 4, template: { spec } },
  };
}

function copy(parent: Deployment, cluster: string, replicas: number): Deployment {
  const share = { replicas };
  const made = newClusterCopy({ strategy, parent, cluster, share, desiredReplicas: 4 });
  const metadata = { ...made.metadata, name: clusterCopyName("web", cluster), generation: 1 };
  const status = { observedGeneration: 1, replicas, availableReplicas: replicas };
  return { ...parent, metadata, spec: made.spec, status } as Deployment;
}

const nobody: Usage = { inCluster: () => () => 0, byWorkspace: () => new Map() };

function decided(parent: Deployment, shares: Record<string, number>, pods: number | undefined) {
  const copies = Object.entries(shares).map(([name, replicas]) => copy(parent, name, replicas));
  const resourceLimits = { [podsResource]: String(pods) };
  const locationLimits = [{ location: "all", includes: () => true, resourceLimits }];
  const facts = { takenNames: new Set<string>(), targets, gracePeriods, nowMs };
  return decide({
    strategy,
    parent,
    copies,
    ...facts,
    scheduling: { usage: nobody, locationLimits: pods === undefined ? [] : locationLimits },
  });
}

const inFlight = JSON.stringify({ west: { replicas: 1, reserved: "pods=1,workloads=1" } });

describe("replicas in flight between two clusters", () => {
  it("in-flight replicas are recorded before they are removed, where Locations limit capacity", () => {
    const decision = decided(moving(), { east: 4 }, 4);
    assert.deepEqual(decision.annotations, { [inFlightAnnotation]: inFlight });
    // The next reconcile does the work that depends on the record.
    const next = decided(moving({ [inFlightAnnotation]: inFlight }), { east: 4 }, 4);
    assert.equal(next.annotations, undefined);
    assert.deepEqual(next.scaleDowns.map(strategy.shareOf), [{ replicas: 3 }]);
    assert.equal(decided(moving(), { east: 4 }, undefined).annotations, undefined);
  });

  it("in-flight replicas keep their capacity when limits are lowered at that moment", () => {
    const parent = moving({ [inFlightAnnotation]: inFlight });
    const { creations, totalLimit } = decided(parent, { east: 3 }, 0);
    assert.equal(totalLimit, undefined);
    assert.equal(creations.length, 1);
    // Without the record, one replica would be lost.
    assert.equal(decided(moving(), { east: 3 }, 0).totalLimit?.replicas, 3);
  });

  it("the record is removed when the replicas have arrived, and not before", () => {
    const parent = moving({ [inFlightAnnotation]: inFlight });
    const arriving = decided(parent, { east: 3 }, 4);
    assert.deepEqual([arriving.creations.length, arriving.removedAnnotations], [1, undefined]);
    const arrived = decided(parent, { east: 3, west: 1 }, 4);
    assert.ok(arrived.removedAnnotations === undefined || arrived.scaleDowns.length === 0);
    const done = decided(moving({ [inFlightAnnotation]: inFlight }), { west: 4 }, 4);
    assert.deepEqual(done.removedAnnotations, [inFlightAnnotation]);
    const unbounded = decided(parent, { west: 4 }, undefined);
    assert.deepEqual(unbounded.removedAnnotations, [inFlightAnnotation]);
  });

  it("in-flight replicas are reserved for every reader of the workload", () => {
    const reservations = new ReservationCache({ clusterKeyOf: (_, target) => target });
    const subject = {
      cluster: "root" as ClusterName,
      namespace: "demo",
      resource: "deployments.apps",
    };
    const web = { ...subject, name: "web" };
    reservations.observeInFlight(web, readInFlight({ [inFlightAnnotation]: inFlight }));
    const used = () => reservations.usedInWorkspace({ ...subject, name: "api" }, ["west"]);
    assert.equal(used().get(podsResource), 1000);
    assert.equal(reservations.usedInWorkspace(web, ["west"]).get(podsResource) ?? 0, 0);
    reservations.observeInFlight(web, new Map());
    assert.equal(used().get(podsResource) ?? 0, 0);
  });

  it("an invalid record counts as no replicas in flight", () => {
    for (const text of [
      "",
      "[",
      "null",
      "3",
      '{"west":1}',
      '{"west":{"replicas":-1}}',
      '{"west":{"replicas":1e99}}',
    ])
      assert.equal(readInFlight({ [inFlightAnnotation]: text }).size, 0, text);
    const odd = readInFlight({ [inFlightAnnotation]: '{"west":{"replicas":2,"reserved":7}}' });
    assert.equal(odd.get("west")?.reserved.size, 0);
  });
});
