/**
 * The rollout of custom kinds. Which fields of their spec replace Pods, and how, is unknown: the
 * complete spec but the replicas goes to one cluster after the other, to the next when the last is
 * available again.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { Workload } from "../workload.ts";
import type { KindRollout } from "./kind-rollout.ts";

export interface CountedPods {
  /** The desired Pods of a copy. */
  pods(spec: JsonObject): number;
  withPods(spec: JsonObject, pods: number): JsonObject;
  available(copy: Workload): number;
}

export function clusterByClusterRollout({ pods, withPods, available }: CountedPods): KindRollout {
  const withTemplate: KindRollout["withTemplate"] = (spec, template) =>
    withPods(template as JsonObject, pods(spec));
  return {
    template: (spec) => withPods(spec, 0),
    withTemplate,
    isOutdated: (wanted, current) => !jsonEqual(wanted, withTemplate(wanted, current)),
    withCurrentTemplate: withTemplate,
    modeOf: () => "ClusterByCluster",
    minimumLimits: { unavailable: 1, surge: 0 },
    withLimits: (spec) => spec,
    withLimitsOf: (spec) => spec,
    limitsOf: ({ spec }) => ({ unavailable: pods(spec), surge: 0 }),
    pods: (_part, spec) => pods(spec),
    available,
    updated: available,
    isComplete: (copy) => available(copy) >= pods(copy.spec),
  };
}
