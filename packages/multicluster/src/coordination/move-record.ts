/**
 * The record on a per-cluster object while a move with a deadline is in flight: its replicas before
 * the move, the time of its last scale-up, and whether the move was rolled back.
 *
 * The record belongs to one request: when the request changes, `request` changes, and the record no
 * longer counts.
 */
import { isJsonObject } from "@kcp-ts/machinery/json";
import { type StringMap, stringMember, timestamp } from "@kcp-ts/sdk";

/**
 * On a per-cluster object: the record, as JSON. After its removal, a move that was rolled back is
 * retried.
 */
export const migrationAnnotation = "workload.kcp.io/migration";

export interface MoveRecord {
  /** Replicas before the move. */
  readonly from: number;
  /** The time of the last scale-up. */
  readonly sinceMs: number;
  readonly isRolledBack: boolean;
  /** The hash of the request. */
  readonly request: string;
  /**
   * Other clusters in which an all-or-nothing workload was rolled back: no copy is left there that
   * could carry the record.
   */
  readonly failedIn?: readonly string[];
}

/** The record; undefined when it is missing or cannot be parsed: the move then begins now. */
export function readMoveRecord(annotations: StringMap | undefined): MoveRecord | undefined {
  const text = stringMember(annotations, migrationAnnotation);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { from, since, rolledBack, request, failedIn } = value as Record<string, unknown>;
  const sinceMs = Date.parse(String(since));
  if (typeof from !== "number" || Number.isNaN(sinceMs) || typeof request !== "string")
    return undefined;
  const record = { from, sinceMs, isRolledBack: rolledBack === true, request };
  if (!Array.isArray(failedIn)) return record;
  return { ...record, failedIn: failedIn.filter((name) => typeof name === "string") };
}

export function formatMoveRecord({
  from,
  sinceMs,
  isRolledBack,
  request,
  failedIn,
}: MoveRecord): string {
  const since = timestamp(sinceMs);
  const rolledBack = isRolledBack ? { rolledBack: true } : {};
  return JSON.stringify({ from, since, ...rolledBack, request, ...(failedIn ? { failedIn } : {}) });
}
