import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awakeGraceMs } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatKey, timestamp } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import {
  heartbeatIntervalMsOf,
  type SyncTarget,
  type SyncTargetStatus,
  tunnellessHeartbeatMs,
} from "../api/index.ts";
import { AgentLivenessMonitor, heartbeatToleranceMs } from "./agent-liveness.ts";
import { targetStatus } from "./target-status.ts";

const key = { cluster: "root" as ClusterName, namespace: "", name: "east" };
const longMs = 20_000;
/** The longest time between two heartbeats of an agent that keeps its promises. */
const silentMs = tunnellessHeartbeatMs + heartbeatToleranceMs + awakeGraceMs;

/** One server process that observes an agent. */
class Watching {
  readonly clock = new FakeClock();
  readonly looksAsked: string[] = [];
  readonly silence = new AgentLivenessMonitor({
    clock: this.clock,
    onExpired: ({ name }) => void this.looksAsked.push(name),
  });
  status: SyncTargetStatus = {};

  /** A heartbeat of an agent whose clock is off by `aheadMs`. */
  beat(periodMs: number | undefined, aheadMs = 0): void {
    const nowMs = this.clock.now() + aheadMs;
    const { nextHeartbeatTime: _next, ...rest } = this.status;
    const next = periodMs && { nextHeartbeatTime: timestamp(nowMs + periodMs) };
    this.status = { ...rest, lastHeartbeatTime: timestamp(nowMs), ...(next || {}) };
  }

  look(isServerThere = true) {
    return this.silence.observe(key, this.target, isServerThere);
  }

  get target(): SyncTarget {
    const about = { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget" };
    const { status } = this;
    return { ...about, metadata: { name: "east" }, spec: { mode: "Pull" }, status };
  }

  /** The condition as `kubectl describe` shows it. */
  said(isServerThere = true): string {
    const heartbeat = { last: "", silentMs: 0, lateMs: 1, skewMs: 0 };
    const observation = { kind: "agent" as const, heartbeat, liveness: this.look(isServerThere) };
    const { conditions = [] } = targetStatus(this.target, observation, this.clock.now());
    const ready = conditions.find(({ type }) => type === "Ready");
    // The lease has its own evaluation.
    const healthy = conditions.find(({ type }) => type === "HeartbeatHealthy");
    assert.equal(healthy?.status, "True");
    return `${ready?.status} ${ready?.reason} ${ready?.message}`.trim();
  }
}

describe("an agent that promises its next heartbeat within seconds", () => {
  it("the agent is silent when the promised heartbeat is missing, not earlier, and until the next heartbeat", () => {
    const watching = new Watching();
    watching.beat(tunnellessHeartbeatMs);
    assert.equal(watching.look(), undefined);
    watching.clock.advance(silentMs - 1);
    assert.equal(watching.look(), undefined);
    assert.deepEqual(watching.looksAsked, []);
    watching.clock.advance(1);
    assert.deepEqual(watching.looksAsked, ["east"]);
    assert.equal(
      watching.said(),
      "Unknown AgentHeartbeatMissed no heartbeat has come since 2026-01-01T00:00:00Z, and the agent promised one every 2 s: look at the agent's log, and at its way to the control plane",
    );
    watching.beat(tunnellessHeartbeatMs);
    assert.equal(watching.said(), "True ClusterReady");
  });

  it("the promised time counts from the observation of the promise, independent of the agent's clock", () => {
    for (const aheadMs of [-86_400_000, 86_400_000]) {
      const watching = new Watching();
      watching.beat(tunnellessHeartbeatMs, aheadMs);
      watching.look();
      for (let beats = 0; beats < 5; beats++) {
        watching.clock.advance(silentMs - 1);
        watching.beat(tunnellessHeartbeatMs, aheadMs);
        assert.equal(watching.look(), undefined);
      }
      watching.clock.advance(silentMs);
      assert.equal(watching.look(), "late");
    }
  });

  it("an agent that another process reported as silent stays silent until its next heartbeat", () => {
    const watching = new Watching();
    watching.beat(tunnellessHeartbeatMs);
    const since = { lastTransitionTime: timestamp(0), message: "" };
    const ready = {
      type: "Ready",
      status: "Unknown",
      reason: "AgentHeartbeatMissed",
      ...since,
    } as const;
    watching.status = { ...watching.status, conditions: [ready] };
    assert.equal(watching.look(), "late");
    watching.clock.advance(1000);
    watching.beat(tunnellessHeartbeatMs);
    assert.equal(watching.look(), undefined);
  });

  it("no timer remains after the agent is deleted or its observation ends", () => {
    for (const leave of ["forget", "close"] as const) {
      const watching = new Watching();
      watching.beat(tunnellessHeartbeatMs);
      watching.look();
      assert.equal(watching.clock.pendingTimers, 1);
      watching.silence[leave](formatKey(key));
      assert.equal(watching.clock.pendingTimers, 0);
    }
  });
});

describe("an agent that promises the heartbeats of an agent with a tunnel", () => {
  it("the agent is live while a server holds its tunnel", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.beat(longMs);
    watching.look();
    watching.clock.advance(3_600_000);
    assert.equal(watching.look(), undefined);
    assert.equal(watching.clock.pendingTimers, 0);
  });

  it("the agent is silent when no server holds its tunnel and no heartbeat arrives in the time of an agent without a tunnel", () => {
    for (const tunnel of [
      { id: "a", server: "one" },
      { id: "a", server: "one", disconnectedAt: "before" },
      undefined,
    ]) {
      const watching = new Watching();
      watching.status = tunnel === undefined ? {} : { tunnel };
      watching.beat(longMs);
      assert.equal(watching.look(false), undefined);
      watching.clock.advance(silentMs - 1);
      assert.equal(watching.look(false), undefined);
      watching.clock.advance(1);
      assert.match(
        watching.said(false),
        /^Unknown AgentHeartbeatMissed no server has the agent's tunnel/,
      );
      watching.status = { ...watching.status, tunnel: { id: "b", server: "two" } };
      assert.equal(watching.look(), undefined);
    }
  });

  it("the time to the next heartbeat starts when the tunnel's server is found to be missing", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.beat(longMs);
    watching.look();
    watching.clock.advance(60_000);
    assert.equal(watching.look(false), undefined);
    watching.clock.advance(silentMs - 1);
    assert.equal(watching.look(false), undefined);
    watching.clock.advance(1);
    assert.equal(watching.look(false), "orphaned");
  });

