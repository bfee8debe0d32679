import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awakeGraceMs } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatKey, timestamp } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import {
  renewalOf,
  renewIntervalAnnotation,
  type SyncTarget,
  type SyncTargetStatus,
  tunnellessRenewMs,
} from "../api/index.ts";
import { AgentLivenessMonitor, renewalToleranceMs } from "./agent-liveness.ts";
import { targetStatus } from "./target-status.ts";

const key = { cluster: "root" as ClusterName, namespace: "", name: "east" };
const longMs = 20_000;
/** The longest time between two renewals of an agent that keeps its promises. */
const silentMs = tunnellessRenewMs + renewalToleranceMs + awakeGraceMs;

/** One server process that observes an agent. */
class Watching {
  readonly clock = new FakeClock();
  readonly looksAsked: string[] = [];
  readonly silence = new AgentLivenessMonitor({
    clock: this.clock,
    onExpired: ({ name }) => void this.looksAsked.push(name),
  });
  status: SyncTargetStatus = {};
  #renewal: ReturnType<typeof renewalOf>;

  /** A renewal by an agent whose clock is off by `aheadMs`. */
  renew(periodMs: number | undefined, aheadMs = 0): void {
    const annotations =
      periodMs === undefined ? {} : { [renewIntervalAnnotation]: String(periodMs / 1000) };
    const spec = { renewTime: timestamp(this.clock.now() + aheadMs) };
    this.#renewal = renewalOf({ metadata: { name: "kcp-syncer-east", annotations }, spec });
  }

  look(isServerThere = true) {
    const renewal = this.#renewal;
    return this.silence.observe(key, this.target, { renewal, isServerThere });
  }

  get target(): SyncTarget {
    const about = { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget" };
    const { status } = this;
    return { ...about, metadata: { name: "east" }, spec: { mode: "Pull" }, status };
  }

  /** The condition as `kubectl describe` shows it. */
  said(isServerThere = true): string {
    const renewal = this.#renewal;
    assert.ok(renewal !== undefined);
    const heartbeat = { renewal, silentMs: 0, skewMs: 0 };
    const observation = { kind: "agent" as const, heartbeat, liveness: this.look(isServerThere) };
    const { conditions = [] } = targetStatus(this.target, observation, this.clock.now());
    const ready = conditions.find(({ type }) => type === "Ready");
    // The lease has its own evaluation.
    const healthy = conditions.find(({ type }) => type === "HeartbeatHealthy");
    assert.equal(healthy?.status, "True");
    return `${ready?.status} ${ready?.reason} ${ready?.message}`.trim();
  }
}

describe("an agent that promises its next renewal within seconds", () => {
  it("the agent is silent when the promised renewal is missing, not earlier, and until the next renewal", () => {
    const watching = new Watching();
    watching.renew(tunnellessRenewMs);
    assert.equal(watching.look(), undefined);
    watching.clock.advance(silentMs - 1);
    assert.equal(watching.look(), undefined);
    assert.deepEqual(watching.looksAsked, []);
    watching.clock.advance(1);
    assert.deepEqual(watching.looksAsked, ["east"]);
    assert.equal(
      watching.said(),
      "Unknown AgentHeartbeatMissed the agent has not renewed its Lease since 2026-01-01T00:00:00Z, and promised to do so every 2 s: look at the agent's log, and at its way to the control plane",
    );
    watching.renew(tunnellessRenewMs);
    assert.equal(watching.said(), "True ClusterReady");
  });

  it("the promised time counts from the observation of the promise, independent of the agent's clock", () => {
    for (const aheadMs of [-86_400_000, 86_400_000]) {
      const watching = new Watching();
      watching.renew(tunnellessRenewMs, aheadMs);
      watching.look();
      for (let renewals = 0; renewals < 5; renewals++) {
        watching.clock.advance(silentMs - 1);
        watching.renew(tunnellessRenewMs, aheadMs);
        assert.equal(watching.look(), undefined);
      }
      watching.clock.advance(silentMs);
      assert.equal(watching.look(), "late");
    }
  });

  it("an agent that another process reported as silent stays silent until its next renewal", () => {
    const watching = new Watching();
    watching.renew(tunnellessRenewMs);
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
    watching.renew(tunnellessRenewMs);
    assert.equal(watching.look(), undefined);
  });

  it("no timer remains after the agent is deleted or its observation ends", () => {
    for (const leave of ["forget", "close"] as const) {
      const watching = new Watching();
      watching.renew(tunnellessRenewMs);
      watching.look();
      assert.equal(watching.clock.pendingTimers, 1);
      watching.silence[leave](formatKey(key));
      assert.equal(watching.clock.pendingTimers, 0);
    }
  });
});

describe("an agent that promises the renewals of an agent with a tunnel", () => {
  it("the agent is live while a server holds its tunnel", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.renew(longMs);
    watching.look();
    watching.clock.advance(3_600_000);
    assert.equal(watching.look(), undefined);
    assert.equal(watching.clock.pendingTimers, 0);
  });

  it("the agent is silent when no server holds its tunnel and no renewal arrives in the time of an agent without a tunnel", () => {
    for (const tunnel of [
      { id: "a", server: "one" },
      { id: "a", server: "one", disconnectedAt: "before" },
      undefined,
    ]) {
      const watching = new Watching();
      watching.status = tunnel === undefined ? {} : { tunnel };
      watching.renew(longMs);
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

  it("the time to the next renewal starts when the tunnel's server is found to be missing", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.renew(longMs);
    watching.look();
    watching.clock.advance(60_000);
    assert.equal(watching.look(false), undefined);
    watching.clock.advance(silentMs - 1);
    assert.equal(watching.look(false), undefined);
    watching.clock.advance(1);
    assert.equal(watching.look(false), "orphaned");
  });

  it("further renewals with the same tunnel show that its server exists and only was not found", () => {
    const watching = new Watching();
    watching.status = { tunnel: { id: "a", server: "one" } };
    watching.renew(longMs);
    watching.look(false);
    watching.clock.advance(longMs);
    assert.equal(watching.look(false), "orphaned");
    for (let renewals = 0; renewals < 3; renewals++) {
      watching.renew(longMs);
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

describe("an agent that promises no interval", () => {
  it("the agent is evaluated by its lease alone, even after a promise of another agent", () => {
    const watching = new Watching();
    watching.renew(tunnellessRenewMs);
    watching.clock.advance(longMs);
    watching.renew(undefined);
    watching.look(false);
    watching.clock.advance(3_600_000);
    assert.equal(watching.look(false), undefined);
  });

  it("invalid intervals are no promise", () => {
    for (const value of ["", "soon", "0", "-2"]) {
      const annotations = { [renewIntervalAnnotation]: value };
      const spec = { renewTime: "2026-01-01T00:00:00Z" };
      const renewal = renewalOf({ metadata: { name: "kcp-syncer-east", annotations }, spec });
      assert.equal(renewal?.intervalMs, undefined);
    }
  });
});
