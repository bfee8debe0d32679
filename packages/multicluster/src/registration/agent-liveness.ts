/**
 * Detects agents that have fallen silent by their own promise: each renewal of a Lease contains the
 * interval to the next one (docs/adr/0061, 0076).
 *
 *     promised within seconds:        not received in time ──────────────────────▶ "late"
 *     promised later, with a tunnel:  no server holds the tunnel,
 *                                     and no renewal follows ────────────────────▶ "orphaned"
 *
 * The interval counts from the time at which this process has observed the promise, and only while
 * this process runs: a process that was suspended or starved does not report an agent as silent
 * before the agent had its full time.
 */
import { awakeDeadline, type Clock, type Timer } from "@kcp-ts/machinery/base";
import { findCondition, formatKey, type ObjectKey } from "@kcp-ts/sdk";
import {
  type LeaseRenewal,
  type SyncTarget,
  targetConditions,
  tunnellessRenewMs,
} from "../api/index.ts";

export type AgentLiveness = "late" | "orphaned";

export interface AgentLivenessOptions {
  readonly clock: Clock;
  /** Requeues the SyncTarget: its agent may have fallen silent. */
  readonly onExpired: (key: ObjectKey) => void;
}

/** What is known of an agent besides its SyncTarget. */
export interface AgentSigns {
  /** Undefined before the first renewal of its Lease. */
  readonly renewal: LeaseRenewal | undefined;
  /** Whether the server that holds the agent's tunnel, by its status, is alive. */
  readonly isServerThere: boolean;
}

/** The reason of the condition `Ready`. */
export const agentHeartbeatMissedReason = "AgentHeartbeatMissed";
/**
 * How much later than promised a renewal may arrive: a request over a slow connection, or one
 * failed attempt.
 */
export const renewalToleranceMs = 2000;

/** The renewal that is due. */
interface ExpectedRenewal {
  readonly liveness: AgentLiveness;
  readonly withinMs: number;
}

/** The last observed state of an agent. */
interface ObservedAgent {
  /** Changes with every renewal. */
  readonly renewal: string;
  readonly tunnel: string | undefined;
  readonly liveness: AgentLiveness | undefined;
  /**
   * The server of the tunnel is unknown to this process, but the agent's later renewals confirm
   * the tunnel: the agent is not reported as silent for it.
   */
  readonly isExcused: boolean;
  isOver: boolean;
  timer?: Timer;
}

export class AgentLivenessMonitor {
  readonly #options: AgentLivenessOptions;
  readonly #seen = new Map<string, ObservedAgent>();

  constructor(options: AgentLivenessOptions) {
    this.#options = options;
  }

  observe(
    key: ObjectKey,
    target: SyncTarget,
    { renewal, isServerThere }: AgentSigns,
  ): AgentLiveness | undefined {
    const id = formatKey(key);
    const { tunnel } = target.status ?? {};
    const sign = JSON.stringify([renewal?.renewTime, renewal?.intervalMs, tunnel?.id]);
    const known = this.#seen.get(id);
    const wanted = renewal && expectedOf(renewal, target, isServerThere);
    const isExcused = wanted?.liveness === "orphaned" && reportsLiveness(known, sign, tunnel?.id);
    const expected = isExcused ? undefined : wanted;
    if (known?.renewal === sign && known.liveness === expected?.liveness)
      return known.isOver ? known.liveness : undefined;
    known?.timer?.cancel();
    // An agent that was reported as silent before this process observed it stays silent until its
    // next renewal.
    const isOver = known === undefined && expected !== undefined && isReportedMissed(target);
    const liveness = expected?.liveness;
    const seen: ObservedAgent = { renewal: sign, tunnel: tunnel?.id, liveness, isExcused, isOver };
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

  #await(key: ObjectKey, seen: ObservedAgent, withinMs: number): void {
    const { clock, onExpired } = this.#options;
    seen.timer = awakeDeadline(clock, withinMs, () => {
      seen.isOver = true;
      onExpired(key);
    });
  }
}

/** Undefined when the agent promises no interval, or its tunnel shows that it is alive. */
function expectedOf(
  { intervalMs }: LeaseRenewal,
  { status }: SyncTarget,
  isServerThere: boolean,
): ExpectedRenewal | undefined {
  if (intervalMs === undefined) return undefined;
  if (intervalMs <= tunnellessRenewMs)
    return { liveness: "late", withinMs: intervalMs + renewalToleranceMs };
  const { tunnel } = status ?? {};
  const hasTunnel = tunnel !== undefined && tunnel.disconnectedAt === undefined && isServerThere;
  if (hasTunnel) return undefined;
  return { liveness: "orphaned", withinMs: tunnellessRenewMs + renewalToleranceMs };
}

/** Whether a renewal came since that promises the interval of an agent with a tunnel. */
function reportsLiveness(
  known: ObservedAgent | undefined,
  sign: string,
  tunnel: string | undefined,
): boolean {
  if (known === undefined || known.tunnel !== tunnel) return false;
  return known.isExcused || (known.liveness === "orphaned" && known.renewal !== sign);
}

function isReportedMissed({ status }: SyncTarget): boolean {
  const ready = findCondition(status?.conditions, targetConditions.ready);
  return ready?.status === "Unknown" && ready.reason === agentHeartbeatMissedReason;
}
