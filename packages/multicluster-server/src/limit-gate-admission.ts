/**
 * Admission of workloads that are assigned to clusters by labels. Such a workload gets a closed
 * limit gate, which only the control loops open: the limits of a cluster hold for it as for every
 * other workload. Per-cluster objects have the resources of their workload reserved, so that only
 * the control loops make an object a per-cluster object, and change what it runs and where.
 *
 * The gates are set before other admission and checked after it, for every endpoint that stores
 * the metadata or the spec of a workload: a status may carry annotations, and a webhook may change
 * them. A custom kind is one of workloads in logical clusters that have a WorkloadStrategy for it.
 */
import { type AdmissionPlugin, type AdmissionRequest, denied } from "@kcp-ts/apiserver";
import { isSystemMaster } from "@kcp-ts/apiserver/request/user";
import { type Resumable, runYielding } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  apiAccessResources,
  assignedTargets,
  closedLimitGate,
  clusterDaemonSets,
  isUpsynced,
  limitGateAnnotation,
  ownedByLabels,
  relatedTargets,
  specDiffAnnotationPrefix,
  workloadStrategies,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import { replicaSets, replicationControllers } from "@kcp-ts/sdk/kinds";
import { syncerScopeOf } from "@kcp-ts/tenancy";

/** `client` may read workloads and WorkloadStrategies everywhere. */
export function limitGateAdmission(client: () => Client): readonly AdmissionPlugin[] {
  return [limitGates(client), limitGateRules(client)];
}

function limitGates(client: () => Client): AdmissionPlugin {
  return {
    name: "LimitGates",
    isAboutMarks: true,
    handles: (request) =>
      request.subresource === "" &&
      (request.operation === "CREATE" || request.operation === "UPDATE") &&
      isWorkload(request),
    async mutate(request, draft, old) {
      const sent = stringsOf(draft, "annotations");
      const gates: Record<string, string> = {};
      for (const [name, stored] of await gatesOf(request, draft, old, client())) {
        const gate = isSystemMaster(request.user) ? (sent[name] ?? stored) : stored;
        if (gate !== undefined) gates[name] = gate;
      }
      if (Object.entries(gates).every(([name, gate]) => sent[name] === gate)) return;
      const metadata = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
      draft["metadata"] = { ...metadata, annotations: { ...sent, ...gates } };
    },
  };
}

function limitGateRules(client: () => Client): AdmissionPlugin {
  return {
    name: "LimitGateRules",
    isAboutMarks: true,
    // Members of `system:masters` are the server's own control loops, and operators.
    handles: (request) =>
      (request.operation === "UPDATE" ||
        (request.operation === "CREATE" && request.subresource === "")) &&
      isWorkload(request) &&
      !isSystemMaster(request.user),
    async validate(request, object, old) {
      if (request.subresource === "scale") return await checkScale(request, client());
      checkOwner(request, object, old);
      checkCopy(request, object, old);
      checkController(request, object);
      const annotations = stringsOf(object, "annotations");
      const gates = await gatesOf(request, object, old, client());
      for (const [name, stored] of gates)
        if (annotations[name] !== stored)
          throw denied(request, `the annotation ${name} is set by the multi-cluster controllers`);
      const isCounted = gates.every(([, stored]) => stored !== undefined);
      if (!isCounted && isCustom(request)) await checkTemplates(request, object, old, client());
    },
  };
}

const uncountedKinds = [replicaSets, replicationControllers].map(nameOf);
/** The kinds of Kubernetes that create Pods, and kinds of ours. */
const workloadKinds: ReadonlySet<string> = new Set([
  ...[...apiAccessResources, clusterDaemonSets].map(nameOf),
  ...uncountedKinds,
]);

type GroupResource = Pick<AdmissionRequest, "group" | "resource">;

/** Kubernetes' own groups that create Pods have no dot, groups of custom kinds have one. */
function isWorkload(request: GroupResource): boolean {
  return request.group.includes(".") || workloadKinds.has(nameOf(request));
}

function isCustom(request: GroupResource): boolean {
  return !workloadKinds.has(nameOf(request));
}

function nameOf({ group, resource }: GroupResource): string {
  return `${resource}.${group}`;
}

