import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import {
  type LeaseRenewal,
  leaseMsDefault,
  leaseMsMax,
  leaseMsMin,
  renewalOf,
  type SeverityCondition,
  type SyncTargetStatus,
} from "../api/index.ts";
import { clockSkewMaxMs, Heartbeats, leasesUntilLost } from "./heartbeats.ts";
import { targetStatus } from "./target-status.ts";

const lostMs = leaseMsDefault * leasesUntilLost;

function renewal(renewTime: string, leaseDurationSeconds?: number): LeaseRenewal {
  const spec = { renewTime, ...(leaseDurationSeconds && { leaseDurationSeconds }) };
  const found = renewalOf({ metadata: { name: "kcp-syncer-east" }, spec });
  assert.ok(found !== undefined);
  return found;
}

const healthy = { renewal: renewal("2026-01-01T12:00:20Z"), silentMs: 0, skewMs: 0 };

const target = {
  apiVersion: "workload.kcp.io/v1alpha1",
  kind: "SyncTarget",
  metadata: { name: "east" },
  spec: { mode: "Pull" },
} as const;

/**
 * An agent whose clock is off by `agentAheadMs`, and the conditions that its heartbeats result in.
 */
function listening(agentAheadMs = 0, leaseDurationSeconds?: number) {
  const clock = new FakeClock();
  const heartbeats = new Heartbeats(clock);
  const writtenAt = () => new Date(clock.now() + agentAheadMs).toISOString();
  let last = writtenAt();
  const look = () => {
    const heartbeat = heartbeats.observe("east", renewal(last, leaseDurationSeconds));
    const observation = { kind: "agent", heartbeat } as const;
    const { conditions = [] } = targetStatus(target, observation, clock.now());
    const said = conditions.find(({ type }) => type === "HeartbeatHealthy");
    assert.ok(said !== undefined);
    return said;
  };
  const beat = () => {
    last = writtenAt();
    return look();
  };
  return { clock, look, beat };
}

describe("heartbeat of an agent", () => {
  it("a heartbeat is late after a minute and lost after two minutes, and healthy again with the next one", async () => {
    const { clock, look, beat } = listening();
    look();
    await clock.advance(20_000);
    assert.equal(beat().status, "True");
    await clock.advance(leaseMsDefault);
    assert.equal(look().status, "True");
    await clock.advance(1);
    assert.deepEqual([look().status, look().reason], ["Unknown", "HeartbeatLate"]);
    await clock.advance(lostMs - leaseMsDefault - 1);
    assert.equal(look().status, "Unknown");
    await clock.advance(1);
    assert.deepEqual([look().status, look().reason], ["False", "AgentHeartbeatMissed"]);
    assert.match(look().message, /look at the syncer's log/);
    assert.equal(beat().status, "True");
  });

  it("a heartbeat is late when the lease duration that the agent wrote has passed, within limits", async () => {
    for (const [seconds, lateMs] of [
      [6, 6000],
      [1, leaseMsMin],
      [1_000_000, leaseMsMax],
    ] as const) {
      const { clock, look, beat } = listening(0, seconds);
      look();
      await clock.advance(1);
      beat();
      await clock.advance(lateMs);
      assert.equal(look().status, "True");
      await clock.advance(1);
      assert.equal(look().status, "Unknown");
      await clock.advance(lateMs);
      assert.equal(look().status, "False");
    }
  });

  it("lastTransitionTime is the time at which the heartbeat became unhealthy, also when it becomes worse", async () => {
    const clock = new FakeClock();
    const heartbeats = new Heartbeats(clock);
    const renewed = renewal(new Date(clock.now()).toISOString());
    let conditions: readonly SeverityCondition[] = [];
    const sinceOf = (type: string) => {
      const observation = {
        kind: "agent",
        heartbeat: heartbeats.observe("east", renewed),
      } as const;
      const known = { ...target, status: { conditions } };
      ({ conditions = [] } = targetStatus(known, observation, clock.now()));
      const found = conditions.find((one) => one.type === type);
      return `${found?.status} ${found?.lastTransitionTime}`;
    };
    sinceOf("Ready");
    await clock.advance(leaseMsDefault + 1);
    const late = sinceOf("Ready");
    assert.match(late, /^Unknown/);
    await clock.advance(lostMs - leaseMsDefault);
    for (const type of ["Ready", "HeartbeatHealthy"])
      assert.equal(sinceOf(type), late.replace("Unknown", "False"));
  });

  it("heartbeats count by the server's clock, and a clock skew of the agent is reported", async () => {
    for (const aheadMs of [-7_200_000, 7_200_000]) {
      const { clock, look, beat } = listening(aheadMs);
      look();
      for (let beats = 0; beats < 5; beats++) {
        await clock.advance(20_000);
        const said = beat();
        assert.equal(said.status, "True");
        assert.match(
          said.message,
          /clock is about 2 hours (ahead of|behind) the control plane's: set both/,
        );
      }
      await clock.advance(lostMs + 1);
      assert.equal(look().status, "False");
    }
  });

  it("a clock skew below the limit is not reported", async () => {
    for (const [aheadMs, isSaid] of [
      [clockSkewMaxMs - 1, false],
      [clockSkewMaxMs, true],
    ] as const) {
      const { clock, look, beat } = listening(aheadMs);
      look();
      await clock.advance(20_000);
      assert.equal(/clock/.test(beat().message), isSaid);
    }
  });

  it("a heartbeat that is old when the server first sees it is late, not lost: the server may have been down", () => {
    const { look } = listening(-86_400_000);
    assert.equal(look().status, "Unknown");
    const { conditions = [] } = targetStatus(target, { kind: "agent", heartbeat: undefined }, 0);
    const never = conditions.find(({ type }) => type === "HeartbeatHealthy");
    assert.deepEqual([never?.status, never?.reason], ["Unknown", "WaitingForAgent"]);
    assert.match(never?.message ?? "", /kubectl kcp workload sync east/);
  });

  it("a renewal after the end of a tunnel counts", () => {
    const readyOf = (status: SyncTargetStatus, heartbeat: typeof healthy | undefined = healthy) => {
      const found = { ...target, status };
      const { conditions = [] } = targetStatus(found, { kind: "agent", heartbeat }, 0);
      const ready = conditions.find(({ type }) => type === "Ready");
      return `${ready?.status} ${ready?.reason}`;
    };
    const { renewTime } = healthy.renewal;
    assert.equal(readyOf({ tunnel: { id: "a" } }), "True ClusterReady");
    const broken = { tunnel: { id: "a", disconnectedAt: renewTime } };
    assert.equal(readyOf(broken), "Unknown AgentHeartbeatMissed");
    const since = { ...healthy, renewal: renewal("2026-01-01T12:00:40Z") };
    assert.equal(readyOf(broken, since), "True ClusterReady");
  });

  it("a missing heartbeat and a failed agent installation have different reasons", () => {
    const agent = {
      state: "failed",
      message: "the namespace is somebody else's: delete it",
    } as const;
    const observation = { kind: "agent", heartbeat: undefined, agent } as const;
    const { conditions = [] } = targetStatus(target, observation, 0);
    const ready = conditions.find(({ type }) => type === "Ready");
    assert.deepEqual([ready?.reason, ready?.message], ["ErrorInstallingSyncer", agent.message]);
    const well = targetStatus(target, { ...observation, heartbeat: healthy }, 0).conditions ?? [];
    assert.equal(well.find(({ type }) => type === "Ready")?.status, "True");
  });
});
