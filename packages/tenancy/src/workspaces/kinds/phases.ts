/**
 * Derives the phase, the labels and the condition of a LogicalCluster from its other fields. Pure,
 * and applied to every write of a LogicalCluster, so that no second write is needed for the derived
 * fields.
 *
 *     Scheduling ─► Initializing ─► Ready ◄─► Inactive
 *                                     └──────► Terminating ─► Deleting
 */
import { createHash } from "node:crypto";
import type { Draft } from "@kcp-ts/apiserver/registry";
import { isJsonObject, type JsonObject, textsOf } from "@kcp-ts/machinery/json";
import type { TypeOf } from "@kcp-ts/machinery/schema";
import { removeOwnerGroups } from "../workspace-owner.ts";
import { type Condition, conditionsOf, setCondition } from "./conditions.ts";
import type { phase } from "./shared-schemas.ts";

export const phaseLabel = "tenancy.kcp.io/phase";
const initializerPrefix = "initializer.internal.kcp.io/";
const terminatorPrefix = "terminator.internal.kcp.io/";
/** The older spelling is still supported. */
const inactiveAnnotations = ["core.kcp.io/inactive", "internal.kcp.io/inactive"];
export const terminatorsFinalizer = "kcp.io/has-terminators";
export const deletionFinalizer = "core.kcp.io/logicalcluster-deletion";

export type Phase = TypeOf<typeof phase>;

export function deriveLogicalClusterStatus(draft: Draft, nowMs: number): void {
  const metadata = { ...(draft["metadata"] as Draft) };
  const spec = isJsonObject(draft["spec"]) ? draft["spec"] : {};
  const status: Draft = { ...(isJsonObject(draft["status"]) ? draft["status"] : {}) };
  const before = (status["phase"] ?? "Scheduling") as Phase;
  if (before === "Scheduling") {
    for (const member of ["initializers", "terminators"] as const)
      if (status[member] === undefined) put(status, member, textsOf(spec[member]));
  }
  const phase = phaseAfter(before, metadata, status);
  status["phase"] = phase;
  const condition = initialized(phase, textsOf(status["initializers"]));
  if (condition !== undefined)
    status["conditions"] = setCondition(conditionsOf(status), condition, nowMs);
  metadata["labels"] = labelsFor(metadata, phase, status);
  deriveFinalizers(metadata, status);
  if (phase === "Ready") removeOwnerGroups(metadata);
  draft["metadata"] = metadata;
  draft["status"] = status;
}

function phaseAfter(before: Phase, metadata: JsonObject, status: JsonObject): Phase {
  if (metadata["deletionTimestamp"] !== undefined)
    return textsOf(status["terminators"]).length > 0 ? "Terminating" : "Deleting";
  if (before === "Scheduling" || before === "Initializing")
    return textsOf(status["initializers"]).length > 0 ? "Initializing" : activePhaseOf(metadata);
  return before === "Ready" || before === "Inactive" ? activePhaseOf(metadata) : before;
}

function activePhaseOf(metadata: JsonObject): Phase {
  return isInactive(metadata) ? "Inactive" : "Ready";
}

export function isInactive({ annotations }: JsonObject): boolean {
  return (
    isJsonObject(annotations) && inactiveAnnotations.some((name) => annotations[name] === "true")
  );
}

function initialized(phase: Phase, initializers: readonly string[]): Condition | undefined {
  if (phase === "Initializing") {
    return {
      type: "WorkspaceInitialized",
      status: "False",
      severity: "Info",
      reason: "InitializerExists",
      message: `Initializers still exist: [${initializers.join(" ")}]`,
    };
  }
  return phase === "Ready" ? { type: "WorkspaceInitialized", status: "True" } : undefined;
}

/** Controllers of a type select by these labels. */
function labelsFor(metadata: JsonObject, phase: Phase, status: JsonObject): JsonObject {
  const labels: Draft = {};
  const present = isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
  for (const [key, value] of Object.entries(present))
    if (!key.startsWith(initializerPrefix) && !key.startsWith(terminatorPrefix))
      labels[key] = value;
  labels[phaseLabel] = phase;
  for (const id of textsOf(status["initializers"])) {
    const [key, value] = initializerLabel(id);
    labels[key] = value;
  }
  for (const id of textsOf(status["terminators"])) {
    const [key, value] = terminatorLabel(id);
    labels[key] = value;
  }
  return labels;
}

/** The label that selects LogicalClusters that wait for this initializer. */
export function initializerLabel(id: string): readonly [key: string, value: string] {
  const hash = sha224(id);
  return [`${initializerPrefix}${hash.slice(0, 35)}`, hash];
}

export function terminatorLabel(id: string): readonly [key: string, value: string] {
  const hash = sha224(id);
  return [`${terminatorPrefix}${hash.slice(0, 36)}`, hash];
}

function deriveFinalizers(metadata: Draft, status: JsonObject): void {
  // Without the finalizer the object would be deleted, and its content remain.
  if (metadata["deletionTimestamp"] === undefined) {
    const present = textsOf(metadata["finalizers"]);
    if (!present.includes(deletionFinalizer))
      put(metadata, "finalizers", [...present, deletionFinalizer]);
  }
  const finalizers = textsOf(metadata["finalizers"]);
  const wanted = textsOf(status["terminators"]).length > 0;
  if (wanted === finalizers.includes(terminatorsFinalizer)) return;
  const next = wanted
    ? [...finalizers, terminatorsFinalizer]
    : finalizers.filter((one) => one !== terminatorsFinalizer);
  if (wanted && metadata["deletionTimestamp"] !== undefined) return;
  put(metadata, "finalizers", next);
}

export function put(target: Draft, member: string, items: readonly string[]): void {
  if (items.length > 0) target[member] = [...items];
  else delete target[member];
}

function sha224(text: string): string {
  return createHash("sha224").update(text).digest("hex");
}