/** No coordinator reserves resources of ReplicaSets and ReplicationControllers. */
function checkController(request: AdmissionRequest, object: JsonObject): void {
  if (!uncountedKinds.includes(nameOf(request)) || targetsOf(object).size === 0) return;
  const { kind } = request;
  throw denied(request, `a ${kind} is not assigned to clusters; assign a Deployment instead`);
}

/** Whether a WorkloadStrategy of the logical cluster says what objects of a custom kind run. */
async function hasStrategy(request: AdmissionRequest, client: Client): Promise<boolean> {
  const { cluster, signal } = request;
  const strategies = client.inCluster(cluster).resource(workloadStrategies);
  const { items, metadata } = await strategies.list({ limit: strategiesMax, signal });
  return (
    Boolean(metadata.continue) ||
    items.some(
      ({ spec: { group = "", resource } }) => nameOf({ group, resource }) === nameOf(request),
    )
  );
}

/** A logical cluster with more WorkloadStrategies has one for every kind. */
const strategiesMax = 500;

/** Pods that an object brings along are counted, or the object is assigned to no cluster. */
async function checkTemplates(
  request: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
  client: Client,
): Promise<void> {
  const { apiVersion: _v, kind: _k, metadata: _m, status: _s, ...content } = object;
  const isSame =
    old !== undefined &&
    jsonEqual(placementOf(object), placementOf(old)) &&
    Object.entries(content).every(([member, value]) => jsonEqual(value, old[member] ?? null));
  if (isSame || !(await runYielding(holdsPodTemplate(content)))) return;
  if (await hasStrategy(request, client)) return;
  throw denied(
    request,
    `no WorkloadStrategy says how many Pods a ${request.kind} runs, and it is assigned to a cluster by a label; create a WorkloadStrategy with a podTemplatePath`,
  );
}

/** Whether there is the spec of a Pod anywhere in the value: containers, in a list. */
function* holdsPodTemplate(content: JsonValue): Resumable<boolean> {
  const remaining = [content];
  for (let value = remaining.pop(); value !== undefined; value = remaining.pop()) {
    yield;
    if (typeof value !== "object" || value === null) continue;
    const containers = isJsonObject(value) ? value["containers"] : undefined;
    if (Array.isArray(containers) && containers.some((one: JsonValue) => isJsonObject(one)))
      return true;
    for (const member of Object.values(value)) remaining.push(member);
  }
  return false;
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
 * The gates of an object that labels or finalizers relate to clusters, and their stored values:
 * closed where a workload was not before. A per-cluster object has none.
 */
async function gatesOf(
  request: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
  client: Client,
): Promise<readonly (readonly [name: string, stored: string | undefined])[]> {
  if (ownerOf(stringsOf(object, "labels")) !== undefined) return [];
  if (uncountedKinds.includes(nameOf(request))) return [];
  const before = old === undefined ? new Set<string>() : targetsOf(old);
  const targets = [...targetsOf(object)];
  const isNew = targets.some((target) => !before.has(target));
  const isCounted = isNew && (!isCustom(request) || (await hasStrategy(request, client)));
  const stored = old === undefined ? {} : stringsOf(old, "annotations");
  return targets.map((target) => {
    const name = limitGateAnnotation(target);
    return [name, before.has(target) || !isCounted ? stored[name] : closedLimitGate];
  });
}

/** The clusters that may get the object, or have it. */
function targetsOf(object: JsonObject): ReadonlySet<string> {
  const labels = stringsOf(object, "labels");
  const { finalizers } = (object["metadata"] ?? {}) as { finalizers?: readonly string[] };
  return isUpsynced(labels) ? new Set() : relatedTargets({ labels, finalizers });
}

/** The clusters of an object, and what its spec is in each of them. */
function placementOf(object: JsonObject): JsonObject {
  const diffs = Object.entries(stringsOf(object, "annotations"))
    .filter(([name]) => name.startsWith(specDiffAnnotationPrefix))
    .sort();
  return { targets: [...assignedTargets(stringsOf(object, "labels"))].sort(), diffs };
}

function ownerOf(labels: StringMap): string | undefined {
  for (const label of ownedByLabels) if (labels[label]) return labels[label];
  return undefined;
}

function stringsOf({ metadata }: JsonObject, member: "labels" | "annotations"): StringMap {
  const found = metadata !== undefined && isJsonObject(metadata) ? metadata[member] : undefined;
  return (found !== undefined && isJsonObject(found) ? found : {}) as StringMap;
}
