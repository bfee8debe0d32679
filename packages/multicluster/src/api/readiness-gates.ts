/** The readiness gates of a Pod: conditions that controllers beside the kubelet set. */
import { isJsonObject, type JsonArray, type JsonValue } from "@kcp-ts/machinery/json";

/** The types of the conditions. */
export function readinessGatesOf(spec: JsonValue | undefined): ReadonlySet<string> {
  const gates = isJsonObject(spec ?? null) ? (spec as { readinessGates?: JsonValue }) : {};
  const { readinessGates } = gates;
  if (!Array.isArray(readinessGates)) return new Set();
  return new Set(
    (readinessGates as JsonArray)
      .filter(isJsonObject)
      .map(({ conditionType }) => String(conditionType)),
  );
}
