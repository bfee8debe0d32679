/**
 * Conditions in the format of cluster-api: Ready first, then by type; a severity only while the
 * status is False.
 */
import { timestamp } from "@kcp-ts/apiserver/registry";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly severity?: "Error" | "Warning" | "Info";
  readonly reason?: string;
  readonly message?: string;
}

/** A condition that is False, and must not be. */
export function errorCondition(type: string, reason: string, message: string): Condition {
  return { type, status: "False", severity: "Error", reason, message };
}

export function conditionsOf(status: JsonValue | undefined): readonly JsonObject[] {
  const { conditions } = isJsonObject(status) ? status : {};
  return Array.isArray(conditions) ? (conditions as JsonObject[]) : [];
}

export function findCondition(status: JsonValue | undefined, type: string): JsonObject | undefined {
  return conditionsOf(status).find((one) => one["type"] === type);
}

/**
 * The identical list when the condition is unchanged: only a change of the status counts as a
 * transition.
 */
export function setCondition(
  conditions: readonly JsonObject[],
  condition: Condition,
  nowMs: number,
): JsonObject[] {
  const known = conditions.find(({ type }) => type === condition.type);
  const { type, status, severity, reason, message } = condition;
  const isSame =
    known?.["status"] === status && known["reason"] === reason && known["message"] === message;
  if (known !== undefined && isSame) return [...conditions];
  const lastTransitionTime =
    known?.["status"] === status ? (known["lastTransitionTime"] as string) : timestamp(nowMs);
  const next: JsonObject = {
    type,
    status,
    ...(severity === undefined ? {} : { severity }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    lastTransitionTime,
  };
  return [...conditions.filter((one) => one["type"] !== type), next].sort(byType);
}

function byType(a: JsonObject, b: JsonObject): number {
  const [first, second] = [String(a["type"]), String(b["type"])];
  if (first === second) return 0;
  if (first === "Ready") return -1;
  if (second === "Ready") return 1;
  return first < second ? -1 : 1;
}
