/** Draining a cluster: what is asked for in `spec.drain` of its SyncTarget, and what is said in `status.drain`. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { arrayType, objectType, stringType } from "./notation.ts";

/** While it is there, what is in the cluster leaves it and nothing new comes. Taken away, the cluster is used again. */
export interface DrainSpec {
  /** What may be under way at a time; everything if left out. */
  readonly budget?: DrainBudget;
  /** So long it may take. Then it is said that it is late; nothing is forced. */
  readonly deadlineSeconds?: number;
  /** When the cluster is empty, its SyncTarget is deleted. */
  readonly decommission?: boolean;
}

export interface DrainBudget {
  readonly workloads?: number;
  readonly replicas?: number;
}

export interface DrainStatus {
  readonly startedAt: string;
  /** Workloads, as many as there were at most. */
  readonly total: number;
  readonly moved: number;
  readonly remaining: number;
  readonly remainingReplicas: number;
  /** Those that cannot leave by themselves, and why. */
  readonly blocked?: readonly DrainBlocker[];
  /** If it goes on like this. */
  readonly estimatedEnd?: string;
}

export interface DrainBlocker {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
}

/** Of a SyncTarget with `spec.drain`: whether the cluster is empty. */
export const drainedCondition = "Drained";

/** On a part, "true": its turn to leave a cluster that is drained on a budget. */
export const evictAnnotation = "workloads.kcp.io/evict";

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
      { description: "What may be under way at a time; everything if left out." },
    ),
    deadlineSeconds: positive("So long it may take before it is called late. Nothing is forced."),
    decommission: {
      type: "boolean",
      description: "Delete the SyncTarget when the cluster is empty.",
    },
  },
  {
    description:
      "While it is there, nothing new is assigned to the cluster, and what is there leaves it as it is replaced elsewhere. Remove it to take it back.",
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
        description: "Those that cannot leave by themselves, and why.",
        "x-kubernetes-list-type": "atomic",
      },
    ),
    estimatedEnd: stringType("If it goes on like this.", { format: "date-time" }),
  },
  { description: "How far the drain is." },
);
