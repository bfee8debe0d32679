/** The status of a Deployment: counts, and the conditions Available and Progressing. Pure. */
import { timestamp } from "@kcp-ts/sdk";
import type { Condition, Deployment, ReplicaSet } from "../api/index.ts";
import { availableOf, replicasOf, rollingLimitsOf } from "./rollout.ts";

type Status = NonNullable<Deployment["status"]>;

export interface StatusInput {
  readonly deployment: Deployment;
  /** The progress of the preceding step; replaces the existing condition. */
  readonly progress: Progress | undefined;
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
  readonly collisionCount: number | undefined;
  readonly knowsTerminatingReplicas: boolean;
  readonly nowMs: number;
}

export interface Progress {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export function deploymentStatus(facts: StatusInput): Status {
  const { deployment, current, old, nowMs } = facts;
  const sets = current === undefined ? old : [...old, current];
  const sum = (count: (set: ReplicaSet) => number | undefined) =>
    sets.reduce((total, set) => total + (count(set) ?? 0), 0);
  const wanted = deployment.spec.replicas ?? 1;
  const replicas = sum(({ status }) => status?.replicas);
  const available = sum(availableOf);
  const counts = {
    replicas,
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum(({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(replicasOf) - available),
  };
  const isAvailable = available >= wanted - rollingLimitsOf(deployment).unavailable;
  let conditions: readonly Condition[] = deployment.status?.conditions ?? [];
  conditions = put(conditions, isAvailable ? minimum : noMinimum, nowMs);
  conditions = withFailure(conditions, sets, nowMs);
  const draft = { ...counts, observedGeneration: deployment.metadata.generation ?? 0 };
  conditions = withProgress(facts, draft, conditions);
  const { collisionCount } = facts;
  return {
    observedGeneration: draft.observedGeneration,
    ...nonZero(counts),
    ...(facts.knowsTerminatingReplicas
      ? { terminatingReplicas: sum(({ status }) => status?.terminatingReplicas) }
      : {}),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions,
  };
}

function nonZero(counts: Readonly<Record<string, number>>): Partial<Status> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

const minimum: Condition = {
  type: "Available",
  status: "True",
  reason: "MinimumReplicasAvailable",
  message: "Deployment has minimum availability.",
};

const noMinimum: Condition = {
  type: "Available",
  status: "False",
  reason: "MinimumReplicasUnavailable",
  message: "Deployment does not have minimum availability.",
};

function withFailure(
  conditions: readonly Condition[],
  sets: readonly ReplicaSet[],
  nowMs: number,
): readonly Condition[] {
  const failure = sets
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type }) => type === "ReplicaFailure");
  if (failure !== undefined) return put(conditions, failure, nowMs);
  return conditions.filter(({ type }) => type !== "ReplicaFailure");
}

type Counts = Required<
  Pick<
    Status,
    "replicas" | "updatedReplicas" | "readyReplicas" | "availableReplicas" | "observedGeneration"
  >
>;

function withProgress(
  { deployment, progress, current, nowMs }: StatusInput,
  now: Counts,
  present: readonly Condition[],
): readonly Condition[] {
  const conditions =
    progress === undefined ? present : put(present, { type: "Progressing", ...progress }, nowMs);
  const known = conditions.find(({ type }) => type === "Progressing");
  const isDone = now.replicas === now.updatedReplicas && known?.reason === "NewReplicaSetAvailable";
  if (deployment.spec.paused === true || isDone) return conditions;
  const next = progressOf(deployment, current, now, known, nowMs);
  if (next === undefined) return conditions;
  return put(conditions, { type: "Progressing", ...next.progress }, nowMs, next.isFresh);
}

function progressOf(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  now: Counts,
  known: Condition | undefined,
  nowMs: number,
): { readonly progress: Progress; readonly isFresh: boolean } | undefined {
  const name = current?.metadata.name ?? deployment.metadata.name;
  const what = current === undefined ? `Deployment "${name}"` : `ReplicaSet "${name}"`;
  const wanted = deployment.spec.replicas ?? 1;
  const isComplete =
    now.updatedReplicas === wanted && now.replicas === wanted && now.availableReplicas === wanted;
  if (isComplete) {
    const message = `${what} has successfully progressed.`;
    return {
      progress: { status: "True", reason: "NewReplicaSetAvailable", message },
      isFresh: true,
    };
  }
  if (isMoving(deployment.status ?? {}, now)) {
    const message = `${what} is progressing.`;
    return { progress: { status: "True", reason: "ReplicaSetUpdated", message }, isFresh: true };
  }
  if (isTimedOut(deployment, known, nowMs)) {
    const message = `${what} has timed out progressing.`;
    return {
      progress: { status: "False", reason: "ProgressDeadlineExceeded", message },
      isFresh: false,
    };
  }
  return undefined;
}

function isMoving(before: Status, now: Counts): boolean {
  const old = (status: { replicas?: number; updatedReplicas?: number }) =>
    (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    now.updatedReplicas > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    now.readyReplicas > (before.readyReplicas ?? 0) ||
    now.availableReplicas > (before.availableReplicas ?? 0)
  );
}

function isTimedOut({ spec }: Deployment, known: Condition | undefined, nowMs: number): boolean {
  if (known === undefined || known.reason === "NewReplicaSetAvailable") return false;
  if (known.reason === "ProgressDeadlineExceeded") return true;
  const sinceMs = Date.parse(known.lastUpdateTime ?? "");
  return nowMs - sinceMs > (spec.progressDeadlineSeconds ?? 600) * 1000;
}

/**
 * lastTransitionTime changes with the status, lastUpdateTime with the reason, or always for a new
 * update.
 */
export function put(
  conditions: readonly Condition[],
  input: Condition,
  nowMs: number,
  isFresh = false,
): readonly Condition[] {
  const known = conditions.find(({ type }) => type === input.type);
  const isSame =
    known?.status === input.status &&
    known.reason === input.reason &&
    known.message === input.message;
  if (isSame && !isFresh) return conditions;
  const now = timestamp(nowMs);
  const made: Condition = {
    type: input.type,
    status: input.status,
    lastUpdateTime: now,
    lastTransitionTime: known?.status === input.status ? (known.lastTransitionTime ?? now) : now,
    ...(input.reason === undefined ? {} : { reason: input.reason }),
    ...(input.message === undefined ? {} : { message: input.message }),
  };
  return [...conditions.filter((one) => one !== known), made];
}
