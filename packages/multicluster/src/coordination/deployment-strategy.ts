/**
 * The strategy of Deployments: replicas are divided among clusters, and move with StartBeforeStop.
 */
import { aggregateDeploymentStatus } from "./aggregate-deployment-status.ts";
import { asDeployment, deployments, replicasOf } from "./deployment.ts";
import { deploymentRevisions } from "./revisions.ts";
import { deploymentRollout } from "./rollout/deployment-rollout.ts";
import { dividedReplicas } from "./stepper/capabilities.ts";
import type { Strategy } from "./strategy.ts";
import { conditionsOf, isObserved, statusCount } from "./workload.ts";

/** The largest number of seconds means that there is no deadline, as in Kubernetes. */
const noDeadline = 2 ** 31 - 1;

export const deploymentStrategy: Strategy = {
  name: "deployments.apps",
  capabilities: dividedReplicas,
  workloads: deployments,
  copies: deployments,
  revisions: deploymentRevisions,
  accept: asDeployment,
  acceptCopy: asDeployment,
  desiredReplicas: replicasOf,
  progressDeadlineSecondsOf: ({ spec }) => {
    const { progressDeadlineSeconds: seconds } = spec as { progressDeadlineSeconds?: unknown };
    return typeof seconds === "number" && seconds < noDeadline ? seconds : undefined;
  },
  shareOf: (copy) => ({ replicas: replicasOf(copy) }),
  statusReportOf: (copy) => ({
    available: statusCount(copy, "availableReplicas"),
    running: statusCount(copy, "replicas") + statusCount(copy, "terminatingReplicas"),
    isObserved: isObserved(copy),
    isStuck:
      isObserved(copy) &&
      conditionsOf(copy).some(
        ({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded",
      ),
  }),
  specFor: ({ spec }, { replicas }) => ({ ...spec, replicas }),
  rollout: deploymentRollout,
  aggregateStatus: aggregateDeploymentStatus,
};
