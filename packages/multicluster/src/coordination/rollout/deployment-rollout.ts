/**
 * The rollout of Deployments: a cluster observes `maxUnavailable` and `maxSurge` of its copy, which
 * are a part of the Deployment's limits.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { specCount, statusCount, type Workload } from "../workload.ts";
import { scaledIntOrPercent } from "./int-or-percent.ts";
import type { KindRollout } from "./kind-rollout.ts";
import {
  memberOf,
  rollingUpdateType,
  templateAccessors,
  withLimitsFrom,
} from "./template-rollout.ts";

/** The API's default of both limits. */
const quarter = "25%";

export const deploymentRollout: KindRollout = {
  ...templateAccessors,
  minimumLimits: { unavailable: 0, surge: 1 },
  modeOf(spec, total) {
    const { type, rollingUpdate } = memberOf(spec, "strategy");
    if (type === "Recreate") return "Recreate";
    return paceIn(rollingUpdate, total);
  },
  withLimits(spec, { unavailable: maxUnavailable, surge: maxSurge }) {
    if (maxUnavailable + maxSurge === 0) return spec;
    const rollingUpdate = { maxUnavailable, maxSurge };
    return {
      ...spec,
      strategy: { ...memberOf(spec, "strategy"), type: rollingUpdateType, rollingUpdate },
    };
  },
  withLimitsOf: (spec, current) => withLimitsFrom("strategy", spec, current),
  limitsOf(copy) {
    const { type, rollingUpdate } = memberOf(copy.spec, "strategy");
    const pods = podsOf(copy.spec);
    return type === "Recreate" ? { unavailable: pods, surge: 0 } : paceIn(rollingUpdate, pods);
  },
  pods: (_part, spec) => podsOf(spec),
  available: (copy) => statusCount(copy, "availableReplicas"),
  updated: (copy) => statusCount(copy, "updatedReplicas"),
  isComplete(copy) {
    const updated = statusCount(copy, "updatedReplicas");
    return updated >= podsOf(copy.spec) && statusCount(copy, "replicas") <= updated;
  },
};

function podsOf(spec: JsonObject): number {
  return specCount({ spec } as Workload, "replicas", 1);
}

function paceIn(rollingUpdate: JsonValue | undefined, pods: number) {
  const { maxUnavailable = quarter, maxSurge = quarter } = (rollingUpdate ?? {}) as Record<
    string,
    JsonValue
  >;
  const unavailable = scaledIntOrPercent(maxUnavailable, pods, Math.floor);
  const surge = scaledIntOrPercent(maxSurge, pods, Math.ceil);
  // As in one cluster: with 0 for both limits nothing could be replaced.
  return unavailable + surge === 0 ? { unavailable: 1, surge } : { unavailable, surge };
}
