/**
 * Sets. A StatefulSet is changed from its highest number down, one at a time, so one cluster follows the other; what its author's `partition` keeps back stays as it is wherever
 * it is. A DaemonSet is changed node by node, as many at a time in all clusters together as its author says.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isCount, specCount, statusCount, type Workload } from "../workload.ts";
import type { KindRollout } from "./form.ts";
import { scaledIntOrPercent } from "./int-or-percent.ts";
import { memberOf, rollingUpdateType, templateAccessors, withLimitsFrom } from "./templated.ts";

const strategyField = "updateStrategy";
const oneAtATime = { unavailable: 1, surge: 0 };

export const statefulSetRollout: KindRollout = {
  ...templateAccessors,
  least: oneAtATime,
  isBehind(wanted, current) {
    const isFewerKept = partitionOf(wanted) < partitionOf(current);
    const isNowRolling = isByHand(current) && !isByHand(wanted);
    return templateAccessors.isBehind(wanted, current) || isFewerKept || isNowRolling;
  },
  held(wanted, current) {
    const spec = templateAccessors.held(wanted, current);
    if (isByHand(current)) return withStrategy(spec, current);
    const partition = Math.max(partitionOf(wanted), partitionOf(current));
    return partition === partitionOf(wanted) ? spec : withPartition(spec, partition);
  },
  allowance(spec, total) {
    if (isByHand(spec)) return "byHand";
    const { maxUnavailable = 1 } = rollingUpdateOf(spec);
    return {
      unavailable: Math.max(1, scaledIntOrPercent(maxUnavailable, total, Math.ceil)),
      surge: 0,
    };
  },
  // Nothing else than one at a time is asked for by most, and known to all clusters.
  paced(spec, { unavailable }) {
    const { maxUnavailable, ...rest } = rollingUpdateOf(spec);
    if (maxUnavailable === undefined) return spec;
    const rollingUpdate = { ...rest, maxUnavailable: Math.max(1, unavailable) };
    return { ...spec, [strategyField]: { type: rollingUpdateType, rollingUpdate } as JsonObject };
  },
  asPaced(spec, current) {
    const { maxUnavailable } = rollingUpdateOf(spec);
    const { maxUnavailable: known } = rollingUpdateOf(current);
    if (maxUnavailable === undefined || known === undefined) return spec;
    const rollingUpdate = { ...rollingUpdateOf(spec), maxUnavailable: known };
    return { ...spec, [strategyField]: { type: rollingUpdateType, rollingUpdate } as JsonObject };
  },
  paceOf({ spec }) {
    const { maxUnavailable = 1 } = rollingUpdateOf(spec);
    const unavailable = Math.max(
      1,
      scaledIntOrPercent(maxUnavailable, replicasOf(spec), Math.ceil),
    );
    return { unavailable, surge: 0 };
  },
  pods: (_part, spec) => replicasOf(spec),
  available: (part) =>
    // Clusters that do not know minReadySeconds report what is ready, and no more.
    statusCount(
      part,
      "availableReplicas" in (part.status ?? {}) ? "availableReplicas" : "readyReplicas",
    ),
  updated: (part) => statusCount(part, "updatedReplicas"),
  isReplaced: (part) =>
    statusCount(part, "updatedReplicas") >= replicasOf(part.spec) - partitionOf(part.spec),
  rank: ({ spec }) => startOf(spec),
};

export const daemonSetRollout: KindRollout = {
  ...templateAccessors,
  least: oneAtATime,
  isBehind: (wanted, current) =>
    templateAccessors.isBehind(wanted, current) || (isByHand(current) && !isByHand(wanted)),
  held(wanted, current) {
    const spec = templateAccessors.held(wanted, current);
    return isByHand(current) ? withStrategy(spec, current) : spec;
  },
  allowance: (spec, total) => (isByHand(spec) ? "byHand" : nodesAtATime(spec, total)),
  paced(spec, { unavailable: maxUnavailable, surge: maxSurge }) {
    if (maxUnavailable + maxSurge === 0) return spec;
    const rollingUpdate = { ...rollingUpdateOf(spec), maxUnavailable, maxSurge };
    return { ...spec, [strategyField]: { type: rollingUpdateType, rollingUpdate } };
  },
  asPaced: (spec, current) => withLimitsFrom(strategyField, spec, current),
  paceOf: (part) => nodesAtATime(part.spec, nodesOf(part)),
  pods: nodesOf,
  available: (part) => statusCount(part, "numberAvailable"),
  updated: (part) => statusCount(part, "updatedNumberScheduled"),
  isReplaced: (part) => statusCount(part, "updatedNumberScheduled") >= nodesOf(part),
};

function nodesOf(part: Pick<Workload, "status">): number {
  return statusCount(part as Workload, "desiredNumberScheduled");
}

function nodesAtATime(spec: JsonObject, nodes: number) {
  const { maxUnavailable = 1, maxSurge = 0 } = rollingUpdateOf(spec);
  const unavailable = scaledIntOrPercent(maxUnavailable, nodes, Math.ceil);
  const surge = scaledIntOrPercent(maxSurge, nodes, Math.ceil);
  return unavailable + surge === 0 ? oneAtATime : { unavailable, surge };
}

/** The author's `partition` counts from the first number of the whole; in a cluster it counts from the first of the part. */
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