  it("further heartbeats with the same tunnel show that its server exists and only was not found", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.beat(longMs);
    watching.look(false);
    watching.clock.advance(longMs);
    assert.equal(watching.look(false), "orphaned");
    for (let beats = 0; beats < 3; beats++) {
      watching.beat(longMs);
      assert.equal(watching.look(false), undefined);
      watching.clock.advance(longMs);
      assert.equal(watching.look(false), undefined);
    }
    // Another tunnel gets a new evaluation.
    watching.status = { ...watching.status, tunnel: { id: "b", server: "two" } };
    watching.look(false);
    watching.clock.advance(silentMs);
    assert.equal(watching.look(false), "orphaned");
  });
});

describe("an agent that promises no heartbeat interval", () => {
  it("the agent is evaluated by its lease alone, even after a promise of another agent", () => {
    const watching = new Watching();
    watching.beat(tunnellessHeartbeatMs);
    const { nextHeartbeatTime = "" } = watching.status;
    watching.clock.advance(longMs);
    watching.beat(undefined);
    watching.status = { ...watching.status, nextHeartbeatTime };
    watching.look(false);
    watching.clock.advance(3_600_000);
    assert.equal(watching.look(false), undefined);
  });

  it("invalid intervals are no promise", () => {
    const lastHeartbeatTime = "2026-01-01T00:00:00Z";
    for (const nextHeartbeatTime of ["", "soon", lastHeartbeatTime])
      assert.equal(heartbeatIntervalMsOf({ lastHeartbeatTime, nextHeartbeatTime }), undefined);
    assert.equal(heartbeatIntervalMsOf({ nextHeartbeatTime: lastHeartbeatTime }), undefined);
  });
});
