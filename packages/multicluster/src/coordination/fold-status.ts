/**
 * The status of a Deployment from those of its parts: counts are sums, conditions the worst of them with the cluster's name in the message, and a
 * generation is observed when every part has it and its cluster has observed it.
 *
 * Parts in clusters that are lost count as nothing: what they last reported is no longer known to be true.
 */
import type { ConditionInput } from "@kcp-ts/sdk";
import { countOf, type DeploymentStatus, replicasOf } from "./deployment.ts";
import {
  type AggregationInput,
  type CopyStatus,
  observedGenerationOf,
  readSyncError,
  scheduledCondition,
  unlessEqual,
  updatedCopies,
  withTransitionTimes,
  withUpdateTimes,
  worstCondition,
} from "./fold-parts.ts";
import type { RolloutPlan } from "./rolling/roll-out.ts";
import { rolloutMessage } from "./rolling/roll-out-text.ts";
import { conditionsOf, type Workload, type WorkloadCondition } from "./workload.ts";

/** The very status of the parent when nothing changes. */
export function aggregateDeploymentStatus(input: AggregationInput): DeploymentStatus {
  const { parent, parts, nowMs } = input;
  const known = parts.filter(({ isKnown }) => isKnown);
  const sum = (field: Parameters<typeof countOf>[1]) =>
    known.reduce((total, { object }) => total + countOf(object, field), 0);
  const available = sum("availableReplicas");
  const terminating = sum("terminatingReplicas");
  const unavailable = Math.max(sum("unavailableReplicas"), replicasOf(parent) - available, 0);
  const before = conditionsOf(parent);
  const conditions = withTransitionTimes(
    before,
    aggregateDeploymentConditions(input, known, available),
    nowMs,
  );
  const status: DeploymentStatus = {
    ...observedGenerationOf(input, known),
    replicas: sum("replicas"),
    updatedReplicas: updatedCopies(known).reduce(
      (total, { object }) => total + countOf(object, "updatedReplicas"),
      0,
    ),
    readyReplicas: sum("readyReplicas"),
    availableReplicas: available,
    ...(unavailable === 0 ? {} : { unavailableReplicas: unavailable }),
    ...(terminating === 0 ? {} : { terminatingReplicas: terminating }),
    conditions: withUpdateTimes(before, conditions, nowMs),
  };
  return unlessEqual(parent, status);
}

function aggregateDeploymentConditions(
  input: AggregationInput,
  known: readonly CopyStatus[],
  available: number,
): readonly ConditionInput[] {
  const { parent, verdict } = input;
  const { reason, message, isPlaced, isBlocked } = verdict;
  const types = new Set(known.flatMap(({ object }) => conditionsOf(object).map(typeOf)));
  types.delete("Available");
  types.delete("Progressing");
  const conditions: (ConditionInput | undefined)[] = [
    availability(parent, known, available),
    isBlocked ? { type: "Progressing", status: "False", reason, message } : progress(input, known),
    ...[...types].sort().map((type) => worstCondition(type, known)),
    { type: scheduledCondition, status: isPlaced ? "True" : "False", reason, message },
  ];
  return conditions.filter((one) => one !== undefined);
}

/** As a cluster judges its own: enough is all but what may be unavailable. A part that only starts makes the whole no less available. */
function availability(
  parent: Workload,
  known: readonly CopyStatus[],
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
function progress(
  { rollOut }: AggregationInput,
  known: readonly CopyStatus[],
): ConditionInput | undefined {
  for (const { cluster, trouble } of known) {
    if (trouble === undefined) continue;
    const { reason, message } = readSyncError(trouble);
    return { type: "Progressing", status: "False", reason, message: `${cluster}: ${message}` };
  }
  const found = worstCondition("Progressing", known);
  const rolled = rollOut && progressOf(rollOut);
  if (rolled !== undefined && (rollOut?.state === "undone" || found?.status !== "False"))
    return rolled;
  if (found === undefined || found.status !== "True") return found;
  const busy = known.filter(({ object }) =>
    conditionsOf(object).some(
      ({ type, reason }) => type === "Progressing" && reason !== "NewReplicaSetAvailable",
    ),
  );
  return busy.length === 0 ? found : worstCondition("Progressing", busy);
}

/** As Kubernetes words it for one cluster, for those who wait for a rollout; undefined when there is none. */
function progressOf(rollOut: RolloutPlan): ConditionInput | undefined {
  const { state } = rollOut;
  if (state === "done") return undefined;
  const [status, reason] = progressWords[state];
  return { type: "Progressing", status, reason, message: rolloutMessage(rollOut) };
}

const progressWords = {
  rolling: ["True", "ReplicaSetUpdated"],
  paused: ["Unknown", "DeploymentPaused"],
  undone: ["False", "ProgressDeadlineExceeded"],
} as const;

function typeOf({ type }: WorkloadCondition): string {
  return type;
}
