/** ClusterDaemonSets, a kind of kcp: a Deployment in every cluster, with at least one replica. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { clusterDaemonSets } from "../../api/index.ts";
import { asDeployment, deployments, replicasOf } from "../deployment.ts";
import { deploymentRollout } from "../rollout/deployment-rollout.ts";
import {
  aggregatedConditions,
  observedGenerationOf,
  reachableCopies,
  unlessEqual,
} from "../status-aggregation.ts";
import { copyEverywhere } from "../stepper/capabilities.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, isObserved, statusCount, type Workload } from "../workload.ts";

export const clusterDaemonSetStrategy: Strategy = {
  name: "clusterdaemonsets.workload.kcp.io",
  capabilities: copyEverywhere,
  workloads: clusterDaemonSets,
  copies: deployments,
  accept: (object: KubernetesObject) => {
    const found = asWorkload(object);
    return found !== undefined && templateOf(found) !== undefined ? found : undefined;
  },
  acceptCopy: asDeployment,
  desiredReplicas: () => 1,
  shareOf: () => ({ replicas: 1 }),
  statusReportOf: (copy) => ({
    available: Math.min(1, statusCount(copy, "availableReplicas")),
    isObserved: isObserved(copy),
    isStuck: false,
  }),
  specFor(workload) {
    const template = templateOf(workload) ?? {};
    const requested = replicasOf({ ...workload, spec: template });
    return { ...template, replicas: Math.max(1, requested) };
  },
  rollout: deploymentRollout,
  aggregateStatus(input) {
    const known = reachableCopies(input);
    const isReady = ({ object }: { readonly object: Workload }) =>
      isObserved(object) && statusCount(object, "availableReplicas") >= replicasOf(object);
    return unlessEqual(input.parent, {
      ...observedGenerationOf(input, known),
      desiredClusters: known.length,
      readyClusters: known.filter(isReady).length,
      replicas: known.reduce((sum, { object }) => sum + statusCount(object, "replicas"), 0),
      readyReplicas: known.reduce(
        (sum, { object }) => sum + statusCount(object, "readyReplicas"),
        0,
      ),
      conditions: aggregatedConditions(input, known),
    });
  },
};

function templateOf({ spec }: Workload): JsonObject | undefined {
  const { template } = spec as { template?: { spec?: JsonObject } };
  return template?.spec !== undefined && isJsonObject(template.spec) ? template.spec : undefined;
}
