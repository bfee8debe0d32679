/**
 * The objects that are assigned to a cluster, of all APIs that it serves, in its own workspace and
 * in all tenant workspaces; read from the server and not from a cache, because an empty list may
 * lead to the deletion of the SyncTarget.
 */
import { isStatusError, type StatusReason } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Condition,
  clusterAnnotation,
  defineResource,
  findCondition,
  type KubernetesObject,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import { agentViewPath } from "../agent/index.ts";
import {
  apiResourceImports,
  clusterDaemonSets,
  clusterLabels,
  evictAnnotation,
  jsonObjectOf,
  ownedByLabels,
  propagatedTargets,
  sharedTargetName,
  stateLabel,
  stateSync,
  volumeGateAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import { readPlacementHistory } from "../coordination/index.ts";
import type { DrainedObject } from "./drain-step.ts";

export interface FoundDrainedObject extends DrainedObject {
  readonly resource: Resource<KubernetesObject>;
  readonly uid: string | undefined;
  /** The client of the object's logical cluster. */
  readonly client: Client;
}

/** A SyncTarget, with the data to find its objects in tenant workspaces, too. */
export interface DrainedTarget {
  readonly cluster: string;
  readonly name: string;
  readonly uid: string;
}

interface Workload extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export async function drainedObjectsOf(
  client: Client,
  target: DrainedTarget,
  signal: AbortSignal,
): Promise<readonly FoundDrainedObject[]> {
  const found = new Map<string, FoundDrainedObject>();
  const others = client.withBasePath(agentViewPath(target)).inCluster("*");
  for (const resource of await syncedResourcesOf(client, target.name, signal)) {
    const ways = [
      { listed: client, name: target.name, absences: ["NotFound"] as const },
      // A SyncTarget that is not shared has no virtual workspace of its tenants.
      {
        listed: others,
        name: sharedTargetName(target),
        absences: ["NotFound", "Forbidden"] as const,
      },
    ];
    for (const { listed, name: targetName, absences } of ways) {
      for (const labelSelector of assignments(targetName)) {
        const request = { labelSelector, absences, signal };
        for (const object of await objectsOf(listed, resource, request)) {
          const { namespace = "", name, annotations } = object.metadata;
          const cluster = stringMember(annotations, clusterAnnotation) ?? target.cluster;
          const key = `${cluster}/${resource.group}/${resource.resource}/${namespace}/${name}`;
          if (found.has(key)) continue;
          const owner = client.inCluster(cluster);
          found.set(key, await occupant(owner, resource, object, targetName, signal));
        }
      }
    }
  }
  return [...found.values()];
}

function assignments(target: string): readonly string[] {
  return [
    ...clusterLabels.map((label) => `${label}=${target}`),
    `${stateLabel(target)}=${stateSync}`,
  ];
}

async function syncedResourcesOf(
  client: Client,
  target: string,
  signal: AbortSignal,
): Promise<readonly Resource<KubernetesObject>[]> {
  const resources: Resource<KubernetesObject>[] = [];
  for await (const { items } of client.resource(apiResourceImports).pages({ signal })) {
    for (const { spec } of items) {
      if (spec.location !== target) continue;
      const { group = "", version } = spec.groupVersion;
      resources.push(
        defineResource<KubernetesObject>({
          group: group === "core" ? "" : group,
          version,
          resource: spec.plural,
          kind: spec.kind,
          namespaced: spec.scope === "Namespaced",
        }),
      );
    }
  }
  return resources;
}

async function objectsOf(
  client: Client,
  resource: Resource<KubernetesObject>,
  request: {
    readonly labelSelector: string;
    /** The errors that mean an empty list: an API that is not served has no objects. */
    readonly absences: readonly StatusReason[];
    readonly signal: AbortSignal;
  },
): Promise<readonly Workload[]> {
  const { labelSelector, absences, signal } = request;
  const objects: Workload[] = [];
  try {
    for await (const { items } of client.resource(resource).pages({ labelSelector, signal }))
      objects.push(...(items as readonly Workload[]));
  } catch (error) {
    if (!absences.some((reason) => isStatusError(error, reason))) throw error;
  }
  return objects;
}

async function occupant(
  client: Client,
  resource: Resource<KubernetesObject>,
  object: Workload,
  target: string,
  signal: AbortSignal,
): Promise<FoundDrainedObject> {
  const { namespace, name, uid, annotations } = object.metadata;
  return {
    kind: resource.kind,
    namespace,
    name,
    uid,
    resource,
    client,
    replicas: object.spec?.replicas ?? 1,
    isEvicting: stringMember(annotations, evictAnnotation) === "true",
    block: await blockOf(client, resource, object, target, signal),
  };
}

/** The reason why a workload does not leave without an action of a user. */
async function blockOf(
  client: Client,
  resource: Resource<KubernetesObject>,
  { metadata }: Workload,
  target: string,
  signal: AbortSignal,
): Promise<DrainedObject["block"]> {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  // A dependency leaves together with its dependents.
  if (propagatedTargets(metadata.annotations).has(target)) return undefined;
  const isPlacedClaim =
    resource.kind === "PersistentVolumeClaim" &&
    stringMember(metadata.annotations, volumeGateAnnotation(target)) !== undefined;
  if (isPlacedClaim) return claimBlockOf(metadata.annotations, target);
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const isPart = ownedByLabels.some((label) => stringMember(metadata.labels, label) !== undefined);
  if (owner === undefined || !isPart) {
    const label = clusterLabels.find((one) => stringMember(metadata.labels, one) === target);
    const message = `it is assigned to ${target} by the label ${label ?? stateLabel(target)}: label it with another cluster, or delete it`;
    return { reason: "PinnedToCluster", message };
  }
  const workloads = [resource, clusterDaemonSets].find(({ kind }) => kind === owner.kind);
  if (workloads === undefined) return undefined;
  const { namespace = "" } = metadata;
  const workload = (await client
    .resource<KubernetesObject>(workloads)
    .find({ namespace, name: owner.name }, { signal })) as Workload | undefined;
  return workload === undefined ? undefined : workloadBlock(workload, target);
}

/**
 * The block that the workload's status reports. A workload without conditions, such as a CronJob,
 * is blocked when its placement history contains no other cluster.
 */
export function workloadBlock(workload: Workload, target: string): DrainedObject["block"] {
  const placed = findCondition(workload.status?.conditions, "Scheduled");
  if (placed === undefined) return noFeasibleClusterBlock(workload, target);
  if (placed.status === "True" || isMoving.has(placed.reason ?? "")) return undefined;
  const { reason = "Unknown", message = "" } = placed;
  return { reason: isUnschedulable.has(reason) ? "NoFeasibleCluster" : reason, message };
}

function noFeasibleClusterBlock({ metadata }: Workload, target: string): DrainedObject["block"] {
  const [newest] = readPlacementHistory(metadata.annotations);
  if (newest === undefined || Object.keys(newest.assigned).some((cluster) => cluster !== target))
    return undefined;
  const why = newest.reasons.length === 0 ? "its migrations are paused" : newest.reasons.join(", ");
  return { reason: "NoFeasibleCluster", message: `no other cluster is available: ${why}` };
}

/**
 * A claim leaves with the workload that uses it, unless it must not move, or no workload uses it.
 */
function claimBlockOf(annotations: StringMap | undefined, target: string): DrainedObject["block"] {
  const text = stringMember(annotations, volumesAnnotation);
  const places = Object.entries(jsonObjectOf(text, annotationCharactersMax) ?? {});
  const others = places.filter(([cluster]) => cluster !== target);
  const refusal = others
    .map(([, place]) => place as { state?: string; reason?: string; message?: string })
    .find(({ state }) => state === "refused");
  if (refusal !== undefined)
    return { reason: refusal.reason ?? "VolumeMigrationRejected", message: refusal.message ?? "" };
  if (others.length > 0) return undefined;
  const message =
    "its volume is in this cluster, and no workload that uses it moves; delete the claim if it is not needed";
  return { reason: "VolumeNotMovable", message };
}

const annotationCharactersMax = 16_384;

/** Reasons that time alone resolves. */
const isMoving: ReadonlySet<string> = new Set([
  "Migrating",
  "SurgeLimited",
  "WaitingForVolumes",
  "WaitingForTermination",
  "AllReplicasScheduled",
]);

const isUnschedulable: ReadonlySet<string> = new Set(["Unschedulable", "PartiallyScheduled"]);
