/**
 * The status of a whole from those of its parts: counts are sums, conditions the worst of them with the cluster's name in the message, and a
 * generation is observed when every part has it and its cluster has observed it.
 *
 * Parts in clusters that are lost count as nothing: what they last reported is no longer known to be true.
 */
import { isJsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type ConditionInput, timestamp } from "@kcp-ts/sdk";
import { countOf, type Deployment, type DeploymentStatus, replicasOf } from "./deployment.ts";
import { hasSpecOf } from "./part.ts";
import type { Strategy } from "./strategy.ts";
import { conditionsOf, type Workload, type WorkloadCondition } from "./workload.ts";

export interface FoldedPart {
  readonly cluster: string;
  readonly object: Workload;
  /** Whether its cluster can be asked. */
  readonly isKnown: boolean;
  /** Its spec is not ours to set, or no longer. */
  readonly isLeftAlone: boolean;
  /** What the syncer could not do for it: JSON with a reason and a message. */
  readonly trouble: string | undefined;
}

export interface FoldInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly parts: readonly FoldedPart[];
  /** Says where the replicas are; takes the place of Progressing when nothing can progress. */
  readonly verdict: Verdict;
  /** Whether parts are still to be written. */
  readonly isWriting: boolean;
  readonly nowMs: number;
}

export interface Verdict {
  /** True: the split is what it should be. */
  readonly isPlaced: boolean;
  /** Nothing goes on until somebody does something. */
  readonly isBlocked: boolean;
  readonly reason: string;
  readonly message: string;
}

export const placedCondition = "Placed";

/** The very status of the parent when nothing changes. */
export function foldStatus(input: FoldInput): DeploymentStatus {
  const { parent, parts, nowMs } = input;
  const known = parts.filter(({ isKnown }) => isKnown);
  const sum = (field: Parameters<typeof countOf>[1]) =>
    known.reduce((total, { object }) => total + countOf(object, field), 0);
  const available = sum("availableReplicas");
  const terminating = sum("terminatingReplicas");
  const unavailable = Math.max(sum("unavailableReplicas"), replicasOf(parent) - available, 0);
  const status: DeploymentStatus = {
    ...observed(input, known),
    replicas: sum("replicas"),
    updatedReplicas: sum("updatedReplicas"),
    readyReplicas: sum("readyReplicas"),
    availableReplicas: available,
    ...(unavailable === 0 ? {} : { unavailableReplicas: unavailable }),
    ...(terminating === 0 ? {} : { terminatingReplicas: terminating }),
    conditions: withTimes(conditionsOf(parent), foldConditions(input, known, available), nowMs),
  };
  const { status: before } = parent as Deployment;
  return before !== undefined && same(before, status) ? before : status;
}

function observed(
  { strategy, parent, isWriting }: FoldInput,
  known: readonly FoldedPart[],
): Pick<DeploymentStatus, "observedGeneration"> {
  const isSeen =
    !isWriting &&
    known.every(
      ({ cluster, object, isLeftAlone }) =>
        isLeftAlone ||
        (hasSpecOf(object, { strategy, parent, cluster }) && strategy.report(object).isObserved),
    );
  const before = (parent as Deployment).status?.observedGeneration;
  const generation = isSeen ? parent.metadata.generation : before;
  return generation === undefined ? {} : { observedGeneration: generation };
}

function foldConditions(
  input: FoldInput,
  known: readonly FoldedPart[],
  available: number,
): readonly ConditionInput[] {
  const { parent, verdict } = input;
  const { reason, message, isPlaced, isBlocked } = verdict;
  const types = new Set(known.flatMap(({ object }) => conditionsOf(object).map(typeOf)));
  types.delete("Available");
  types.delete("Progressing");
  const conditions: (ConditionInput | undefined)[] = [
    availability(parent, known, available),
    isBlocked ? { type: "Progressing", status: "False", reason, message } : progress(known),
    ...[...types].sort().map((type) => worst(type, known)),
    { type: placedCondition, status: isPlaced ? "True" : "False", reason, message },
  ];
  return conditions.filter((one) => one !== undefined);
}

