/**
 * Admission of workloads that are assigned to clusters by labels. Such a workload gets a closed
 * limit gate, which only the control loops open: the limits of a cluster hold for it as for every
 * other workload. Per-cluster objects have the resources of their workload reserved, so that only
 * the control loops make an object a per-cluster object.
 */
import { type AdmissionPlugin, type AdmissionRequest, denied } from "@kcp-ts/apiserver";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import {
  apiAccessResources,
  assignedTargets,
  closedLimitGate,
  limitGateAnnotation,
  ownedByLabels,
} from "@kcp-ts/multicluster";
import type { StringMap } from "@kcp-ts/sdk";
import { replicaSets } from "@kcp-ts/sdk/kinds";

export const limitGateAdmission: AdmissionPlugin = {
  name: "LimitGates",
  resources: apiAccessResources,
  handles: ({ subresource, operation }) =>
    subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  mutate(request, draft, old) {
    // No coordinator reserves resources of ReplicaSets.
    if (request.resource === replicaSets.resource) return undefined;
    const labels = stringsOf(draft, "labels");
    if (ownerOf(labels) !== undefined) return undefined;
    const targets = assignedTargets(labels);
    if (targets.size === 0) return undefined;
    const before = old === undefined ? undefined : assignedTargets(stringsOf(old, "labels"));
    const sent = stringsOf(draft, "annotations");
    const stored = old === undefined ? {} : stringsOf(old, "annotations");
    const gates: Record<string, string> = {};
    for (const target of targets) {
      const name = limitGateAnnotation(target);
      const kept = isControlLoop(request) ? (sent[name] ?? stored[name]) : stored[name];
      gates[name] = (before?.has(target) === true ? kept : undefined) ?? closedLimitGate;
    }
    if (Object.entries(gates).every(([name, gate]) => sent[name] === gate)) return undefined;
    const metadata = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
    draft["metadata"] = { ...metadata, annotations: { ...sent, ...gates } };
    return undefined;
  },
  validate(request, object, old) {
    if (isControlLoop(request)) return undefined;
    const labels = stringsOf(object, "labels");
    if (request.resource === replicaSets.resource && assignedTargets(labels).size > 0)
      throw denied(
        request,
        "a ReplicaSet is not assigned to clusters; assign a Deployment instead",
      );
    const before = old === undefined ? undefined : ownerOf(stringsOf(old, "labels"));
    if (ownerOf(labels) === before) return undefined;
    throw denied(
      request,
      `the label ${ownedByLabels[0]} is set by the multi-cluster controllers; create the workload without it`,
    );
  },
};

/** Members of `system:masters` are the server's own control loops, and operators. */
function isControlLoop({ user }: AdmissionRequest): boolean {
  return user.groups?.includes("system:masters") === true;
}

function ownerOf(labels: StringMap): string | undefined {
  for (const label of ownedByLabels) if (labels[label]) return labels[label];
  return undefined;
}

function stringsOf({ metadata }: JsonObject, member: "labels" | "annotations"): StringMap {
  const found = metadata !== undefined && isJsonObject(metadata) ? metadata[member] : undefined;
  return (found !== undefined && isJsonObject(found) ? found : {}) as StringMap;
}
