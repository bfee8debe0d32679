/** HorizontalPodAutoscalers: v2 is the storage version, and v1 is converted. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  autoscalingV1HorizontalPodAutoscaler,
  horizontalPodAutoscaler,
} from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { conversionCodec } from "../../conversion-codec.ts";
import { mutableMember, setDefault } from "../../mutable-members.ts";
import type { NativeKind } from "../native-kind.ts";
import { listIn, objectIn, textIn } from "../standard.ts";

const cpuPercentDefault = 80;

const common = {
  group: "autoscaling",
  kind: "HorizontalPodAutoscaler",
  resource: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  hasGeneration: false,
  validate: boundErrors,
} as const;

export const horizontalPodAutoscalers: NativeKind = {
  ...common,
  version: "v2",
  shape: horizontalPodAutoscaler,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "minReplicas", 1);
    if (listIn(spec["metrics"]).length === 0) spec["metrics"] = [cpuMetric(cpuPercentDefault)];
  },
  prepareNew(draft) {
    draft["status"] = { desiredReplicas: 0, currentMetrics: null };
  },
};

export const horizontalPodAutoscalersV1: NativeKind = {
  ...common,
  version: "v1",
  shape: autoscalingV1HorizontalPodAutoscaler,
  setDefaults: (draft) => setDefault(mutableMember(draft, "spec"), "minReplicas", 1),
  storage: {
    storageVersion: "v2",
    codec: conversionCodec({ name: "autoscaling/v1", toServed: toV1, toStored: toV2 }),
  },
};

function cpuMetric(averageUtilization: number): JsonObject {
  return {
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
  };
}

function isCpu(metric: JsonValue): boolean {
  return isJsonObject(metric) && textIn(objectIn(metric, "resource"), "name") === "cpu";
}

export function toV1(object: JsonObject): JsonObject {
  const { metrics, behavior: _, ...spec } = objectIn(object, "spec");
  const cpu = listIn(metrics).find(isCpu) as JsonObject | undefined;
  const target = objectIn(objectIn(cpu ?? {}, "resource"), "target")["averageUtilization"];
  const { currentMetrics: _c, conditions: _k, ...status } = objectIn(object, "status");
  return {
    ...object,
    apiVersion: "autoscaling/v1",
    spec: { ...spec, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) },
    ...(object["status"] === undefined ? {} : { status }),
  };
}

export function toV2(object: JsonObject): JsonObject {
  const { targetCPUUtilizationPercentage: percent, ...spec } = objectIn(object, "spec");
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    spec: { ...spec, metrics: [cpuMetric(Number(percent ?? cpuPercentDefault))] },
  };
}

function boundErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const [min, max] = [Number(spec["minReplicas"] ?? 1), Number(spec["maxReplicas"] ?? 0)];
  const errors: FieldError[] = [];
  const target = objectIn(spec, "scaleTargetRef");
  for (const member of ["kind", "name"])
    if (textIn(target, member) === "")
      errors.push(fieldError.required(`spec.scaleTargetRef.${member}`));
  if (min < 1)
    errors.push(fieldError.invalid("spec.minReplicas", min, "must be greater than or equal to 1"));
  if (max < 1) errors.push(fieldError.invalid("spec.maxReplicas", max, "must be greater than 0"));
  if (max < min)
    errors.push(
      fieldError.invalid("spec.maxReplicas", max, "must be greater than or equal to `minReplicas`"),
    );
  return errors;
}
