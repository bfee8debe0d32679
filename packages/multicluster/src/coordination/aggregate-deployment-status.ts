/**
 * The status of a Deployment, aggregated from its copies: counts are sums, conditions are the worst
 * of the copies with the cluster's name in the message, and a generation is observed when every
 * copy has it and its cluster has observed it.
 *
 * Copies in Unreachable clusters count as 0: their last reports are no longer known to be true.
 */
import type { ConditionInput } from "@kcp-ts/sdk";
import { countOf, type DeploymentStatus, replicasOf } from "./deployment.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import { rolloutMessage } from "./rollout/rollout-message.ts";
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
} from "./status-aggregation.ts";
import { conditionsOf, type Workload, type WorkloadCondition } from "./workload.ts";

/** The aggregated status; the parent's identical status object when nothing changes. */
export function aggregateDeploymentStatus(input: AggregationInput): DeploymentStatus {
  const { parent, copies, nowMs } = input;
  const known = copies.filter(({ isReachable }) => isReachable);
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
  const { parent, scheduled } = input;
  const { reason, message, isScheduled, isBlocked } = scheduled;
  const types = new Set(known.flatMap(({ object }) => conditionsOf(object).map(typeOf)));
  types.delete("Available");
  types.delete("Progressing");
  const conditions: (ConditionInput | undefined)[] = [
    availability(parent, known, available),
    isBlocked ? { type: "Progressing", status: "False", reason, message } : progress(input, known),
    ...[...types].sort().map((type) => worstCondition(type, known)),
    { type: scheduledCondition, status: isScheduled ? "True" : "False", reason, message },
  ];
  return conditions.filter((one) => one !== undefined);
}

/**
 * Availability as Kubernetes defines it in one cluster: all replicas but maxUnavailable are
 * available. A copy that is only starting does not make the Deployment less available.
 */
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

/**
 * The workload's `spec.strategy.rollingUpdate.maxUnavailable`; 25% if omitted, 0 for the strategy
 * Recreate.
 */
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

/**
 * Progressing is complete only when all copies are; one copy past its progress deadline decides for
 * all.
 */
function progress(
  { rollout }: AggregationInput,
  known: readonly CopyStatus[],
): ConditionInput | undefined {
  for (const { cluster, syncError } of known) {
    if (syncError === undefined) continue;
    const { reason, message } = readSyncError(syncError);
    return { type: "Progressing", status: "False", reason, message: `${cluster}: ${message}` };
  }
  const found = worstCondition("Progressing", known);
  const rolled = rollout && progressOf(rollout);
  if (rolled !== undefined && (rollout?.state === "RolledBack" || found?.status !== "False"))
    return rolled;
  if (found === undefined || found.status !== "True") return found;
  const busy = known.filter(({ object }) =>
    conditionsOf(object).some(
      ({ type, reason }) => type === "Progressing" && reason !== "NewReplicaSetAvailable",
    ),
  );
  return busy.length === 0 ? found : worstCondition("Progressing", busy);
}

/**
 * The condition Progressing in Kubernetes' own wording, for clients that wait for a rollout;
 * undefined without a rollout in progress.
 */
function progressOf(rollout: RolloutPlan): ConditionInput | undefined {
  const { state } = rollout;
  if (state === "Complete") return undefined;
  const [status, reason] = progressWords[state];
  return { type: "Progressing", status, reason, message: rolloutMessage(rollout) };
}

const progressWords = {
  RollingOut: ["True", "ReplicaSetUpdated"],
  Paused: ["Unknown", "DeploymentPaused"],
  RolledBack: ["False", "ProgressDeadlineExceeded"],
} as const;

function typeOf({ type }: WorkloadCondition): string {
  return type;
}
