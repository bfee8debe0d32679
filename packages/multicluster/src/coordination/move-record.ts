/**
 * What is kept on a part while a move with a deadline is under way: what it had before, since when it has more, and whether it was given up.
 *
 * It speaks of one wish: when what is asked for changes, so does `of`, and the record says nothing any more.
 */
import { isJsonObject } from "@kcp-ts/machinery/json";
import { type StringMap, stringMember, timestamp } from "@kcp-ts/sdk";

/** On a part: the record, as JSON. Removed, what was given up is tried again. */
export const moveAnnotation = "workloads.kcp.io/move";

export interface MoveRecord {
  /** Replicas before the move. */
  readonly from: number;
  /** When it was last given more. */
  readonly sinceMs: number;
  readonly isRolledBack: boolean;
  /** Stands for what was asked for. */
  readonly of: string;
  /** Other clusters in which it was given up, of what is there or not: no part is left there that could say so. */
  readonly failedIn?: readonly string[];
}

/** Undefined where there is none, or none that can be read: then the move begins here. */
export function readMoveRecord(annotations: StringMap | undefined): MoveRecord | undefined {
  const text = stringMember(annotations, moveAnnotation);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { from, since, rolledBack, of, failedIn } = value as Record<string, unknown>;
  const sinceMs = Date.parse(String(since));
  if (typeof from !== "number" || Number.isNaN(sinceMs) || typeof of !== "string") return undefined;
  const record = { from, sinceMs, isRolledBack: rolledBack === true, of };
  if (!Array.isArray(failedIn)) return record;
  return { ...record, failedIn: failedIn.filter((name) => typeof name === "string") };
}

export function formatMoveRecord({
  from,
  sinceMs,
  isRolledBack,
  of,
  failedIn,
}: MoveRecord): string {
  const since = timestamp(sinceMs);
  const rolledBack = isRolledBack ? { rolledBack: true } : {};
  return JSON.stringify({ from, since, ...rolledBack, of, ...(failedIn ? { failedIn } : {}) });
}
