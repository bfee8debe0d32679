/**
 * Draining a cluster: the request in `spec.drain` of its SyncTarget, and the progress in
 * `status.drain`.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { arrayType, objectType, stringType } from "./schema-builders.ts";

/**
 * While `spec.drain` is set, the workloads in the cluster leave it, and no new ones are assigned.
 * The cluster is used again when `spec.drain` is removed.
 */
export interface DrainSpec {
  /** The limits on workloads in flight at a time; unlimited if omitted. */
  readonly budget?: DrainBudget;
  /**
   * The expected duration of the drain. A drain that takes longer is reported as late, and not
   * forced.
   */
  readonly deadlineSeconds?: number;
  /** Deletes the SyncTarget when the cluster is empty. */
  readonly deleteAfterDrain?: boolean;
}

export interface DrainBudget {
  readonly workloads?: number;
  readonly replicas?: number;
}

export interface DrainStatus {
  readonly startedAt: string;
  /** The largest number of workloads that the cluster had during the drain. */
  readonly total: number;
  readonly moved: number;
  readonly remaining: number;
  readonly remainingReplicas: number;
  /** The workloads that cannot leave by themselves, with the reasons. */
  readonly blocked?: readonly DrainBlocker[];
  /** The estimated end if the drain continues at its current rate. */
  readonly estimatedEnd?: string;
}

export interface DrainBlocker {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
}

/** The condition of a SyncTarget with `spec.drain`: whether the cluster is empty. */
export const drainedCondition = "Drained";

/**
 * On a per-cluster object, "true": the object may now leave a cluster that is drained with a
 * budget.
 */
export const evictAnnotation = "workload.kcp.io/evict";

const count = (description: string): JsonObject => ({
  type: "integer",
  format: "int32",
  description,
});
const positive = (description: string): JsonObject => ({ ...count(description), minimum: 1 });

export const drainSpecSchema: JsonObject = objectType(
  {
    budget: objectType(
      {
        workloads: positive("Workloads that may be on the move at a time."),
        replicas: positive(
          "Replicas that may be on the move at a time; one workload may be, however large.",
        ),
      },
      { description: "The most that may be in flight at a time; unlimited if left out." },
    ),
    deadlineSeconds: positive("So long it may take before it is called late. Nothing is forced."),
    deleteAfterDrain: {
      type: "boolean",
      description: "Delete the SyncTarget when the cluster is empty.",
    },
  },
  {
    description:
      "Drains the cluster: the scheduler assigns nothing new to it, and workloads leave it as they are replaced elsewhere. Remove this field to cancel the drain.",
  },
);

export const drainStatusSchema: JsonObject = objectType(
  {
    startedAt: stringType("", { format: "date-time" }),
    total: count("Workloads, as many as there were at most."),
    moved: count("Those that have left."),
    remaining: count("Those that are still there."),
    remainingReplicas: count("And how many replicas that is."),
    blocked: arrayType(
      objectType(
        {
          kind: stringType(),
          namespace: stringType(),
          name: stringType(),
          reason: stringType(),
          message: stringType(),
        },
        { required: ["kind", "name", "reason", "message"] },
      ),
      {
        description: "The objects that cannot move, and the reasons.",
        "x-kubernetes-list-type": "atomic",
      },
    ),
    estimatedEnd: stringType("If it goes on like this.", { format: "date-time" }),
  },
  { description: "The progress of the drain." },
);
