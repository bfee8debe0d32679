/**
 * The conditions of a Pod's readiness gates, which controllers on both sides of a syncer set: the
 * load balancer of the cluster, or a controller in the logical cluster. All other conditions are
 * the kubelet's.
 *
 * Of two conditions of a gate the one that changed last counts. A writer that tells no time wrote
 * after the syncer, which always writes one.
 */
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import type { JsonPatchOperation } from "@kcp-ts/sdk";
import { readinessGatesOf } from "../api/index.ts";

export interface GatedStatus {
  /** The status of the Pod in its cluster, with the conditions that count. */
  readonly status: JsonValue;
  /** Sets the conditions that its cluster does not have yet, in the status of its Pod. */
  readonly lowering: readonly JsonPatchOperation[];
}

/** `spec` is that of the Pod, `status` what its cluster reports, `shown` what upstream has. */
export function gatedStatus(
  spec: JsonValue | undefined,
  { status, shown }: { readonly status: JsonValue; readonly shown: JsonValue | undefined },
  now: string,
): GatedStatus {
  const gates = readinessGatesOf(spec);
  if (gates.size === 0 || !isJsonObject(status)) return { status, lowering: [] };
  const conditions = [...conditionsIn(status)];
  const lowering: JsonPatchOperation[] = [];
  const positions = new Map<JsonValue | undefined, number>();
  for (const [at, { type }] of conditions.entries())
    if (!positions.has(type)) positions.set(type, at);
  for (const upstream of conditionsIn(shown)) {
    if (!gates.has(upstream["type"] as string)) continue;
    const at = positions.get(upstream["type"]);
    if (!isNewer(upstream, at === undefined ? undefined : conditions[at])) continue;
    const value = { ...upstream, lastTransitionTime: upstream["lastTransitionTime"] ?? now };
    if (at === undefined) {
      // Without conditions there is no list to add to yet.
      if (conditions.length === 0) lowering.push({ op: "add", path: list, value: [] });
      lowering.push({ op: "add", path: `${list}/-`, value });
      positions.set(upstream["type"], conditions.push(value) - 1);
    } else {
      const type = upstream["type"] as JsonValue;
      lowering.push({ op: "test", path: `${list}/${at}/type`, value: type });
      lowering.push({ op: "replace", path: `${list}/${at}`, value });
      conditions[at] = value;
    }
  }
  return lowering.length === 0
    ? { status, lowering }
    : { status: { ...status, conditions }, lowering };
}

const list = "/status/conditions";

function conditionsIn(status: JsonValue | undefined): readonly JsonObject[] {
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? (conditions as JsonArray).filter(isJsonObject) : [];
}

function isNewer(upstream: JsonObject, reported: JsonObject | undefined): boolean {
  if (reported === undefined) return true;
  if (upstream["status"] === reported["status"]) return false;
  const [ours, theirs] = [upstream, reported].map(({ lastTransitionTime }) =>
    typeof lastTransitionTime === "string" ? Date.parse(lastTransitionTime) : undefined,
  );
  if (theirs === undefined) return false;
  return ours === undefined || ours > theirs;
}
