/** What is assigned to a cluster, of all APIs that it lends, in its own workspace and in all that use it; read live, because a SyncTarget may be deleted for there being nothing. */
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
  /** Of the logical cluster that it is in. */
  readonly client: Client;
}

/** A SyncTarget, for those who look for it in other logical clusters, too. */
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
      // Where nobody else may use the SyncTarget, there is no view of others.
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
    /** What says that there is nothing: an API that is not served has no objects. */
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
    isMarked: stringMember(annotations, evictAnnotation) === "true",
    block: await blockOf(client, resource, object, target, signal),
  };
}

/** What the whole says of its moves that is no move: then somebody has to do something. */
async function blockOf(
  client: Client,
  resource: Resource<KubernetesObject>,
  { metadata }: Workload,
  target: string,
  signal: AbortSignal,
): Promise<DrainedObject["block"]> {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  // What follows others leaves with them.
  if (propagatedTargets(metadata.annotations).has(target)) return undefined;
  const isPlacedClaim =
    resource.kind === "PersistentVolumeClaim" &&
    stringMember(metadata.annotations, volumeGateAnnotation(target)) !== undefined;
  if (isPlacedClaim) return claimBlockOf(metadata.annotations, target);
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const isPart = ownedByLabels.some((label) => stringMember(metadata.labels, label) !== undefined);
  if (owner === undefined || !isPart) {
    const label = clusterLabels.find((one) => stringMember(metadata.labels, one) === target);
    const message = `it is assigned to ${target} by hand: label it with another cluster, or delete it (label ${label ?? stateLabel(target)})`;
    return { reason: "AssignedByHand", message };
  }
  const wholes = [resource, clusterDaemonSets].find(({ kind }) => kind === owner.kind);
  if (wholes === undefined) return undefined;
  const { namespace = "" } = metadata;
  const whole = (await client
    .resource<KubernetesObject>(wholes)
    .find({ namespace, name: owner.name }, { signal })) as Workload | undefined;
  return whole === undefined ? undefined : workloadBlock(whole, target);
}

/** What a whole says of itself. One that has no conditions, as a CronJob, says it by where it is to be: nowhere else. */
export function workloadBlock(whole: Workload, target: string): DrainedObject["block"] {
  const placed = findCondition(whole.status?.conditions, "Placed");
  if (placed === undefined) return noFeasibleClusterBlock(whole, target);
  if (placed.status === "True" || isMoving.has(placed.reason ?? "")) return undefined;
  return { reason: placed.reason ?? "Unknown", message: placed.message ?? "" };
}

function noFeasibleClusterBlock({ metadata }: Workload, target: string): DrainedObject["block"] {
  const [newest] = readPlacementHistory(metadata.annotations);
  if (newest === undefined || Object.keys(newest.split).some((cluster) => cluster !== target))
    return undefined;
  const why = newest.because.length === 0 ? "its moves are paused" : newest.because.join(", ");
  return { reason: "NowhereToGo", message: `it has no other cluster to go to: ${why}` };
}

/** A claim leaves with what uses it, unless it may not, or nothing does. */
function claimBlockOf(annotations: StringMap | undefined, target: string): DrainedObject["block"] {
  const text = stringMember(annotations, volumesAnnotation);
  const places = Object.entries(jsonObjectOf(text, annotationCharactersMax) ?? {});
  const others = places.filter(([cluster]) => cluster !== target);
  const refusal = others
    .map(([, place]) => place as { state?: string; reason?: string; message?: string })
    .find(({ state }) => state === "refused");
  if (refusal !== undefined)
    return { reason: refusal.reason ?? "Refused", message: refusal.message ?? "" };
  if (others.length > 0) return undefined;
  const message =
    "its data is here, and no workload that uses it goes elsewhere; delete the claim if it is not needed";
  return { reason: "DataStays", message };
}

const annotationCharactersMax = 16_384;

const isMoving: ReadonlySet<string> = new Set(["Moving", "Waiting", "Split"]);
