/** Deployments: replicas are divided, and moved make before break. */
import { asDeployment, deployments, replicasOf } from "./deployment.ts";
import { aggregateDeploymentStatus } from "./fold-status.ts";
import { planMoves } from "./plan-moves.ts";
import { deploymentRevisions } from "./revisions.ts";
import { deploymentRollout } from "./rolling/deployment-form.ts";
import type { Strategy } from "./strategy.ts";
import { conditionsOf, isObserved, statusCount } from "./workload.ts";

export const deploymentStrategy: Strategy = {
  name: "deployments.apps",
  sharing: "divide",
  wholes: deployments,
  parts: deployments,
  history: deploymentRevisions,
  accept: asDeployment,
  acceptPart: asDeployment,
  asked: replicasOf,
  shareOf: (part) => ({ replicas: replicasOf(part) }),
  report: (part) => ({
    available: statusCount(part, "availableReplicas"),
    running: statusCount(part, "replicas") + statusCount(part, "terminatingReplicas"),
    isObserved: isObserved(part),
    isStuck:
      isObserved(part) &&
      conditionsOf(part).some(
        ({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded",
      ),
  }),
  specFor: ({ spec }, { replicas }) => ({ ...spec, replicas }),
  plan: planMoves,
  rolling: deploymentRollout,
  fold: aggregateDeploymentStatus,
};
