/**
 * The metrics of a HorizontalPodAutoscaler in autoscaling/v1, which has no fields for them: JSON in
 * annotations, with older names of the fields.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { textIn } from "../standard.ts";

/** By the type of the metric: where each field of autoscaling/v1 is in autoscaling/v2. */
type FieldPaths = Readonly<Record<string, readonly (readonly [v1: string, v2: string])[]>>;

const container = [
  ["name", "name"],
  ["container", "container"],
] as const;
const identified = [
  ["metricName", "metric.name"],
  ["selector", "metric.selector"],
] as const;
const external = [
  ["metricName", "metric.name"],
  ["metricSelector", "metric.selector"],
] as const;
const described = [["target", "describedObject"], ...identified] as const;

const targets = [
  ["targetAverageUtilization", "target.averageUtilization"],
  ["targetAverageValue", "target.averageValue"],
] as const;
const specPaths: FieldPaths = {
  resource: [["name", "name"], ...targets],
  containerResource: [...container, ...targets],
  pods: [...identified, ["targetAverageValue", "target.averageValue"]],
  object: [...described, ["targetValue", "target.value"], ["averageValue", "target.averageValue"]],
  external: [
    ...external,
    ["targetValue", "target.value"],
    ["targetAverageValue", "target.averageValue"],
  ],
};

const currents = [
  ["currentAverageUtilization", "current.averageUtilization"],
  ["currentAverageValue", "current.averageValue"],
] as const;
const statusPaths: FieldPaths = {
  resource: [["name", "name"], ...currents],
  containerResource: [...container, ...currents],
  pods: [...identified, ["currentAverageValue", "current.averageValue"]],
  object: [
    ...described,
    ["currentValue", "current.value"],
    ["averageValue", "current.averageValue"],
  ],
  external: [
    ...external,
    ["currentValue", "current.value"],
    ["currentAverageValue", "current.averageValue"],
  ],
};

/** Fields that autoscaling/v1 cannot omit: Go writes the quantity 0 for an absent one. */
const alwaysWritten: Readonly<Record<string, readonly string[]>> = {
  object: ["targetValue", "currentValue"],
  external: ["currentValue"],
};

export const metricSpecs = conversionOf(specPaths, (type, source) => ({
  ...source,
  target: { type: targetType(type, source), ...targetOf(type, source) },
}));
export const metricStatuses = conversionOf(statusPaths, (_, source) => source);

function targetOf(type: string, source: JsonObject): JsonObject {
  const target = isJsonObject(source["target"]) ? source["target"] : {};
  const { value, ...rest } = target;
  // An average is the target; the 0 beside it only fills the field of autoscaling/v1.
  const isFiller = type === "object" && value === "0" && rest["averageValue"] !== undefined;
  return isFiller || value === undefined ? rest : { ...rest, value };
}

function targetType(type: string, { target = {} }: JsonObject): string {
  const has = (field: string) => isJsonObject(target) && target[field] !== undefined;
  if (has("averageUtilization")) return "Utilization";
  if (type === "object") return has("averageValue") ? "AverageValue" : "Value";
  return has("value") ? "Value" : "AverageValue";
}

function conversionOf(
  paths: FieldPaths,
  complete: (type: string, source: JsonObject) => JsonObject,
) {
  const convert = (metric: JsonObject, isToV1: boolean): JsonObject => {
    const converted: Record<string, JsonValue> = { type: textIn(metric, "type") };
    for (const [type, fields] of Object.entries(paths)) {
      const source = metric[type];
      if (!isJsonObject(source)) continue;
      const made: Record<string, JsonValue> = {};
      for (const [v1, v2] of fields) {
        const [from, to] = isToV1 ? [v2, v1] : [v1, v2];
        const isFilled = isToV1 && (alwaysWritten[type] ?? []).includes(v1);
        const value = valueAt(source, from) ?? (isFilled ? "0" : undefined);
        if (value !== undefined) setAt(made, to, value);
      }
      converted[type] = isToV1 ? made : complete(type, made);
    }
    return converted;
  };
  return {
    toV1: (metric: JsonObject) => convert(metric, true),
    toV2: (metric: JsonObject) => convert(metric, false),
  };
}

function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  const [outer = "", inner] = path.split(".");
  const value = object[outer];
  if (inner === undefined) return value;
  return isJsonObject(value) ? value[inner] : undefined;
}

function setAt(object: Record<string, JsonValue>, path: string, value: JsonValue): void {
  const [outer = "", inner] = path.split(".");
  object[outer] =
    inner === undefined ? value : { ...(object[outer] as JsonObject | undefined), [inner]: value };
}
