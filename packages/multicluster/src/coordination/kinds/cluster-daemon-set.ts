/** ClusterDaemonSets, a kind of ours: a Deployment in every cluster, with at least one replica. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { clusterDaemonSets } from "../../api/index.ts";
import { asDeployment, deployments, replicasOf } from "../deployment.ts";
import { foldedConditions, knownParts, observed, unlessSame } from "../fold-parts.ts";
import { planCopies } from "../plan-copies.ts";
import { planGently } from "../plan-gently.ts";
import { deploymentForm } from "../rolling/deployment-form.ts";
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
  plan: (input) => planGently(input, planCopies),
  rolling: deploymentForm,
  fold(input) {
    const known = knownParts(input);
    const isReady = ({ object }: { readonly object: Workload }) =>
      isObserved(object) && statusCount(object, "availableReplicas") >= replicasOf(object);
    return unlessSame(input.parent, {
      ...observed(input, known),
      desiredClusters: known.length,
      readyClusters: known.filter(isReady).length,
      replicas: known.reduce((sum, { object }) => sum + statusCount(object, "replicas"), 0),
      readyReplicas: known.reduce(
        (sum, { object }) => sum + statusCount(object, "readyReplicas"),
        0,
      ),
      conditions: foldedConditions(input, known),
    });
  },
};

function templateOf({ spec }: Workload): JsonObject | undefined {
  const { template } = spec as { template?: { spec?: JsonObject } };
  return template?.spec !== undefined && isJsonObject(template.spec) ? template.spec : undefined;
}
