import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SyncTarget } from "../api/index.ts";
import {
  type ClusterInfo,
  clusterInfoForKind,
  clusterInfoOf,
  evaluateCluster,
} from "./cluster-state.ts";

const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 10_000 };
const target = (more: Partial<ClusterInfo>): ClusterInfo => ({
  name: "east",
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
  ...more,
});
const state = (nowMs: number, more: Partial<ClusterInfo> = {}) =>
  evaluateCluster(target(more), nowMs, gracePeriods).state;

describe("cluster state", () => {
  it("a cluster is Ready when it has been Ready for recoveryMs, and Recovering before", () => {
    assert.equal(state(9999), "Recovering");
    assert.equal(state(10_000), "Ready");
    assert.equal(evaluateCluster(target({}), 0, gracePeriods).untilMs, 10_000);
  });

  it("a cluster is Unreachable when it has not been Ready for unreachableAfterMs, and NotReady before", () => {
    assert.equal(state(59_999, { isReady: false }), "NotReady");
    assert.equal(state(60_000, { isReady: false }), "Unreachable");
    assert.equal(evaluateCluster(target({ isReady: false }), 0, gracePeriods).untilMs, 60_000);
    assert.equal(
      evaluateCluster(target({ isReady: false }), 60_000, gracePeriods).untilMs,
      undefined,
    );
  });

  it("a change in the future, before the clock was set back, is long ago", () => {
    const afterwards = (more: Partial<ClusterInfo>) => {
      const changedAtMs = 2_500_000;
      const { state, untilMs } = evaluateCluster(target({ changedAtMs, ...more }), 0, gracePeriods);
      return [state, untilMs];
    };
    assert.deepEqual(afterwards({}), ["Ready", undefined]);
    assert.deepEqual(afterwards({ isReady: false }), ["Unreachable", undefined]);
    // The clocks of two servers differ a little.
    assert.equal(state(0, { changedAtMs: 60_000 }), "Recovering");
  });

  it("an unschedulable cluster is Cordoned", () => {
    assert.equal(state(20_000, { isUnschedulable: true }), "Cordoned");
  });

  it("a cluster that is drained without a budget, or deleted, is Draining", () => {
    assert.equal(state(20_000, { drain: "All" }), "Draining");
    assert.equal(state(20_000, { drain: "Budgeted" }), "Cordoned");
    assert.equal(state(20_000, { isDeleting: true }), "Draining");
  });

  it("reports of a cluster do not count before it has recovered, in any state", () => {
    assert.equal(
      evaluateCluster(target({ isDeleting: true }), 9999, gracePeriods).isTrusted,
      false,
    );
    assert.equal(
      evaluateCluster(target({ isDeleting: true }), 10_000, gracePeriods).isTrusted,
      true,
    );
  });

  it("a cluster without a SyncTarget is Unregistered", () => {
    assert.equal(evaluateCluster(undefined, 0, gracePeriods).state, "Unregistered");
  });
});

describe("cluster info of a SyncTarget", () => {
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

  it("a SyncTarget without conditions is not ready since its creation", () => {
    const { isReady, changedAtMs } = clusterInfoOf(syncTarget({}));
    assert.equal(isReady, false);
    assert.equal(changedAtMs, Date.UTC(2026, 0, 1));
  });

  it("a SyncTarget that is being deleted is ready if its heartbeat is healthy", () => {
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

  it("a SyncTarget that does not sync Deployments gets none", () => {
    const isClosed = (target: ClusterInfo) =>
      clusterInfoForKind(target, "deployments.apps").isUnschedulable;
    const synced = (...syncedResources: string[]) =>
      isClosed(clusterInfoOf(syncTarget({ status: { syncedResources } })));
    assert.equal(synced("services"), true);
    assert.equal(synced("deployments.apps", "services"), false);
    assert.equal(isClosed(clusterInfoOf(syncTarget({}))), false);
  });
});
