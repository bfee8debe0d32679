/**
 * What is kept on a part while its Pods are replaced by those of a newer template: that they are, since when, how far it is, and what it had before. Without a deadline only the
 * first of these is needed.
 *
 * It speaks of one template: when another is wanted, `of` is another.
 */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import { type StringMap, stringMember, timestamp } from "@kcp-ts/sdk";

/** On a part: the record, as JSON. Removed, what was undone is tried again. */
export const rolloutRecordAnnotation = "workloads.kcp.io/roll-out";
/** Characters of a template that is kept. What is larger cannot be undone to. */
const templateTextMax = 65_536;

export interface RolloutRecord {
  /** Stands for the template that was wanted. */
  readonly of: string;
  /** Its Pods are being replaced, or are not all available since. */
  readonly isRolling: boolean;
  /** When it was given, or when it was last seen to make progress. */
  readonly sinceMs: number;
  /** How far it was then. */
  readonly made?: number | undefined;
  /** The template before; undefined where it is not to be undone, or has been. */
  readonly from?: JsonValue | undefined;
  /** It did not become available in time. */
  readonly isUndone?: boolean | undefined;
}

export function readRolloutRecord(annotations: StringMap | undefined): RolloutRecord | undefined {
  const text = stringMember(annotations, rolloutRecordAnnotation);
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (!isJsonObject(value)) return undefined;
  const { of, since, rolling, made, from, undone } = value as Record<string, JsonValue | undefined>;
  const sinceMs = Date.parse(String(since));
  if (typeof of !== "string" || Number.isNaN(sinceMs)) return undefined;
  return {
    of,
    isRolling: rolling === true,
    sinceMs,
    made: typeof made === "number" ? made : undefined,
    from,
    isUndone: undone === true,
  };
}

export function formatRolloutRecord(record: RolloutRecord): string {
  const { of, isRolling, sinceMs, made, from, isUndone } = record;
  return JSON.stringify({
    of,
    ...(isRolling ? { rolling: true } : {}),
    since: timestamp(sinceMs),
    ...(made === undefined ? {} : { made }),
    ...(from === undefined ? {} : { from }),
    ...(isUndone === true ? { undone: true } : {}),
  });
}

export function templateHash(template: JsonValue): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("hex").slice(0, 10);
}

/** What may be kept of a template. */
export function storableTemplate(template: JsonValue): JsonValue | undefined {
  return JSON.stringify(template).length > templateTextMax ? undefined : template;
}

/** Undefined for what is no JSON: then there is no record. */
function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof Error && error.name === "JsonSyntaxError") return undefined;
    throw error;
  }
}
