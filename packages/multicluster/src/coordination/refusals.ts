/**
 * Refusals: the server does not accept a per-cluster object, because of a quota, a webhook or a
 * policy. The record has the refusal until a write succeeds; a refused cluster holds no capacity.
 */
import { StatusError } from "@kcp-ts/machinery/status";
import { type EventInput, timestamp } from "@kcp-ts/sdk";
import { placementMessageMax } from "../api/index.ts";
import type { ClusterPlacement, PlacementRecord } from "./placement-record.ts";

export interface RefusedWrite {
  readonly reason: string;
  readonly message: string;
}

/**
 * The refusal; undefined for an error that a retry may resolve: a conflict, a missing namespace or
 * kind, too many requests, or a server that fails.
 */
export function refusalOf(error: unknown): RefusedWrite | undefined {
  if (!(error instanceof StatusError)) return undefined;
  const { code, reason = "Refused", message } = error;
  if (code < 400 || code >= 500 || transientCodes.has(code)) return undefined;
  return { reason, message: message.slice(0, placementMessageMax) };
}

/** Unauthorized, NotFound, Timeout, Conflict, Gone, TooManyRequests. */
const transientCodes: ReadonlySet<number> = new Set([401, 404, 408, 409, 410, 429]);

/** The record with the refusals of a step. The time of a refusal that continues stays. */
export function withRefusals(
  record: PlacementRecord,
  refused: ReadonlyMap<string, RefusedWrite>,
  nowMs: number,
): PlacementRecord {
  const clusters = record.clusters?.map((cluster): ClusterPlacement => {
    const refusal = refused.get(cluster.name);
    if (refusal === undefined) return cluster;
    return {
      ...cluster,
      refusal: { ...refusal, since: cluster.refusal?.since ?? timestamp(nowMs) },
    };
  });
  return clusters === undefined ? record : { ...record, clusters };
}

const retryMsMin = 5000;
const retryMsMax = 300_000;

/** A refused write is retried after as long as it has been refused, within limits. */
export function retryDelayMs(record: PlacementRecord, nowMs: number): number {
  const times = (record.clusters ?? []).flatMap(({ refusal }) =>
    refusal === undefined ? [] : [nowMs - Date.parse(refusal.since)],
  );
  return Math.min(retryMsMax, Math.max(retryMsMin, ...times));
}

/** The Events of refusals that are new. */
export function refusalEvents(
  before: PlacementRecord | undefined,
  refused: ReadonlyMap<string, RefusedWrite>,
): readonly EventInput[] {
  const known = new Set(before?.clusters?.flatMap((one) => (one.refusal ? [one.name] : [])));
  return [...refused]
    .filter(([cluster]) => !known.has(cluster))
    .map(([cluster, { message }]) => ({
      type: "Warning",
      reason: "FailedApply",
      message: `the per-cluster object for ${cluster} is refused: ${message}`,
    }));
}
