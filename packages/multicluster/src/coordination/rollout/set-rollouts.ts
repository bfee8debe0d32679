/**
 * The rollouts of sets. A StatefulSet is updated from its highest ordinal down, one at a time, so
 * one cluster follows the other; the ordinals below the author's `partition` stay unchanged in
 * every cluster. A DaemonSet is updated node by node, as many at a time in all clusters together as
 * its author permits.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isCount, specCount, statusCount, type Workload } from "../workload.ts";
import { scaledIntOrPercent } from "./int-or-percent.ts";
import type { KindRollout } from "./kind-rollout.ts";
import {
  memberOf,
  rollingUpdateType,
  templateAccessors,
  withLimitsFrom,
} from "./template-rollout.ts";

const strategyField = "updateStrategy";
const oneAtATime = { unavailable: 1, surge: 0 };

export const statefulSetRollout: KindRollout = {
  ...templateAccessors,
  minimumLimits: oneAtATime,
  isOutdated(wanted, current) {
    const isFewerKept = partitionOf(wanted) < partitionOf(current);
    const isNowRolling = isByHand(current) && !isByHand(wanted);
    return templateAccessors.isOutdated(wanted, current) || isFewerKept || isNowRolling;
  },
  withCurrentTemplate(wanted, current) {
    const spec = templateAccessors.withCurrentTemplate(wanted, current);
    if (isByHand(current)) return withStrategy(spec, current);
    const partition = Math.max(partitionOf(wanted), partitionOf(current));
    return partition === partitionOf(wanted) ? spec : withPartition(spec, partition);
  },
  modeOf(spec, total) {
    if (isByHand(spec)) return "OnDelete";
    const { maxUnavailable = 1 } = rollingUpdateOf(spec);
    return {
      unavailable: Math.max(1, scaledIntOrPercent(maxUnavailable, total, Math.ceil)),
      surge: 0,
    };
  },
  // Most authors omit maxUnavailable and thereby request one at a time, which all clusters support.
  withLimits(spec, { unavailable }) {
    const { maxUnavailable, ...rest } = rollingUpdateOf(spec);
    if (maxUnavailable === undefined) return spec;
    const rollingUpdate = { ...rest, maxUnavailable: Math.max(1, unavailable) };
    return { ...spec, [strategyField]: { type: rollingUpdateType, rollingUpdate } as JsonObject };
  },
  withLimitsOf(spec, current) {
    const { maxUnavailable } = rollingUpdateOf(spec);
    const { maxUnavailable: known } = rollingUpdateOf(current);
    if (maxUnavailable === undefined || known === undefined) return spec;
    const rollingUpdate = { ...rollingUpdateOf(spec), maxUnavailable: known };
    return { ...spec, [strategyField]: { type: rollingUpdateType, rollingUpdate } as JsonObject };
  },
  limitsOf({ spec }) {
    const { maxUnavailable = 1 } = rollingUpdateOf(spec);
    const unavailable = Math.max(
      1,
      scaledIntOrPercent(maxUnavailable, replicasOf(spec), Math.ceil),
    );
    return { unavailable, surge: 0 };
  },
  pods: (_part, spec) => replicasOf(spec),
  available: (copy) =>
    // Clusters whose version lacks minReadySeconds report only readyReplicas.
    statusCount(
      copy,
      "availableReplicas" in (copy.status ?? {}) ? "availableReplicas" : "readyReplicas",
    ),
  updated: (copy) => statusCount(copy, "updatedReplicas"),
  isComplete: (copy) =>
    statusCount(copy, "updatedReplicas") >= replicasOf(copy.spec) - partitionOf(copy.spec),
  rank: ({ spec }) => startOf(spec),
};

export const daemonSetRollout: KindRollout = {
  ...templateAccessors,
  minimumLimits: oneAtATime,
  isOutdated: (wanted, current) =>
    templateAccessors.isOutdated(wanted, current) || (isByHand(current) && !isByHand(wanted)),
  withCurrentTemplate(wanted, current) {
    const spec = templateAccessors.withCurrentTemplate(wanted, current);
    return isByHand(current) ? withStrategy(spec, current) : spec;
  },
  modeOf: (spec, total) => (isByHand(spec) ? "OnDelete" : nodesAtATime(spec, total)),
  withLimits(spec, { unavailable: maxUnavailable, surge: maxSurge }) {
    if (maxUnavailable + maxSurge === 0) return spec;
    const rollingUpdate = { ...rollingUpdateOf(spec), maxUnavailable, maxSurge };
    return { ...spec, [strategyField]: { type: rollingUpdateType, rollingUpdate } };
  },
  withLimitsOf: (spec, current) => withLimitsFrom(strategyField, spec, current),
  limitsOf: (copy) => nodesAtATime(copy.spec, nodesOf(copy)),
  pods: nodesOf,
  available: (copy) => statusCount(copy, "numberAvailable"),
  updated: (copy) => statusCount(copy, "updatedNumberScheduled"),
  isComplete: (copy) => statusCount(copy, "updatedNumberScheduled") >= nodesOf(copy),
};

function nodesOf(copy: Pick<Workload, "status">): number {
  return statusCount(copy as Workload, "desiredNumberScheduled");
}

function nodesAtATime(spec: JsonObject, nodes: number) {
  const { maxUnavailable = 1, maxSurge = 0 } = rollingUpdateOf(spec);
  const unavailable = scaledIntOrPercent(maxUnavailable, nodes, Math.ceil);
  const surge = scaledIntOrPercent(maxSurge, nodes, Math.ceil);
  return unavailable + surge === 0 ? oneAtATime : { unavailable, surge };
}

/**
 * The author's `partition` counts from the first ordinal of the workload; in a cluster it counts
 * from the first ordinal of the copy.
 */
export function withOwnPartition(spec: JsonObject, before: number, replicas: number): JsonObject {
  const partition = partitionOf(spec);
  if (partition === 0) return spec;
  return withPartition(spec, Math.min(replicas, Math.max(0, partition - before)));
}

function withPartition(spec: JsonObject, partition: number): JsonObject {
  const rollingUpdate = { ...rollingUpdateOf(spec), partition };
  return { ...spec, [strategyField]: { ...memberOf(spec, strategyField), rollingUpdate } };
}

function withStrategy(spec: JsonObject, { [strategyField]: strategy }: JsonObject): JsonObject {
  return strategy === undefined ? spec : { ...spec, [strategyField]: strategy };
}

function partitionOf(spec: JsonObject): number {
  const { partition } = rollingUpdateOf(spec);
  return isCount(partition) ? partition : 0;
}

function isByHand(spec: JsonObject): boolean {
  return memberOf(spec, strategyField)["type"] === "OnDelete";
}

function rollingUpdateOf(spec: JsonObject): Record<string, JsonValue> {
  return memberOf(memberOf(spec, strategyField) as JsonObject, "rollingUpdate") as Record<
    string,
    JsonValue
  >;
}

function replicasOf(spec: JsonObject): number {
  return specCount({ spec } as Workload, "replicas", 1);
}

function startOf(spec: JsonObject): number {
  const { start } = memberOf(spec, "ordinals");
  return isCount(start) ? start : 0;
}