/** As a cluster judges its own: enough is all but what may be unavailable. A part that only starts makes the whole no less available. */
function availability(
  parent: Workload,
  known: readonly FoldedPart[],
  available: number,
): ConditionInput {
  const needed = replicasOf(parent) - unavailableMax(parent);
  if (available >= needed) {
    const message = "Deployment has minimum availability.";
    return { type: "Available", status: "True", reason: "MinimumReplicasAvailable", message };
  }
  const short = known
    .filter(({ object }) => countOf(object, "availableReplicas") < replicasOf(object))
    .map(
      ({ cluster, object }) =>
        `${cluster} has ${countOf(object, "availableReplicas")} of ${replicasOf(object)}`,
    );
  const message = `Deployment does not have minimum availability${short.length === 0 ? "." : `: ${short.join(", ")}.`}`;
  return { type: "Available", status: "False", reason: "MinimumReplicasUnavailable", message };
}

/** `spec.strategy.rollingUpdate.maxUnavailable`, of the whole; 25% if left out, none for Recreate's counterpart. */
function unavailableMax({ spec, ...rest }: Workload): number {
  const { strategy } = spec as {
    strategy?: { type?: string; rollingUpdate?: { maxUnavailable?: number | string } };
  };
  if (strategy?.type === "Recreate") return 0;
  const limit = strategy?.rollingUpdate?.maxUnavailable ?? "25%";
  if (typeof limit === "number") return limit;
  const percent = /^(\d{1,3})%$/.exec(String(limit))?.[1];
  return Math.floor((replicasOf({ spec, ...rest }) * Number(percent ?? 0)) / 100);
}

/** Complete only when all are; one that has given up speaks for all. */
function progress(known: readonly FoldedPart[]): ConditionInput | undefined {
  for (const { cluster, trouble } of known) {
    if (trouble === undefined) continue;
    const { reason, message } = readTrouble(trouble);
    return { type: "Progressing", status: "False", reason, message: `${cluster}: ${message}` };
  }
  const found = worst("Progressing", known);
  if (found === undefined || found.status !== "True") return found;
  const busy = known.filter(({ object }) =>
    conditionsOf(object).some(
      ({ type, reason }) => type === "Progressing" && reason !== "NewReplicaSetAvailable",
    ),
  );
  return busy.length === 0 ? found : worst("Progressing", busy);
}

function readTrouble(text: string): { readonly reason: string; readonly message: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) {
      const { reason = "NotSynced", message = "not in sync" } = value as Record<string, unknown>;
      return { reason: String(reason), message: String(message) };
    }
  } catch {
    // Then it is no JSON, and said as it stands.
  }
  return { reason: "NotSynced", message: text };
}

/** Of the conditions of one type. For ReplicaFailure it is True that is bad. */
function worst(type: string, known: readonly FoldedPart[]): ConditionInput | undefined {
  const order = type === "ReplicaFailure" ? ["True", "Unknown"] : ["False", "Unknown", "True"];
  for (const status of order) {
    const found = known.flatMap(({ cluster, object }) =>
      conditionsOf(object)
        .filter((one) => one.type === type && one.status === status)
        .map(({ reason = "", message = "" }) => ({ cluster, reason, message })),
    );
    const [first, ...more] = found;
    if (first === undefined) continue;
    const also =
      more.length === 0 ? "" : ` (also ${more.map(({ cluster }) => cluster).join(", ")})`;
    const message = `${first.cluster}: ${first.message}${also}`;
    return { type, status: status as ConditionInput["status"], reason: first.reason, message };
  }
  return undefined;
}

/** Transition times move with the status, update times with anything. */
function withTimes(
  before: readonly WorkloadCondition[],
  inputs: readonly ConditionInput[],
  nowMs: number,
): readonly WorkloadCondition[] {
  const now = timestamp(nowMs);
  return inputs.map((input) => {
    const known = before.find(({ type }) => type === input.type);
    if (known === undefined) return { ...input, lastUpdateTime: now, lastTransitionTime: now };
    const { lastTransitionTime, lastUpdateTime = now, status } = known;
    const isSame =
      status === input.status && known.reason === input.reason && known.message === input.message;
    return {
      ...input,
      lastUpdateTime: isSame ? lastUpdateTime : now,
      lastTransitionTime: status === input.status ? lastTransitionTime : now,
    };
  });
}

function typeOf({ type }: WorkloadCondition): string {
  return type;
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}
