/**
 * Which agents have fallen silent by their own word: each heartbeat says by when the next one comes (docs/adr/0061).
 *
 *     it comes within seconds  ── and does not ──────────────────────────────────────────────────────▶ "late"
 *     it comes later, for there is a tunnel ── which no server has any more, and nobody is heard of ──▶ "orphaned"
 *
 * What an agent's clock shows is used for how long it promised, and for nothing else. Time counts from when this process has seen the promise, and only while it got to run:
 * whoever was away, or starved, takes nobody for silent before he had his time.
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
  /** Is to be looked at again: it may have fallen silent. */
  readonly onOver: (key: ObjectKey) => void;
}

/** Of `Ready`. */
export const agentHeartbeatMissedReason = "AgentSilent";
/** A heartbeat may be so much later than it was promised: two requests over a slow way, or one try that fails. */
export const heartbeatToleranceMs = 2000;

/** What is waited for. */
interface ExpectedHeartbeat {
  readonly silence: AgentLiveness;
  readonly withinMs: number;
}

/** How an agent was last seen. */
interface ObservedHeartbeat {
  /** Changes with every sign of life. */
  readonly sign: string;
  readonly tunnel: string | undefined;
  readonly silence: AgentLiveness | undefined;
  /** Its server is not known, and yet the agent says that it has its tunnel: it knows better. */
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

  /** `isServerThere`: the server that is said to have the agent's tunnel. */
  look(key: ObjectKey, target: SyncTarget, isServerThere: boolean): AgentLiveness | undefined {
    const id = formatKey(key);
    const { lastHeartbeatTime, nextHeartbeatTime, tunnel } = target.status ?? {};
    const sign = JSON.stringify([lastHeartbeatTime, nextHeartbeatTime, tunnel?.id]);
    const known = this.#seen.get(id);
    const wanted = expectedOf(target.status ?? {}, isServerThere);
    const isExcused = wanted?.silence === "orphaned" && reportsLiveness(known, sign, tunnel?.id);
    const expected = isExcused ? undefined : wanted;
    if (known?.sign === sign && known.silence === expected?.silence)
      return known.isOver ? known.silence : undefined;
    known?.timer?.cancel();
    // Who was silent before this process looked is so until he is heard of.
    const isOver = known === undefined && expected !== undefined && isReportedMissed(target);
    const silence = expected?.silence;
    const seen: ObservedHeartbeat = { sign, tunnel: tunnel?.id, silence, isExcused, isOver };
    this.#seen.set(id, seen);
    if (isOver) return silence;
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
    const { clock, onOver } = this.#options;
    seen.timer = awakeDeadline(clock, withinMs, () => {
      seen.isOver = true;
      onOver(key);
    });
  }
}

/** Undefined where nobody promised anything, or the tunnel tells. */
function expectedOf(
  status: SyncTargetStatus,
  isServerThere: boolean,
): ExpectedHeartbeat | undefined {
  const promisedMs = heartbeatIntervalMsOf(status);
  if (promisedMs === undefined) return undefined;
  if (promisedMs <= tunnellessHeartbeatMs)
    return { silence: "late", withinMs: promisedMs + heartbeatToleranceMs };
  const { tunnel } = status;
  const hasTunnel = tunnel !== undefined && tunnel.brokenAfter === undefined && isServerThere;
  if (hasTunnel) return undefined;
  return { silence: "orphaned", withinMs: tunnellessHeartbeatMs + heartbeatToleranceMs };
}

/** A heartbeat came since, and it promised as little as who has a tunnel. */
function reportsLiveness(
  known: ObservedHeartbeat | undefined,
  sign: string,
  tunnel: string | undefined,
): boolean {
  if (known === undefined || known.tunnel !== tunnel) return false;
  return known.isExcused || (known.silence === "orphaned" && known.sign !== sign);
}

function isReportedMissed({ status }: SyncTarget): boolean {
  return (
    findCondition(status?.conditions, targetConditions.ready)?.reason === agentHeartbeatMissedReason
  );
}
