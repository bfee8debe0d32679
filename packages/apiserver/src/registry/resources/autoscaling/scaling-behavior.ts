/** How fast an autoscaler scales: defaults, and the form in an annotation of autoscaling/v1. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { mutableMember, setDefault } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { listIn, objectIn } from "../standard.ts";

const periodSeconds = 15;
const double = { type: "Percent", value: 100, periodSeconds };
const defaultPolicies: Readonly<Record<string, readonly JsonObject[]>> = {
  scaleUp: [{ type: "Pods", value: 4, periodSeconds }, double],
  scaleDown: [double],
};

export function setBehaviorDefaults(behavior: Draft): void {
  for (const [name, policies] of Object.entries(defaultPolicies)) {
    const rules = mutableMember(behavior, name);
    if (name === "scaleUp") setDefault(rules, "stabilizationWindowSeconds", 0);
    rules["selectPolicy"] ??= "Max";
    rules["policies"] ??= policies as JsonValue;
  }
}

/** The annotation has the names of Go's fields, and all of them. */
export function toAnnotation(behavior: JsonObject): JsonObject {
  const rulesOf = (rules: JsonObject) => ({
    StabilizationWindowSeconds: rules["stabilizationWindowSeconds"] ?? null,
    SelectPolicy: rules["selectPolicy"] ?? null,
    Policies: listIn(rules["policies"])
      .filter(isJsonObject)
      .map((policy) => ({
        Type: policy["type"] ?? "",
        Value: policy["value"] ?? 0,
        PeriodSeconds: policy["periodSeconds"] ?? 0,
      })),
    Tolerance: rules["tolerance"] ?? null,
  });
  return {
    ScaleUp: rulesOf(objectIn(behavior, "scaleUp")),
    ScaleDown: rulesOf(objectIn(behavior, "scaleDown")),
  };
}

/** Names in any case are understood, as Go does. */
export function fromAnnotation(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(fromAnnotation);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [
        name.charAt(0).toLowerCase() + name.slice(1),
        fromAnnotation(member as JsonValue),
      ]),
  );
}
