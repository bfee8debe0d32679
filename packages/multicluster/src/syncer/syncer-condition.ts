/**
 * The condition of a SyncTarget that reports its syncer's health, with a message that contains the
 * next step.
 */
import type { SyncerHealth } from "./syncer.ts";

export interface SyncerCondition {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly severity?: "Warning";
}

/** The number of kinds that are named; the others are counted. */
const kindsNamedMax = 3;

/** `wasReady`: an additional kind does not make the syncer unready. */
export function syncerCondition(
  { refused, kinds }: SyncerHealth,
  wasReady: boolean,
): SyncerCondition {
  if (refused !== undefined) return notReady("SyncerRefused", refused);
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
  return notReady("SyncerNotReady", `the syncer has not yet seen all of ${names}, or not again`);
}

function notReady(reason: string, message: string): SyncerCondition {
  return { status: "False", reason, message, severity: "Warning" };
}

function named(all: readonly string[], between = ", "): string {
  const shown = all.slice(0, kindsNamedMax).join(between);
  return all.length > kindsNamedMax ? `${shown} and ${all.length - kindsNamedMax} more` : shown;
}
