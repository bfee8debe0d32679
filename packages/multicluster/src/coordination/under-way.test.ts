/** Goal: what a move takes from one cluster before it is in another keeps its room, whoever looks meanwhile, and is never more than was there. */
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
import { decide } from "./decide.ts";
import type { Deployment } from "./deployment.ts";
import { deploymentStrategy as strategy } from "./deployment-strategy.ts";
import { clusterCopyName, newClusterCopy } from "./part.ts";
import { selectorAnnotation } from "./placement.ts";
import { placementHistoryAnnotation } from "./placement-history.ts";
import { maxSurgeAnnotation, maxUnavailableAnnotation } from "./rollout.ts";
import type { ClusterInfo } from "./standing.ts";

const nowMs = Date.UTC(2026, 0, 1);
const patience = { graceMs: 60_000, settleMs: 0 };
const targets: readonly ClusterInfo[] = ["east", "west"].map((name) => ({
  ...{ name, labels: { name }, isReady: true, changedAtMs: 0, isUnschedulable: false },
  ...{ evictAfterMs: undefined, isDeleting: false },
}));
const spec = { containers: [{ name: "web" }] };

/** It is in east, and is to go to west, one at a time and break before make. */
function moving(annotations: Record<string, string> = {}): Deployment {
  const last = { time: "2026-01-01T00:00:00Z", replicas: 4, split: { east: 4 }, because: [] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      ...{ name: "web", namespace: "demo", uid: "whole", generation: 1 },
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

function part(parent: Deployment, cluster: string, replicas: number): Deployment {
  const share = { replicas };
  const made = newClusterCopy({ strategy, parent, cluster, share, askedReplicas: 4 });
  const metadata = { ...made.metadata, name: clusterCopyName("web", cluster), generation: 1 };
  const status = { observedGeneration: 1, replicas, availableReplicas: replicas };
  return { ...parent, metadata, spec: made.spec, status } as Deployment;
}

const nobody: Usage = { inCluster: () => () => 0, byWorkspace: () => new Map() };

function decided(parent: Deployment, shares: Record<string, number>, pods: number | undefined) {
  const parts = Object.entries(shares).map(([name, replicas]) => part(parent, name, replicas));
  const bounds = { [podsResource]: String(pods) };
  const allowances = [{ location: "all", includes: () => true, bounds }];
  const facts = { takenNames: new Set<string>(), targets, patience, nowMs };
  return decide({
    ...{ strategy, parent, parts, ...facts },
    surroundings: { usage: nobody, allowances: pods === undefined ? [] : allowances },
  });
}

const underWay = JSON.stringify({ west: { replicas: 1, reserved: "pods=1,workloads=1" } });

describe("what is between two clusters", () => {
  it("is said before it is taken away, where Locations bound what there may be", () => {
    const decision = decided(moving(), { east: 4 }, 4);
    assert.deepEqual(decision.annotations, { [inFlightAnnotation]: underWay });
    // What depends on it is done by the next look.
    const next = decided(moving({ [inFlightAnnotation]: underWay }), { east: 4 }, 4);
    assert.equal(next.annotations, undefined);
    assert.deepEqual(next.cuts.map(strategy.shareOf), [{ replicas: 3 }]);
    assert.equal(decided(moving(), { east: 4 }, undefined).annotations, undefined);
  });

  it("has its room when bounds are lowered just then", () => {
    const parent = moving({ [inFlightAnnotation]: underWay });
    const { creations, total } = decided(parent, { east: 3 }, 0);
    assert.equal(total, undefined);
    assert.equal(creations.length, 1);
    // Were it not said, one would be lost.
    assert.equal(decided(moving(), { east: 3 }, 0).total?.replicas, 3);
  });

  it("is taken back when it has arrived, and not before", () => {
    const parent = moving({ [inFlightAnnotation]: underWay });
    const arriving = decided(parent, { east: 3 }, 4);
    assert.deepEqual([arriving.creations.length, arriving.obsolete], [1, undefined]);
    const arrived = decided(parent, { east: 3, west: 1 }, 4);
    assert.ok(arrived.obsolete === undefined || arrived.cuts.length === 0);
    const done = decided(moving({ [inFlightAnnotation]: underWay }), { west: 4 }, 4);
    assert.deepEqual(done.obsolete, [inFlightAnnotation]);
    const unbounded = decided(parent, { west: 4 }, undefined);
    assert.deepEqual(unbounded.obsolete, [inFlightAnnotation]);
  });

  it("is reserved for everybody who reads the whole", () => {
    const ledger = new ReservationCache({ placeOf: (_, target) => target });
    const subject = {
      cluster: "root" as ClusterName,
      namespace: "demo",
      resource: "deployments.apps",
    };
    const web = { ...subject, name: "web" };
    ledger.seeUnderWay(web, readInFlight({ [inFlightAnnotation]: underWay }));
    const used = () => ledger.usedInWorkspace({ ...subject, name: "api" }, ["west"]);
    assert.equal(used().get(podsResource), 1000);
    assert.equal(ledger.usedInWorkspace(web, ["west"]).get(podsResource) ?? 0, 0);
    ledger.seeUnderWay(web, new Map());
    assert.equal(used().get(podsResource) ?? 0, 0);
  });

  it("is nothing where it cannot be read", () => {
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
