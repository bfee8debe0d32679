/** What is told in Events when conditions of a SyncTarget change: whoever looks at Events sees the same words as whoever looks at conditions. Pure. */
import { type EventInput, findCondition } from "@kcp-ts/sdk";
import { type SeverityCondition, targetConditions } from "../api/index.ts";
import { installedCondition, sharedOwnershipCondition } from "./target-status.ts";

/** Ready sums up most of them; these say more than it. */
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
    if (
      reportedConditions.has(type) &&
      isNew &&
      (known !== undefined || status !== "True" || type === "Ready")
    ) {
      found.push({
        type: status === "True" ? "Normal" : "Warning",
        reason,
        message: `SyncTarget ${name}: ${message === "" ? "all is well again" : message}`,
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
