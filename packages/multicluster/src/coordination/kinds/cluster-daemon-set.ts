/** ClusterDaemonSets, a kind of ours: a Deployment in every cluster, with at least one replica. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { clusterDaemonSets } from "../../api/index.ts";
import { asDeployment, deployments, replicasOf } from "../deployment.ts";
import {
  aggregatedConditions,
  observedGenerationOf,
  reachableCopies,
  unlessEqual,
} from "../fold-parts.ts";
import { planDuplicated } from "../plan-copies.ts";
import { withMoveGuards } from "../plan-gently.ts";
import { deploymentRollout } from "../rolling/deployment-form.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, isObserved, statusCount, type Workload } from "../workload.ts";

export const clusterDaemonSetStrategy: Strategy = {
  name: "clusterdaemonsets.workload.kcp.io",
  sharing: "duplicate",
  wholes: clusterDaemonSets,
  parts: deployments,
  accept: (object: KubernetesObject) => {
    const found = asWorkload(object);
    return found !== undefined && templateOf(found) !== undefined ? found : undefined;
  },
  acceptPart: asDeployment,
  asked: () => 1,
  shareOf: () => ({ replicas: 1 }),
  report: (part) => ({
    available: Math.min(1, statusCount(part, "availableReplicas")),
    isObserved: isObserved(part),
    isStuck: false,
  }),
  specFor(whole) {
    const template = templateOf(whole) ?? {};
    const asked = replicasOf({ ...whole, spec: template });
    return { ...template, replicas: Math.max(1, asked) };
  },
  plan: (input) => withMoveGuards(input, planDuplicated),
  rolling: deploymentRollout,
  fold(input) {
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
