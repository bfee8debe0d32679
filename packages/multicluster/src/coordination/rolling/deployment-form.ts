/** Deployments: a cluster keeps to `maxUnavailable` and `maxSurge` of the part, which are its share of those of the whole. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { specCount, statusCount, type Workload } from "../workload.ts";
import type { KindRollout } from "./form.ts";
import { scaledIntOrPercent } from "./int-or-percent.ts";
import { memberOf, rollingUpdateType, templateAccessors, withLimitsFrom } from "./templated.ts";

/** What the API defaults to. */
const quarter = "25%";

export const deploymentRollout: KindRollout = {
  ...templateAccessors,
  least: { unavailable: 0, surge: 1 },
  allowance(spec, total) {
    const { type, rollingUpdate } = memberOf(spec, "strategy");
    if (type === "Recreate") return "atOnce";
    return paceIn(rollingUpdate, total);
  },
  paced(spec, { unavailable: maxUnavailable, surge: maxSurge }) {
    if (maxUnavailable + maxSurge === 0) return spec;
    const rollingUpdate = { maxUnavailable, maxSurge };
    return {
      ...spec,
      strategy: { ...memberOf(spec, "strategy"), type: rollingUpdateType, rollingUpdate },
    };
  },
  asPaced: (spec, current) => withLimitsFrom("strategy", spec, current),
  paceOf(part) {
    const { type, rollingUpdate } = memberOf(part.spec, "strategy");
    const pods = podsOf(part.spec);
    return type === "Recreate" ? { unavailable: pods, surge: 0 } : paceIn(rollingUpdate, pods);
  },
  pods: (_part, spec) => podsOf(spec),
  available: (part) => statusCount(part, "availableReplicas"),
  updated: (part) => statusCount(part, "updatedReplicas"),
  isReplaced(part) {
    const updated = statusCount(part, "updatedReplicas");
    return updated >= podsOf(part.spec) && statusCount(part, "replicas") <= updated;
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
  // As in a cluster: with neither, it would be neither.
  return unavailable + surge === 0 ? { unavailable: 1, surge } : { unavailable, surge };
}
