/** Changes of a Pod's copy that every client may make: the conditions of its readiness gates. */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { readinessGatesOf } from "@kcp-ts/multicluster";

/** Whether an update of the status changes nothing but conditions of readiness gates. */
export function isChangeOfGates(
  { subresource }: { readonly subresource: string },
  object: JsonObject,
  old: JsonObject,
): boolean {
  if (subresource !== "status") return false;
  const gates = readinessGatesOf(old["spec"]);
  return gates.size > 0 && jsonEqual(without(object, gates), without(old, gates));
}

/** The copy without the conditions of gates, and without what the server writes with them. */
function without(copy: JsonObject, gates: ReadonlySet<string>): JsonObject {
  const { managedFields: _, resourceVersion: __, ...metadata } = member(copy, "metadata");
  const { conditions, ...status } = member(copy, "status");
  const others = (Array.isArray(conditions) ? conditions : []).filter(
    (one) => !isJsonObject(one) || !gates.has(String(one["type"])),
  );
  return { ...copy, metadata, status: { ...status, conditions: others } };
}

function member(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value ?? null) ? (value as JsonObject) : {};
}
