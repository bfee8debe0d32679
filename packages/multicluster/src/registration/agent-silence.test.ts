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
import { AgentLivenessMonitor, heartbeatToleranceMs } from "./agent-silence.ts";
import { targetStatus } from "./target-status.ts";

const key = { cluster: "root" as ClusterName, namespace: "", name: "east" };
const longMs = 20_000;
/** Of one that keeps to its word, nothing is heard for less. */
const silentMs = tunnellessHeartbeatMs + heartbeatToleranceMs + awakeGraceMs;

/** What one process sees of an agent. */
class Watching {
  readonly clock = new FakeClock();
  readonly looksAsked: string[] = [];
  readonly silence = new AgentLivenessMonitor({
    clock: this.clock,
    onOver: ({ name }) => void this.looksAsked.push(name),
  });
  status: SyncTargetStatus = {};

  /** By an agent whose clock may show anything. */
  beat(periodMs: number | undefined, aheadMs = 0): void {
    const nowMs = this.clock.now() + aheadMs;
    const { nextHeartbeatTime: _next, ...rest } = this.status;
    const next = periodMs && { nextHeartbeatTime: timestamp(nowMs + periodMs) };
    this.status = { ...rest, lastHeartbeatTime: timestamp(nowMs), ...(next || {}) };
  }

  look(isServerThere = true) {
    return this.silence.look(key, this.target, isServerThere);
  }

  get target(): SyncTarget {
    const about = { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget" };
    const { status } = this;
    return { ...about, metadata: { name: "east" }, spec: { mode: "Pull" }, status };
  }

  /** As `kubectl describe` shows it. */
  said(isServerThere = true): string {
    const heartbeat = { last: "", silentMs: 0, lateMs: 1, skewMs: 0 };
    const observation = {
      ...{ kind: "agent" as const, heartbeat },
      silence: this.look(isServerThere),
    };
    const { conditions = [] } = targetStatus(this.target, observation, this.clock.now());
    const ready = conditions.find(({ type }) => type === "Ready");
    // The lease is another matter.
    const healthy = conditions.find(({ type }) => type === "HeartbeatHealthy");
    assert.equal(healthy?.status, "True");
    return `${ready?.status} ${ready?.reason} ${ready?.message}`.trim();
  }
}

describe("an agent that promises its next heartbeat within seconds", () => {
  it("is silent when that stays away, and not a moment earlier, until the next one comes", () => {
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
      "Unknown AgentSilent no heartbeat has come since 2026-01-01T00:00:00Z, and the agent promised one every 2 s: look at the agent's log, and at its way to the control plane",
    );
    watching.beat(tunnellessHeartbeatMs);
    assert.equal(watching.said(), "True ClusterReady");
  });

  it("is counted from when the promise was seen, whatever the agent's clock shows", () => {
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

  it("was said to be silent by another process, and is until it is heard of", () => {
    const watching = new Watching();
    watching.beat(tunnellessHeartbeatMs);
    const since = { lastTransitionTime: timestamp(0), message: "" };
    const ready = { type: "Ready", status: "Unknown", reason: "AgentSilent", ...since } as const;
    watching.status = { ...watching.status, conditions: [ready] };
    assert.equal(watching.look(), "late");
    watching.clock.advance(1000);
    watching.beat(tunnellessHeartbeatMs);
    assert.equal(watching.look(), undefined);
  });

  it("leaves no timer behind when it is gone, or nobody looks any more", () => {
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

describe("an agent that promises no more than who has a tunnel", () => {
  it("is as good as its tunnel, while a server has it", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.beat(longMs);
    watching.look();
    watching.clock.advance(3_600_000);
    assert.equal(watching.look(), undefined);
    assert.equal(watching.clock.pendingTimers, 0);
  });

  it("is silent when no server has it, and nothing is heard for as long as from one without", () => {
    for (const tunnel of [
      { id: "a", server: "one" },
      { id: "a", server: "one", brokenAfter: "before" },
      undefined,
    ]) {
      const watching = new Watching();
      watching.status = tunnel === undefined ? {} : { tunnel };
      watching.beat(longMs);
      assert.equal(watching.look(false), undefined);
      watching.clock.advance(silentMs - 1);
      assert.equal(watching.look(false), undefined);
      watching.clock.advance(1);
      assert.match(watching.said(false), /^Unknown AgentSilent no server has the agent's tunnel/);
      watching.status = { ...watching.status, tunnel: { id: "b", server: "two" } };
      assert.equal(watching.look(), undefined);
    }
  });

  it("has its time from when the server is found to be gone", () => {
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

  it("knows better when it goes on: the server was only not found", () => {
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
    // Another tunnel is another matter.
    watching.status = { ...watching.status, tunnel: { id: "b", server: "two" } };
    watching.look(false);
    watching.clock.advance(silentMs);
    assert.equal(watching.look(false), "orphaned");
  });
});

describe("an agent that promises nothing", () => {
  it("is judged by its lease alone, also where another has promised something before it", () => {
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

  it("promises nothing either by times that are none", () => {
    const lastHeartbeatTime = "2026-01-01T00:00:00Z";
    for (const nextHeartbeatTime of ["", "soon", lastHeartbeatTime])
      assert.equal(heartbeatIntervalMsOf({ lastHeartbeatTime, nextHeartbeatTime }), undefined);
    assert.equal(heartbeatIntervalMsOf({ nextHeartbeatTime: lastHeartbeatTime }), undefined);
  });
});
