/** What a syncer's health means for its SyncTarget, as a condition in words that say what to do. */
import type { SyncerHealth } from "./syncer.ts";

export interface SyncerCondition {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly severity?: "Warning";
}

/** Of kinds that are named; the others are counted. */
const kindsNamedMax = 3;

/** `wasReady`: a kind that comes in addition takes nothing from what is known of the others. */
export function syncerCondition(
  { refused, kinds }: SyncerHealth,
  wasReady: boolean,
): SyncerCondition {
  if (refused !== undefined) return notReady("SyncerRefused", refused);
  const waiting = [...kinds].filter(([, { isLive, isNew }]) => !isLive && !(wasReady && isNew));
  const failing = [...kinds].filter(([, { trouble }]) => trouble !== undefined);
  const [first] = failing;
  const words = named([...new Set(failing.map(([, { trouble }]) => trouble?.message ?? ""))], "; ");
  if (waiting.length === 0) {
    // What is told of the cluster is fresh, so it stays ready: one kind that cannot be written is no reason for the others to leave it.
    const reason = first?.[1].trouble?.reason ?? "SyncerReady";
    return { status: "True", reason, message: words };
  }
  if (first !== undefined) return notReady(first[1].trouble?.reason ?? "SyncerNotReady", words);
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
