/**
 * Detects agents that have fallen silent by their own promise: each heartbeat contains the time of
 * the next one (docs/adr/0061).
 *
 *     promised within seconds:        not received in time ──────────────────────▶ "late"
 *     promised later, with a tunnel:  no server holds the tunnel,
 *                                     and no heartbeat follows ──────────────────▶ "orphaned"
 *
 * The agent's clock is used only for the length of the promised interval. The interval counts from
 * the time at which this process has observed the promise, and only while this process runs: a
 * process that was suspended or starved does not report an agent as silent before the agent had its
 * full time.
 */
import { awakeDeadline, type Clock, type Timer } from "@kcp-ts/machinery/base";
import { findCondition, formatKey, type ObjectKey } from "@kcp-ts/sdk";
import {
  heartbeatIntervalMsOf,
  type SyncTarget,
  type SyncTargetStatus,
  targetConditions,
  tunnellessHeartbeatMs,
} from "../api/index.ts";

export type AgentLiveness = "late" | "orphaned";

export interface AgentLivenessOptions {
  readonly clock: Clock;
  /** Requeues the SyncTarget: its agent may have fallen silent. */
  readonly onExpired: (key: ObjectKey) => void;
}

/** The reason of the condition `Ready`. */
export const agentHeartbeatMissedReason = "AgentHeartbeatMissed";
/**
 * How much later than promised a heartbeat may arrive: two requests over a slow connection, or one
 * failed attempt.
 */
export const heartbeatToleranceMs = 2000;

/** The heartbeat that is due. */
interface ExpectedHeartbeat {
  readonly liveness: AgentLiveness;
  readonly withinMs: number;
}

/** The last observed state of an agent. */
interface ObservedHeartbeat {
  /** Changes with every heartbeat. */
  readonly heartbeat: string;
  readonly tunnel: string | undefined;
  readonly liveness: AgentLiveness | undefined;
  /**
   * The server of the tunnel is unknown to this process, but the agent's later heartbeats confirm
   * the tunnel: the agent is not reported as silent for it.
   */
  readonly isExcused: boolean;
  isOver: boolean;
  timer?: Timer;
}

export class AgentLivenessMonitor {
  readonly #options: AgentLivenessOptions;
  readonly #seen = new Map<string, ObservedHeartbeat>();

  constructor(options: AgentLivenessOptions) {
    this.#options = options;
  }

  /** `isServerThere`: whether the server that holds the agent's tunnel, by its status, is alive. */
  observe(key: ObjectKey, target: SyncTarget, isServerThere: boolean): AgentLiveness | undefined {
    const id = formatKey(key);
    const { lastHeartbeatTime, nextHeartbeatTime, tunnel } = target.status ?? {};
    const heartbeat = JSON.stringify([lastHeartbeatTime, nextHeartbeatTime, tunnel?.id]);
    const known = this.#seen.get(id);
    const wanted = expectedOf(target.status ?? {}, isServerThere);
    const isExcused =
      wanted?.liveness === "orphaned" && reportsLiveness(known, heartbeat, tunnel?.id);
    const expected = isExcused ? undefined : wanted;
    if (known?.heartbeat === heartbeat && known.liveness === expected?.liveness)
      return known.isOver ? known.liveness : undefined;
    known?.timer?.cancel();
    // An agent that was reported as silent before this process observed it stays silent until its
    // next heartbeat.
    const isOver = known === undefined && expected !== undefined && isReportedMissed(target);
    const liveness = expected?.liveness;
    const seen: ObservedHeartbeat = { heartbeat, tunnel: tunnel?.id, liveness, isExcused, isOver };
    this.#seen.set(id, seen);
    if (isOver) return liveness;
    if (expected !== undefined) this.#await(key, seen, expected.withinMs);
    return undefined;
  }

  forget(id: string): void {
    this.#seen.get(id)?.timer?.cancel();
    this.#seen.delete(id);
  }

  close(): void {
    for (const id of [...this.#seen.keys()]) this.forget(id);
  }

  #await(key: ObjectKey, seen: ObservedHeartbeat, withinMs: number): void {
    const { clock, onExpired } = this.#options;
    seen.timer = awakeDeadline(clock, withinMs, () => {
      seen.isOver = true;
      onExpired(key);
    });
  }
}

/** Undefined when the agent promises no heartbeat, or its tunnel shows that it is alive. */
function expectedOf(
  status: SyncTargetStatus,
  isServerThere: boolean,
): ExpectedHeartbeat | undefined {
  const promisedMs = heartbeatIntervalMsOf(status);
  if (promisedMs === undefined) return undefined;
  if (promisedMs <= tunnellessHeartbeatMs)
    return { liveness: "late", withinMs: promisedMs + heartbeatToleranceMs };
  const { tunnel } = status;
  const hasTunnel = tunnel !== undefined && tunnel.disconnectedAt === undefined && isServerThere;
  if (hasTunnel) return undefined;
  return { liveness: "orphaned", withinMs: tunnellessHeartbeatMs + heartbeatToleranceMs };
}

/** Whether a heartbeat came since that promises the interval of an agent with a tunnel. */
function reportsLiveness(
  known: ObservedHeartbeat | undefined,
  sign: string,
  tunnel: string | undefined,
): boolean {
  if (known === undefined || known.tunnel !== tunnel) return false;
  return known.isExcused || (known.liveness === "orphaned" && known.heartbeat !== sign);
}

function isReportedMissed({ status }: SyncTarget): boolean {
  const ready = findCondition(status?.conditions, targetConditions.ready);
  return ready?.status === "Unknown" && ready.reason === agentHeartbeatMissedReason;
}
