/**
 * Draining a cluster: the request in `spec.drain` of its SyncTarget, and the progress in
 * `status.drain`.
 */
import {
  atomic,
  bool,
  int32,
  list,
  object,
  string,
  type TypeOf,
  time,
} from "@kcp-ts/machinery/schema";

/** The condition of a SyncTarget with `spec.drain`: whether the cluster is empty. */
export const drainedCondition = "Drained";

/**
 * On a per-cluster object, "true": the object may now leave a cluster that is drained with a
 * budget.
 */
export const evictAnnotation = "workload.kcp.io/evict";

const positive = { minimum: 1 };

export type DrainSpec = TypeOf<typeof drainSpec>;

export const drainSpec = object(
  {
    budget: object(
      {
        workloads: int32("The workloads that may be in flight at a time.", positive),
        replicas: int32(
          "The replicas that may be in flight at a time; one workload may be, however large.",
          positive,
        ),
      },
      { description: "The most that may be in flight at a time; unlimited if left out." },
    ),
    deadlineSeconds: int32(
      "The expected duration. A drain that takes longer is reported as late, and not forced.",
      positive,
    ),
    deleteAfterDrain: bool("Delete the SyncTarget when the cluster is empty."),
  },
  {
    description:
      "Drains the cluster: the scheduler assigns nothing new to it, and workloads leave it as other clusters replace them. Remove this field to cancel the drain.",
  },
);

const blocker = object(
  { kind: string(), namespace: string(), name: string(), reason: string(), message: string() },
  { required: ["kind", "name", "reason", "message"] },
);
export type DrainBlocker = TypeOf<typeof blocker>;

export type DrainStatus = TypeOf<typeof drainStatus>;

export const drainStatus = object(
  {
    startedAt: time(),
    total: int32("The largest number of workloads that the cluster had during the drain."),
    moved: int32("The workloads that have left."),
    remaining: int32("The workloads that are still there."),
    remainingReplicas: int32("The replicas of the remaining workloads."),
    blocked: list(blocker, {
      description: "The workloads that cannot leave by themselves, and the reasons.",
      ...atomic,
    }),
    estimatedEnd: time("The end, if the drain continues at its current rate."),
  },
  {
    description: "The progress of the drain.",
    required: ["startedAt", "total", "moved", "remaining", "remainingReplicas"],
  },
);
