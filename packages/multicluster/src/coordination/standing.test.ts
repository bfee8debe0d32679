import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SyncTarget } from "../api/index.ts";
import {
  type ClusterInfo,
  clusterInfoForKind,
  clusterInfoOf,
  evaluateCluster,
} from "./standing.ts";

const patience = { graceMs: 60_000, settleMs: 10_000 };
const target = (more: Partial<ClusterInfo>): ClusterInfo => ({
  name: "east",
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
  isDeleting: false,
  ...more,
});
const standing = (nowMs: number, more: Partial<ClusterInfo> = {}) =>
  evaluateCluster(target(more), nowMs, patience).standing;

describe("the standing of a cluster", () => {
  it("is accepting when it has been Ready for long enough, and settling before", () => {
    assert.equal(standing(9999), "settling");
    assert.equal(standing(10_000), "accepting");
    assert.equal(evaluateCluster(target({}), 0, patience).untilMs, 10_000);
  });

  it("is lost when it has not been Ready for as long as the grace, and wavering before", () => {
    assert.equal(standing(59_999, { isReady: false }), "wavering");
    assert.equal(standing(60_000, { isReady: false }), "lost");
    assert.equal(evaluateCluster(target({ isReady: false }), 0, patience).untilMs, 60_000);
    assert.equal(evaluateCluster(target({ isReady: false }), 60_000, patience).untilMs, undefined);
  });

  it("is cordoned when nothing new may go there", () => {
    assert.equal(standing(20_000, { isUnschedulable: true }), "cordoned");
  });

  it("is leaving from the very moment of evictAfter, which is waited for", () => {
    assert.equal(standing(29_999, { evictAfterMs: 30_000 }), "accepting");
    assert.equal(
      evaluateCluster(target({ evictAfterMs: 30_000 }), 29_999, patience).untilMs,
      30_000,
    );
    assert.equal(standing(30_000, { evictAfterMs: 30_000 }), "leaving");
    assert.equal(standing(20_000, { isDeleting: true }), "leaving");
  });

  it("does not count reports before it has settled, whatever else it is", () => {
    assert.equal(evaluateCluster(target({ isDeleting: true }), 9999, patience).isTrusted, false);
    assert.equal(evaluateCluster(target({ isDeleting: true }), 10_000, patience).isTrusted, true);
  });

  it("is gone without a SyncTarget", () => {
    assert.equal(evaluateCluster(undefined, 0, patience).standing, "gone");
  });
});

describe("a SyncTarget", () => {
  const condition = (type: string, status: "True" | "False", lastTransitionTime: string) => ({
    type,
    status,
    reason: "Because",
    message: "",
    lastTransitionTime,
  });
  const syncTarget = (more: object, metadata: object = {}): SyncTarget => ({
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name: "east", creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    ...more,
  });

  it("is not ready since it was made when it says nothing", () => {
    const { isReady, changedAtMs } = clusterInfoOf(syncTarget({}));
    assert.equal(isReady, false);
    assert.equal(changedAtMs, Date.UTC(2026, 0, 1));
  });

  it("that is being deleted is judged by whether the cluster answers", () => {
    const conditions = [
      condition("Ready", "False", "2026-01-02T00:00:00Z"),
      condition("HeartbeatHealthy", "True", "2026-01-01T12:00:00Z"),
    ];
    const deletionTimestamp = "2026-01-02T00:00:00Z";
    const found = clusterInfoOf(syncTarget({ status: { conditions } }, { deletionTimestamp }));
    assert.equal(found.isReady, true);
    assert.equal(found.changedAtMs, Date.UTC(2026, 0, 1, 12));
    assert.equal(clusterInfoOf(syncTarget({ status: { conditions } })).isReady, false);
  });

  it("whose syncer does not sync Deployments gets none", () => {
    const isClosed = (target: ClusterInfo) =>
      clusterInfoForKind(target, "deployments.apps").isUnschedulable;
    const synced = (...syncedResources: string[]) =>
      isClosed(clusterInfoOf(syncTarget({ status: { syncedResources } })));
    assert.equal(synced("services"), true);
    assert.equal(synced("deployments.apps", "services"), false);
    assert.equal(isClosed(clusterInfoOf(syncTarget({}))), false);
  });

  it("with a date of eviction that is none is not evicted", () => {
    assert.equal(
      clusterInfoOf(syncTarget({ spec: { evictAfter: "soon" } })).evictAfterMs,
      undefined,
    );
  });
});
