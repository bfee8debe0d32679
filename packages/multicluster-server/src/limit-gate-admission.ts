/**
 * Admission of workloads that are assigned to clusters by labels. Such a workload gets a closed
 * limit gate, which only the control loops open: the limits of a cluster hold for it as for every
 * other workload. Per-cluster objects have the resources of their workload reserved, so that only
 * the control loops make an object a per-cluster object, and change what it runs and where.
 *
 * The gates are set before other admission and checked after it, for every endpoint that stores
 * the metadata or the spec of a workload: a status may carry annotations, and a webhook may change
 * them.
 */
import { type AdmissionPlugin, type AdmissionRequest, denied } from "@kcp-ts/apiserver";
import { isSystemMaster } from "@kcp-ts/apiserver/request/user";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import {
  apiAccessResources,
  assignedTargets,
  closedLimitGate,
  limitGateAnnotation,
  ownedByLabels,
  specDiffAnnotationPrefix,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import { replicaSets } from "@kcp-ts/sdk/kinds";
import { syncerScopeOf } from "@kcp-ts/tenancy";

/** `client` may read workloads everywhere. */
export function limitGateAdmission(client: () => Client): readonly AdmissionPlugin[] {
  return [limitGates, limitGateRules(client)];
}

const limitGates: AdmissionPlugin = {
  name: "LimitGates",
  resources: apiAccessResources,
  handles: ({ subresource, operation }) =>
    subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  mutate(request, draft, old) {
    // No coordinator reserves resources of ReplicaSets.
    if (request.resource === replicaSets.resource) return undefined;
    const sent = stringsOf(draft, "annotations");
    const gates: Record<string, string> = {};
    for (const [name, stored] of gatesOf(draft, old)) {
      const gate = isControlLoop(request) ? (sent[name] ?? stored) : stored;
      if (gate !== undefined) gates[name] = gate;
    }
    if (Object.entries(gates).every(([name, gate]) => sent[name] === gate)) return undefined;
    const metadata = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
    draft["metadata"] = { ...metadata, annotations: { ...sent, ...gates } };
    return undefined;
  },
};

function limitGateRules(client: () => Client): AdmissionPlugin {
  return {
    name: "LimitGateRules",
    resources: apiAccessResources,
    handles: (request) =>
      !isControlLoop(request) &&
      (request.operation === "UPDATE" ||
        (request.operation === "CREATE" && request.subresource === "")),
    validate(request, object, old) {
      if (request.subresource === "scale") return checkScale(request, client());
      checkReplicaSet(request, object);
      checkOwner(request, object, old);
      checkGates(request, object, old);
      checkCopy(request, object, old);
      return undefined;
    },
  };
}

function checkReplicaSet(request: AdmissionRequest, object: JsonObject): void {
  const isAssigned = assignedTargets(stringsOf(object, "labels")).size > 0;
  if (request.resource !== replicaSets.resource || !isAssigned) return;
  throw denied(request, "a ReplicaSet is not assigned to clusters; assign a Deployment instead");
}

function checkOwner(
  request: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const before = old === undefined ? undefined : ownerOf(stringsOf(old, "labels"));
  if (ownerOf(stringsOf(object, "labels")) === before) return;
  throw denied(
    request,
    `the label ${ownedByLabels[0]} is set by the multi-cluster controllers; create the workload without it`,
  );
}

function checkGates(
  request: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  if (request.resource === replicaSets.resource) return;
  const annotations = stringsOf(object, "annotations");
  for (const [name, stored] of gatesOf(object, old))
    if (annotations[name] !== stored)
      throw denied(request, `the annotation ${name} is set by the multi-cluster controllers`);
}

/**
 * Only its spec and the status of its cluster are what a per-cluster object is about: an agent's
 * view has rules of its own for both.
 */
function checkCopy(
  request: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  if (old === undefined || syncerScopeOf(request.service) !== undefined) return;
  if (ownerOf(stringsOf(old, "labels")) === undefined) return;
  const isSame =
    jsonEqual(object["spec"] ?? null, old["spec"] ?? null) &&
    jsonEqual(placementOf(object), placementOf(old));
  if (!isSame) throw copyIsWritten(request);
}

/** A Scale has no labels: whether its object is a per-cluster object is read from the store. */
async function checkScale(request: AdmissionRequest, client: Client): Promise<void> {
  const { group, version, resource, kind, cluster, namespace, name, signal } = request;
  const workloads = defineResource<KubernetesObject>({
    group,
    version,
    resource,
    kind,
    namespaced: true,
  });
  const found = await client
    .inCluster(cluster)
    .resource(workloads)
    .find({ namespace, name }, { signal });
  if (ownerOf(found?.metadata.labels ?? {}) !== undefined) throw copyIsWritten(request);
}

function copyIsWritten(request: AdmissionRequest): Error {
  return denied(
    request,
    "the multi-cluster controllers write the spec and the clusters of per-cluster objects; change the workload instead",
  );
}

/**
 * The gates of a workload that labels assign, and their stored values: closed in a cluster to which
 * the workload was not assigned before. A per-cluster object has none.
 */
function gatesOf(
  object: JsonObject,
  old: JsonObject | undefined,
): readonly (readonly [name: string, stored: string | undefined])[] {
  const labels = stringsOf(object, "labels");
  if (ownerOf(labels) !== undefined) return [];
  const before = old === undefined ? new Set<string>() : assignedTargets(stringsOf(old, "labels"));
  const stored = old === undefined ? {} : stringsOf(old, "annotations");
  return [...assignedTargets(labels)].map((target) => {
    const name = limitGateAnnotation(target);
    return [name, before.has(target) ? stored[name] : closedLimitGate];
  });
}

/** The clusters of an object, and what its spec is in each of them. */
function placementOf(object: JsonObject): JsonObject {
  const diffs = Object.entries(stringsOf(object, "annotations"))
    .filter(([name]) => name.startsWith(specDiffAnnotationPrefix))
    .sort();
  return { targets: [...assignedTargets(stringsOf(object, "labels"))].sort(), diffs };
}

/** Members of `system:masters` are the server's own control loops, and operators. */
function isControlLoop({ user }: AdmissionRequest): boolean {
  return isSystemMaster(user);
}

function ownerOf(labels: StringMap): string | undefined {
  for (const label of ownedByLabels) if (labels[label]) return labels[label];
  return undefined;
}

function stringsOf({ metadata }: JsonObject, member: "labels" | "annotations"): StringMap {
  const found = metadata !== undefined && isJsonObject(metadata) ? metadata[member] : undefined;
  return (found !== undefined && isJsonObject(found) ? found : {}) as StringMap;
}
