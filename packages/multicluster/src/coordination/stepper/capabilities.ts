/**
 * What the stepper knows of a kind: one row of capabilities. `step.ts` serves every kind by its
 * row; a kind adds the meaning of its spec and the aggregation of its status.
 */

/**
 * What moves between clusters: counted replicas, numbered ones, or the complete workload; of a
 * workload that is everywhere, nothing moves.
 */
export type StepUnit = "Replica" | "Ordinal" | "Single" | "Everywhere";

export interface StepCapabilities {
  readonly unit: StepUnit;
  /** StartBeforeStop: a replacement may run beside the replica that it replaces. */
  readonly mayOverlap: boolean;
  /** The author's maxSurge and maxUnavailable limit a move; otherwise, one unit at a time moves. */
  readonly maySurge: boolean;
  /** A copy can have 0 replicas: it is stopped before it is removed. */
  readonly mayRest: boolean;
  /** A running copy finishes in its cluster, also when that is drained. */
  readonly finishesInPlace: boolean;
  /** A move that misses the progress deadline is rolled back. */
  readonly hasDeadline: boolean;
}

const none = { mayRest: false, finishesInPlace: false, hasDeadline: false };

/** Replicas are divided among clusters, as those of a Deployment. */
export const dividedReplicas: StepCapabilities = {
  unit: "Replica",
  mayOverlap: true,
  maySurge: true,
  mayRest: true,
  finishesInPlace: false,
  hasDeadline: true,
};

/** Each cluster has a range of ordinals, and no ordinal is in two clusters. */
export const dividedOrdinals: StepCapabilities = {
  ...none,
  unit: "Ordinal",
  mayOverlap: false,
  maySurge: false,
  mayRest: true,
};

/** Every cluster has a copy of its own. */
export const copyEverywhere: StepCapabilities = {
  ...none,
  unit: "Everywhere",
  mayOverlap: true,
  maySurge: false,
};

/** One copy in one cluster, which is replaced before it is removed. */
export const singleOverlapping: StepCapabilities = {
  ...none,
  unit: "Single",
  mayOverlap: true,
  maySurge: true,
  hasDeadline: true,
};

/** A schedule in one cluster: suspended and removed before another cluster has it. */
export const singleSchedule: StepCapabilities = {
  ...none,
  unit: "Single",
  mayOverlap: false,
  maySurge: false,
  mayRest: true,
};

/** One copy in one cluster, which runs once and ends there. */
export const singleRunningOnce: StepCapabilities = {
  ...none,
  unit: "Single",
  mayOverlap: false,
  maySurge: false,
  finishesInPlace: true,
};
