/**
 * Goal: the replicas that a move removes from one cluster before they are in another keep their
 * capacity for every reader, and never exceed the replicas that existed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { podsResource } from "../api/index.ts";
import { ReservationCache, type Usage } from "../scheduling/index.ts";
import { clusterCopyName, newClusterCopy } from "./cluster-copy.ts";
import type { ClusterInfo } from "./cluster-state.ts";
import { decide } from "./decide.ts";
import type { Deployment } from "./deployment.ts";
import { deploymentStrategy as strategy } from "./deployment-strategy.ts";
import { selectorAnnotation } from "./placement.ts";
import { type PlacementRecord, recordedInFlight } from "./placement-record.ts";
import { maxSurgeAnnotation, maxUnavailableAnnotation } from "./rollout-policy.ts";

const nowMs = Date.UTC(2026, 0, 1);
const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
const targets: readonly ClusterInfo[] = ["east", "west"].map((name) => ({
  name,
  labels: { name },
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
}));
const spec = { containers: [{ name: "web" }] };

/** A workload that moves from east to west, one replica at a time, with StopBeforeStart. */
function moving(): Deployment {
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
      },
    },
    spec: { replicas: 4, template: { spec } },
  };
}

function copy(parent: Deployment, cluster: string, replicas: number): Deployment {
  const share = { replicas };
  const made = newClusterCopy({ strategy, parent, cluster, share });
  const metadata = { ...made.metadata, name: clusterCopyName("web", cluster), generation: 1 };
  const status = { observedGeneration: 1, replicas, availableReplicas: replicas };
  return { ...parent, metadata, spec: made.spec, status } as Deployment;
}

const nobody: Usage = { inCluster: () => () => 0, byWorkspace: () => new Map() };

const east = { name: "east", desired: 4 };
/** The record of a decision that assigned all replicas to east. */
const settled: PlacementRecord = { observedGeneration: 1, clusters: [east] };
const inFlight = { replicas: 1, reserved: { pods: "1", workloads: "1" } };
const arriving: PlacementRecord = { ...settled, clusters: [east, { name: "west", inFlight }] };

function decided(
  record: PlacementRecord,
  shares: Record<string, number>,
  pods: number | undefined,
) {
  const parent = moving();
  const copies = Object.entries(shares).map(([name, replicas]) => copy(parent, name, replicas));
  const resourceLimits = { [podsResource]: String(pods) };
  const locationLimits = [{ location: "all", includes: () => true, resourceLimits }];
  const facts = { takenNames: new Set<string>(), targets, gracePeriods, nowMs };
  return decide({
    strategy,
    parent,
    record,
    copies,
    ...facts,
    scheduling: { usage: nobody, locationLimits: pods === undefined ? [] : locationLimits },
  });
}

const inFlightIn = ({ record }: ReturnType<typeof decided>) =>
  record.clusters?.find(({ name }) => name === "west")?.inFlight;

describe("replicas in flight between two clusters", () => {
  it("in-flight replicas are recorded before they are removed, where Locations limit capacity", () => {
    const decision = decided(settled, { east: 4 }, 4);
    assert.deepEqual(inFlightIn(decision), inFlight);
    assert.deepEqual(decision.scaleDowns.map(strategy.shareOf), [{ replicas: 3 }]);
    assert.deepEqual(inFlightIn(decided(arriving, { east: 4 }, 4)), inFlight);
    assert.equal(inFlightIn(decided(settled, { east: 4 }, undefined)), undefined);
  });

  it("in-flight replicas keep their capacity when limits are lowered at that moment", () => {
    const { creations, totalLimit } = decided(arriving, { east: 3 }, 0);
    assert.equal(totalLimit, undefined);
    assert.equal(creations.length, 1);
    // Without the record, one replica would be lost.
    assert.equal(decided(settled, { east: 3 }, 0).totalLimit?.replicas, 3);
  });

  it("the record is removed when the replicas have arrived, and not before", () => {
    const starting = decided(arriving, { east: 3 }, 4);
    assert.deepEqual([starting.creations.length, inFlightIn(starting)], [1, inFlight]);
    const arrived = decided(arriving, { east: 3, west: 1 }, 4);
    assert.deepEqual([arrived.scaleDowns.length, inFlightIn(arrived)?.replicas], [1, 1]);
    assert.equal(inFlightIn(decided(arriving, { west: 4 }, 4)), undefined);
    assert.equal(inFlightIn(decided(arriving, { west: 4 }, undefined)), undefined);
  });

  it("in-flight replicas are reserved for every reader of the workload", () => {
    const reservations = new ReservationCache({ clusterKeyOf: (_, target) => target });
    const subject = {
      cluster: "root" as ClusterName,
      namespace: "demo",
      resource: "deployments.apps",
    };
    const web = { ...subject, name: "web" };
    reservations.observeInFlight(web, recordedInFlight(arriving));
    const used = () => reservations.usedInWorkspace({ ...subject, name: "api" }, ["west"]);
    assert.equal(used().get(podsResource), 1000);
    assert.equal(reservations.usedInWorkspace(web, ["west"]).get(podsResource) ?? 0, 0);
    reservations.observeInFlight(web, new Map());
    assert.equal(used().get(podsResource) ?? 0, 0);
  });
});
