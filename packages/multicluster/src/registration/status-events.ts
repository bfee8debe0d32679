/**
 * Events for changed conditions of a SyncTarget, with the conditions' reasons and messages. Pure.
 */
import { type EventInput, findCondition } from "@kcp-ts/sdk";
import {
  installedCondition,
  type SeverityCondition,
  sharedOwnershipCondition,
  targetConditions,
} from "../api/index.ts";

/** Ready summarizes most conditions; these add information to it. */
const reportedConditions: ReadonlySet<string> = new Set([
  targetConditions.ready,
  sharedOwnershipCondition,
  installedCondition,
]);

export function statusEvents(
  name: string,
  before: readonly SeverityCondition[] | undefined,
  after: readonly SeverityCondition[] | undefined,
): readonly EventInput[] {
  const found: EventInput[] = [];
  for (const condition of after ?? []) {
    const { type, status, reason, message } = condition;
    const known = findCondition(before, type);
    const isNew = known?.status !== status || known.reason !== reason;
    const isWell = (status === "True") !== (type === sharedOwnershipCondition);
    // A cluster that starts is Unknown for several reasons in turn, none of which is a failure.
    if (status === "Unknown" && known?.status !== "True") continue;
    if (
      reportedConditions.has(type) &&
      isNew &&
      (known !== undefined || !isWell || type === "Ready")
    ) {
      found.push({
        type: isWell ? "Normal" : "Warning",
        reason,
        message: `SyncTarget ${name}: ${message === "" ? "Cluster is ready" : message}`,
      });
    }
    const isSkewed = type === targetConditions.heartbeatHealthy && / clock is about /.test(message);
    if (isSkewed && known?.message !== message)
      found.push({
        type: "Warning",
        reason: "ClockSkew",
        message: `SyncTarget ${name}: ${message}`,
      });
  }
  return found;
}
