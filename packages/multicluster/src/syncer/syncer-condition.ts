/**
 * The condition of a SyncTarget that reports its syncer's health, with a message that contains the
 * next step.
 */
import type { SyncerHealth } from "./syncer.ts";

export interface SyncerCondition {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly severity?: "Warning";
}

/** The number of kinds that are named; the others are counted. */
const kindsNamedMax = 3;

export interface SyncerProgress {
  /** An additional kind does not make a syncer unready that was ready. */
  readonly wasReady: boolean;
  /** A syncer that was ready at any time has lost its watches, and does not start. */
  readonly hasStarted: boolean;
  /** APIs of the cluster that the control plane does not serve yet. */
  readonly awaitedApis: readonly string[];
}

export function syncerCondition(
  { refused, kinds }: SyncerHealth,
  { wasReady, hasStarted, awaitedApis }: SyncerProgress,
): SyncerCondition {
  if (refused !== undefined) return notReady("SyncerRefused", refused);
  if (awaitedApis.length > 0 && !wasReady)
    return starting("WaitingForAPIs", `the control plane does not serve ${named(awaitedApis)} yet`);
  const waiting = [...kinds].filter(
    ([, { isWatching, isNew }]) => !isWatching && !(wasReady && isNew),
  );
  const failing = [...kinds].filter(([, { syncError }]) => syncError !== undefined);
  const [first] = failing;
  const message = named(
    [...new Set(failing.map(([, { syncError }]) => syncError?.message ?? ""))],
    "; ",
  );
  if (waiting.length === 0) {
    // The reports of the cluster are up to date, so it stays Ready: one kind that cannot be written
    // is no reason for workloads of other kinds to leave.
    const reason = first?.[1].syncError?.reason ?? "SyncerReady";
    return { status: "True", reason, message };
  }
  if (first !== undefined) return notReady(first[1].syncError?.reason ?? "SyncerNotReady", message);
  const names = named(waiting.map(([name]) => name));
  if (!hasStarted) return starting("SyncerStarting", `the syncer has not yet listed ${names}`);
  return notReady("SyncerNotReady", `the syncer has lost its watches of ${names}`);
}

function starting(reason: string, message: string): SyncerCondition {
  return { status: "Unknown", reason, message, severity: "Warning" };
}

function notReady(reason: string, message: string): SyncerCondition {
  return { status: "False", reason, message, severity: "Warning" };
}

function named(all: readonly string[], between = ", "): string {
  const shown = all.slice(0, kindsNamedMax).join(between);
  return all.length > kindsNamedMax ? `${shown} and ${all.length - kindsNamedMax} more` : shown;
}
