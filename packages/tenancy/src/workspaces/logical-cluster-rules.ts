/**
 * Validates changes of a LogicalCluster's state, with upstream's messages; undefined when a change
 * is allowed. The object is validated as sent, and once more after mutating webhooks and with the
 * derived phase.
 */
import { type JsonObject, textsOf } from "@kcp-ts/machinery/json";
import { deletionFinalizer } from "./kinds/phases.ts";
import { member } from "./records.ts";

/**
 * Phases with an order that must not go back; the other phases are derived, and users may not write
 * them.
 */
const order: Readonly<Record<string, number>> = { "": 1, Scheduling: 2, Initializing: 3, Ready: 4 };

export function statusUpdateError(sent: JsonObject, old: JsonObject): string | undefined {
  const [status, oldStatus] = [member(sent, "status"), member(old, "status")];
  const [phase, oldPhase] = [phaseOf(status), phaseOf(oldStatus)];
  const [now, before] = [textsOf(status["initializers"]), textsOf(oldStatus["initializers"])];
  if (phase === "Initializing") {
    const wanted = textsOf(member(old, "spec")["initializers"]);
    if (oldPhase !== phase && !isSame(now, wanted))
      return "status.initializers do not equal spec.initializers";
    if (oldPhase === phase && grows(now, before)) return "status.initializers must not grow";
  } else if (!isSame(now, before)) return "status.initializers is immutable after initialization";
  const settled = phaseUpdateError(status, oldStatus);
  if (settled !== undefined) return settled;
  return (order[oldPhase] ?? 0) > (order[phase] ?? 0)
    ? `cannot transition from "${oldPhase}" to "${phase}"`
    : undefined;
}

export function phaseUpdateError(status: JsonObject, oldStatus: JsonObject): string | undefined {
  const [phase, oldPhase] = [phaseOf(status), phaseOf(oldStatus)];
  const [now, before] = [textsOf(status["initializers"]), textsOf(oldStatus["initializers"])];
  if (grows(now, before)) return "status.initializers must not grow";
  if (oldPhase === "Initializing" && phase !== oldPhase && now.length > 0)
    return "status.initializers is not empty";
  // Not in upstream: a workspace would wait for ever for a terminator without a controller.
  if (grows(textsOf(status["terminators"]), textsOf(oldStatus["terminators"])))
    return "status.terminators must not grow";
  return undefined;
}

export function finalizerUpdateError(metadata: JsonObject, old: JsonObject): string | undefined {
  const isRemoved =
    textsOf(old["finalizers"]).includes(deletionFinalizer) &&
    !textsOf(metadata["finalizers"]).includes(deletionFinalizer);
  return isRemoved ? `removing the finalizer ${deletionFinalizer} is forbidden` : undefined;
}

function phaseOf(status: JsonObject): string {
  return String(status["phase"] ?? "Scheduling");
}

function grows(now: readonly string[], before: readonly string[]): boolean {
  return now.some((one) => !before.includes(one));
}

function isSame(now: readonly string[], before: readonly string[]): boolean {
  return !grows(now, before) && !grows(before, now);
}
