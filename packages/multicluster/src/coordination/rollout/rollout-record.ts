/**
 * The record on a per-cluster object while its cluster replaces Pods by those of a newer template:
 * that it does, since when, its progress, and the former template. Without a deadline, only the
 * first of these is needed.
 *
 * The record is about one template: when another template is desired, `request` differs.
 */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import { type StringMap, stringMember, timestamp } from "@kcp-ts/sdk";

/**
 * On a per-cluster object: the record, as JSON. After its removal, a rollout that was rolled back
 * is retried.
 */
export const rolloutRecordAnnotation = "workload.kcp.io/rollout";
/**
 * The largest template that is recorded, in characters. A larger template cannot be rolled back to.
 */
const templateTextMax = 65_536;

export interface RolloutRecord {
  /** The hash of the desired template. */
  readonly request: string;
  /** The cluster is replacing Pods, or not all of them have been available since. */
  readonly isRolling: boolean;
  /** The time at which the template was written, or of the last observed progress. */
  readonly sinceMs: number;
  /** The progress at that time. */
  readonly progress?: number | undefined;
  /** The former template; undefined where no rollback is possible, or after it. */
  readonly from?: JsonValue | undefined;
  /** The copy missed its progress deadline. */
  readonly isRolledBack?: boolean | undefined;
}

export function readRolloutRecord(annotations: StringMap | undefined): RolloutRecord | undefined {
  const text = stringMember(annotations, rolloutRecordAnnotation);
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (!isJsonObject(value)) return undefined;
  const { request, since, rolling, progress, from, rolledBack } = value as Record<
    string,
    JsonValue | undefined
  >;
  const sinceMs = Date.parse(String(since));
  if (typeof request !== "string" || Number.isNaN(sinceMs)) return undefined;
  return {
    request,
    isRolling: rolling === true,
    sinceMs,
    progress: typeof progress === "number" ? progress : undefined,
    from,
    isRolledBack: rolledBack === true,
  };
}

export function formatRolloutRecord(record: RolloutRecord): string {
  const { request, isRolling, sinceMs, progress, from, isRolledBack } = record;
  return JSON.stringify({
    request,
    ...(isRolling ? { rolling: true } : {}),
    since: timestamp(sinceMs),
    ...(progress === undefined ? {} : { progress }),
    ...(from === undefined ? {} : { from }),
    ...(isRolledBack === true ? { rolledBack: true } : {}),
  });
}

export function templateHash(template: JsonValue): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("hex").slice(0, 10);
}

/** The template, if it is small enough to be recorded. */
export function storableTemplate(template: JsonValue): JsonValue | undefined {
  return JSON.stringify(template).length > templateTextMax ? undefined : template;
}

/** The parsed value; undefined for invalid JSON: the object then has no record. */
function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof Error && error.name === "JsonSyntaxError") return undefined;
    throw error;
  }
}
