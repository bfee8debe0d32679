/**
 * HorizontalPodAutoscalers of autoscaling/v1, which are stored as autoscaling/v2. What
 * autoscaling/v1 has no fields for is in annotations, so that a client that reads and writes
 * autoscaling/v1 loses nothing.
 */
import { BoundExceededError, bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { decodeShape, horizontalPodAutoscaler, ShapeError } from "@kcp-ts/machinery/shape";
import { mutableMemberIfPresent } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { listIn, objectIn, textIn } from "../standard.ts";
import { metricSpecs, metricStatuses } from "./metrics-conversion.ts";
import { fromAnnotation, setBehaviorDefaults, toAnnotation } from "./scaling-behavior.ts";

export const cpuPercentDefault = 80;

const prefix = "autoscaling.alpha.kubernetes.io";
const annotation = {
  metrics: `${prefix}/metrics`,
  currentMetrics: `${prefix}/current-metrics`,
  behavior: `${prefix}/behavior`,
  conditions: `${prefix}/conditions`,
} as const;
const allAnnotations: ReadonlySet<string> = new Set(Object.values(annotation));

export function cpuMetric(averageUtilization: JsonValue): JsonObject {
  return {
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
  };
}

export function toV1(object: JsonObject): JsonObject {
  const { metrics: given, behavior, ...spec } = objectIn(object, "spec");
  const { currentMetrics, conditions, ...status } = objectIn(object, "status");
  const metrics = objects(given);
  const statuses = objects(currentMetrics);
  const cpu = metrics.find(isCpuTarget);
  const current = statuses.findLast((one) => cpuPercent(one, "current") !== undefined);
  const others = metrics.filter((one) => !isCpuTarget(one));
  const kept = {
    ...(others.length > 0 ? { [annotation.metrics]: others.map(metricSpecs.toV1) } : {}),
    ...(statuses.length > 0
      ? { [annotation.currentMetrics]: statuses.map(metricStatuses.toV1) }
      : {}),
    ...(isJsonObject(behavior) ? { [annotation.behavior]: toAnnotation(behavior) } : {}),
    ...(listIn(conditions).length > 0 ? { [annotation.conditions]: listIn(conditions) } : {}),
  };
  return {
    ...object,
    apiVersion: "autoscaling/v1",
    ...metadataWith(object, kept),
    spec: {
      ...spec,
      ...percentMember("targetCPUUtilizationPercentage", cpu && cpuPercent(cpu, "target")),
    },
    ...(object["status"] === undefined
      ? {}
      : {
          status: {
            ...status,
            ...percentMember(
              "currentCPUUtilizationPercentage",
              current && cpuPercent(current, "current"),
            ),
          },
        }),
  };
}

export function toV2(object: JsonObject): JsonObject {
  const { targetCPUUtilizationPercentage: percent, ...spec } = objectIn(object, "spec");
  const { currentCPUUtilizationPercentage: currentPercent, ...status } = objectIn(object, "status");
  const kept = keptIn(objectIn(objectIn(object, "metadata"), "annotations"));
  const metrics = [...kept.metrics];
  if (percent !== undefined) metrics.push(cpuMetric(percent));
  if (metrics.length === 0) metrics.push(cpuMetric(cpuPercentDefault));
  const statuses = [...kept.currentMetrics];
  if (statuses.length === 0 && currentPercent !== undefined)
    statuses.push({
      type: "Resource",
      resource: { name: "cpu", current: { averageUtilization: currentPercent } },
    });
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    ...metadataWith(object, {}),
    spec: { ...spec, metrics, ...kept.behavior },
    ...(object["status"] === undefined
      ? {}
      : {
          status: {
            ...status,
            currentMetrics: statuses.length > 0 ? statuses : null,
            ...(kept.conditions.length > 0 ? { conditions: kept.conditions } : {}),
          },
        }),
  };
}

function percentMember(name: string, percent: JsonValue | undefined): JsonObject {
  return percent === undefined ? {} : { [name]: percent };
}

function isCpuTarget(metric: JsonObject): boolean {
  return cpuPercent(metric, "target") !== undefined;
}

function cpuPercent(metric: JsonObject, member: "target" | "current"): JsonValue | undefined {
  const resource = objectIn(metric, "resource");
  if (textIn(metric, "type") !== "Resource" || textIn(resource, "name") !== "cpu") return undefined;
  return objectIn(resource, member)["averageUtilization"];
}

/** The metadata with these of the annotations, which only the conversion writes. */
function metadataWith(object: JsonObject, kept: JsonObject): JsonObject {
  const metadata = objectIn(object, "metadata");
  const before = objectIn(metadata, "annotations");
  const others = Object.entries(before).filter(([name]) => !allAnnotations.has(name));
  const texts = Object.entries(kept).map(([name, value]) => [name, stringifyJson(value)]);
  if (texts.length === 0 && others.length === Object.keys(before).length) return {};
  const { annotations: _, ...rest } = metadata;
  const annotations = Object.fromEntries([...others, ...texts]) as JsonObject;
  return { metadata: Object.keys(annotations).length === 0 ? rest : { ...rest, annotations } };
}

/** What the annotations say, as autoscaling/v2. */
function keptIn(annotations: JsonObject) {
  const behavior = fromAnnotation(parsed(annotations[annotation.behavior]) ?? null);
  const spec: Draft = { ...objectIn(decoded({ spec: { behavior } }), "spec") };
  const own = mutableMemberIfPresent(spec, "behavior");
  if (own !== undefined && Object.keys(own).length > 0) setBehaviorDefaults(own);
  else delete spec["behavior"];
  const metrics = objects(parsed(annotations[annotation.metrics])).map(metricSpecs.toV2);
  const currentMetrics = objects(parsed(annotations[annotation.currentMetrics]));
  const conditions = parsed(annotations[annotation.conditions]) ?? null;
  const statuses = { currentMetrics: currentMetrics.map(metricStatuses.toV2) };
  const statusIn = (status: JsonObject) => objectIn(decoded({ status }), "status");
  return {
    behavior: spec["behavior"] === undefined ? {} : { behavior: spec["behavior"] },
    metrics: objects(objectIn(decoded({ spec: { metrics } }), "spec")["metrics"]),
    currentMetrics: objects(statusIn(statuses)["currentMetrics"]),
    conditions: objects(statusIn({ conditions })["conditions"]),
  };
}

/** A user may write anything into the annotations: what is of no use counts as absent. */
function decoded(part: JsonObject): JsonObject {
  try {
    const { value } = decodeShape(horizontalPodAutoscaler, part);
    return isJsonObject(value) ? value : {};
  } catch (error) {
    if (error instanceof ShapeError) return {};
    throw error;
  }
}

function parsed(text: JsonValue | undefined): JsonValue | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return parseBounded(bounds.embeddedText, text);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof BoundExceededError) return undefined;
    throw error;
  }
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return listIn(value).filter(isJsonObject);
}
