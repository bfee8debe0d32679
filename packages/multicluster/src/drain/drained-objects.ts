/**
 * The objects that are assigned to a cluster, of all APIs that it serves, in its own workspace and
 * in all tenant workspaces; read from the server and not from a cache, because an empty list may
 * lead to the deletion of the SyncTarget.
 */
import { formatGroupResource, isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  clusterAnnotation,
  findCondition,
  type KubernetesObject,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import { agentViewPath } from "../agent/index.ts";
import {
  clusterDaemonSets,
  clusterLabels,
  evictAnnotation,
  isSyncedNative,
  jsonObjectOf,
  ownedByLabels,
  propagatedTargets,
  resourcesOfTarget,
  type SyncTarget,
  serviceImports,
  sharedTargetName,
  softFinalizersAnnotation,
  softFinalizersOf,
  stateLabel,
  stateSync,
  trafficFinalizerPrefix,
  volumeGateAnnotation,
  volumesAnnotation,
  type WorkloadPlacementStatus,
  workloadPlacementName,
  workloadPlacements,
} from "../api/index.ts";
import {
  claimTemplatesOf,
  ordinalClaimName,
  podTemplateOf,
  type WorkloadCondition,
} from "../coordination/index.ts";
import type { DrainedObject, PendingReason } from "./drain-step.ts";
import { nextStepFor } from "./next-step.ts";

export interface FoundDrainedObject extends DrainedObject {
  readonly resource: Resource<KubernetesObject>;
  readonly object: KubernetesObject;
  /** The client of the object's logical cluster. */
  readonly client: Client;
}

interface Workload extends KubernetesObject {
  readonly spec?: { readonly replicas?: number; readonly ordinals?: { readonly start?: number } };
  readonly status?: { readonly conditions?: readonly WorkloadCondition[] };
  /** The record of its placement, for kinds without conditions. */
  readonly record?: WorkloadPlacementStatus;
}

export async function drainedObjectsOf(
  client: Client,
  syncTarget: SyncTarget,
  cluster: string,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<readonly FoundDrainedObject[]> {
  const assigned = await assignedObjectsOf(client, syncTarget, cluster, signal);
  const workloads = await workloadsOf(client, assigned, signal);
  const claims = new Map(
    assigned
      .filter(isPlacedClaim)
      .map((one) => [idOf(one, one.object.metadata.name), claimPendingOf(one)]),
  );
  const used = new Set<string>(
    [...claims].filter(([, { isMoving }]) => isMoving).map(([id]) => id),
  );
  const found = assigned.map((one): FoundDrainedObject => {
    const { cluster, resource, object } = one;
    const { namespace, name, annotations } = object.metadata;
    const workload = workloadNameOf(one);
    const ownClaims = claimNamesOf(one, workload).map((claim) => idOf(one, claim));
    for (const claim of ownClaims) used.add(claim);
    const byClaim = ownClaims.map((claim) => claims.get(claim)).find((it) => it?.isRefused);
    const placed = workloads.get(
      `${cluster}/${workloadKindOf(one)?.kind}/${namespace}/${workload}`,
    );
    return {
      kind: resource.kind,
      namespace,
      name: workload ?? name,
      resource,
      object,
      client: client.inCluster(cluster),
      replicas: object.spec?.replicas ?? 1,
      isEvicting: stringMember(annotations, evictAnnotation) === "true",
      isDependency: isDerived(one),
      pending: byClaim?.pending ?? pendingOf(one, placed, nowMs),
    };
  });
  // A claim that a workload here uses leaves with that workload, which reports the claim's refusal;
  // a claim that migrates leaves by itself.
  return found.map((one, index) => {
    const { cluster = "" } = assigned[index] ?? {};
    const id = idOf({ cluster, object: one.object }, one.object.metadata.name);
    const claim = one.kind === "PersistentVolumeClaim" ? claims.get(id) : undefined;
    if (claim === undefined) return one;
    return used.has(id)
      ? { ...one, isDependency: true, pending: undefined }
      : { ...one, pending: claim.pending };
  });
}

/** An object that is assigned to the target, by the target's name in the object's workspace. */
interface AssignedObject {
  readonly cluster: string;
  readonly target: string;
  readonly resource: Resource<KubernetesObject>;
  readonly object: Workload;
}

async function assignedObjectsOf(
  client: Client,
  syncTarget: SyncTarget,
  home: string,
  signal: AbortSignal,
): Promise<readonly AssignedObject[]> {
  const { name: ownName, uid = "" } = syncTarget.metadata;
  const target = { cluster: home, name: ownName, uid };
  const found = new Map<string, AssignedObject>();
  const others = client.withBasePath(agentViewPath(target)).inCluster("*");
  let ways = [
    { listed: client, name: target.name, isShared: false },
    { listed: others, name: sharedTargetName(target), isShared: true },
  ];
  for (const resource of await resourcesOfTarget(client, syncTarget, signal)) {
    // Dependencies leave together with their dependents.
    if (isNative(resource)) continue;
    for (const { listed, name: targetName, isShared } of ways) {
      // Most kinds have no objects at all, and one request shows it for all labels.
      if (!isShared && !(await hasAny(listed, resource, signal))) continue;
      for (const labelSelector of assignments(targetName)) {
        const objects = await objectsOf(listed, resource, { labelSelector, signal });
        if (objects === "Forbidden") {
          // A SyncTarget that is not shared has no virtual workspace of its tenants.
          if (!isShared) throw new Error(`may not list ${resource.resource} of ${target.name}`);
          ways = ways.filter((way) => !way.isShared);
          break;
        }
        for (const object of objects) {
          const { namespace = "", name, annotations } = object.metadata;
          const cluster = stringMember(annotations, clusterAnnotation) ?? home;
          const key = `${cluster}/${resource.group}/${resource.resource}/${namespace}/${name}`;
          if (!found.has(key)) found.set(key, { cluster, target: targetName, resource, object });
        }
      }
    }
  }
  return [...found.values()];
}

function isNative(resource: Resource): boolean {
  return isSyncedNative(formatGroupResource(resource)) || resource.group === serviceImports.group;
}

function assignments(target: string): readonly string[] {
  return [
    ...clusterLabels.map((label) => `${label}=${target}`),
    `${stateLabel(target)}=${stateSync}`,
  ];
}

async function hasAny(
  client: Client,
  resource: Resource<KubernetesObject>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await client.resource(resource).list({ limit: 1, signal })).items.length > 0;
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
    return false;
  }
}

async function objectsOf(
  client: Client,
  resource: Resource<KubernetesObject>,
  request: { readonly labelSelector: string; readonly signal: AbortSignal },
): Promise<readonly Workload[] | "Forbidden"> {
  const objects: Workload[] = [];
  try {
    for await (const { items } of client.resource(resource).pages(request))
      objects.push(...(items as readonly Workload[]));
  } catch (error) {
    if (isStatusError(error, "Forbidden")) return "Forbidden";
    // An API that is not served has no objects.
    if (!isStatusError(error, "NotFound")) throw error;
  }
  return objects;
}

/** The name of the workload whose per-cluster object it is. */
function workloadNameOf({ object: { metadata } }: AssignedObject): string | undefined {
  const isCopy = ownedByLabels.some((label) => stringMember(metadata.labels, label) !== undefined);
  return isCopy ? controllerOf(metadata)?.name : undefined;
}

/** The kind of that workload; undefined for kinds that only have a controller. */
function workloadKindOf({
  resource,
  object,
}: AssignedObject): Resource<KubernetesObject> | undefined {
  const kind = controllerOf(object.metadata)?.kind;
  return [resource, clusterDaemonSets as Resource<KubernetesObject>].find(
    (one) => one.kind === kind,
  );
}

function controllerOf({ ownerReferences }: KubernetesObject["metadata"]) {
  return ownerReferences?.find(({ controller }) => controller === true);
}

/**
 * The workloads of the per-cluster objects, by cluster, kind, namespace and name: a few are read by
 * name, many with one list for each kind and logical cluster.
 */
async function workloadsOf(
  client: Client,
  assigned: readonly AssignedObject[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Workload>> {
  const groups = new Map<string, AssignedObject[]>();
  for (const one of assigned) {
    const kind = workloadNameOf(one) === undefined ? undefined : workloadKindOf(one)?.kind;
    if (kind === undefined) continue;
    const group = `${one.cluster}/${kind}`;
    const known = groups.get(group);
    if (known === undefined) groups.set(group, [one]);
    else known.push(one);
  }
  const workloads = new Map<string, Workload>();
  for (const [group, members] of groups) {
    const [first] = members;
    const kind = first && workloadKindOf(first);
    if (first === undefined || kind === undefined) continue;
    const resource = client.inCluster(first.cluster).resource(kind);
    const add = ({ metadata, ...rest }: KubernetesObject) =>
      workloads.set(`${group}/${metadata.namespace}/${metadata.name}`, { metadata, ...rest });
    if (members.length > readByNameMax) {
      const labelSelector = ownedByLabels.map((label) => `!${label}`).join(",");
      for await (const { items } of resource.pages({ labelSelector, signal })) items.forEach(add);
      continue;
    }
    for (const member of members) {
      const { namespace = "" } = member.object.metadata;
      const name = workloadNameOf(member) ?? "";
      const workload = await resource.find({ namespace, name }, { signal });
      if (workload !== undefined) add(workload);
    }
  }
  // Kinds without conditions, such as CronJobs, are judged by the record of their placement, as is
  // the progress of those whose conditions have no update times.
  for (const one of assigned) {
    const kind = workloadKindOf(one);
    const name = workloadNameOf(one);
    const { namespace = "" } = one.object.metadata;
    if (kind === undefined || name === undefined) continue;
    const id = `${one.cluster}/${kind.kind}/${namespace}/${name}`;
    const workload = workloads.get(id);
    if (workload === undefined || workload.record !== undefined) continue;
    const scheduled = findCondition(workload.status?.conditions, "Scheduled");
    const isKnown =
      scheduled?.lastUpdateTime !== undefined || !stalling.has(scheduled?.reason ?? "");
    if (scheduled !== undefined && isKnown) continue;
    const placements = client.inCluster(one.cluster).resource(workloadPlacements);
    const key = { namespace, name: workloadPlacementName(kind, name) };
    const record = (await placements.find(key, { signal }))?.status;
    workloads.set(id, { ...workload, ...(record === undefined ? {} : { record }) });
  }
  return workloads;
}

const readByNameMax = 8;

/**
 * Whether another object leads this one out of the cluster: the workload that it belongs to, the
 * Pods that it serves, or the ServiceImport that it is derived from.
 */
function isDerived(one: AssignedObject): boolean {
  const { metadata } = one.object;
  if (propagatedTargets(metadata.annotations).has(one.target)) return true;
  const { ownerReferences = [] } = metadata;
  if (ownerReferences.some(({ apiVersion }) => apiVersion.startsWith(trafficGroup))) return true;
  return one.resource.kind === "Ingress" && workloadNameOf(one) !== undefined;
}

const trafficGroup = "multicluster.x-k8s.io/";

/** What the object waits for, by its labels and by the status of its workload. */
function pendingOf(
  one: AssignedObject,
  placed: Workload | undefined,
  nowMs: number,
): PendingReason | undefined {
  const { metadata } = one.object;
  if (metadata.deletionTimestamp !== undefined || isDerived(one)) return undefined;
  if (workloadNameOf(one) === undefined) {
    const label = clusterLabels.find((key) => stringMember(metadata.labels, key) === one.target);
    const message = `it is assigned to ${one.target} by the label ${label ?? stateLabel(one.target)}: assign it to another cluster, or delete it`;
    return { reason: "PinnedToCluster", message, isBlocked: true };
  }
  const pending =
    placed === undefined ? undefined : pendingReasonOf(placed, one.target, placed.record, nowMs);
  return pending?.reason === "DisruptionBlocked" ? disruptionBlockedBy(one, pending) : pending;
}

/**
 * The control plane's own soft finalizer goes when the other clusters have stopped sending traffic.
 */
function disruptionBlockedBy(one: AssignedObject, pending: PendingReason): PendingReason {
  const { annotations, name } = one.object.metadata;
  const holders = softFinalizersOf(annotations, one.target);
  const foreign = holders.filter((holder) => !holder.startsWith(trafficFinalizerPrefix));
  if (foreign.length === 0) {
    const message = "its replicas are replaced, and stop when no other cluster sends them traffic";
    return { reason: "WaitingForTraffic", message, isBlocked: false };
  }
  const message = `its replicas are replaced, and kept by ${foreign.join(", ")} in the annotation ${softFinalizersAnnotation(one.target)} of ${name}`;
  return { ...pending, message };
}

function isPlacedClaim({ resource, object, target }: AssignedObject): boolean {
  return (
    resource.kind === "PersistentVolumeClaim" &&
    stringMember(object.metadata.annotations, volumeGateAnnotation(target)) !== undefined
  );
}

function idOf(
  { cluster, object }: Pick<AssignedObject, "cluster" | "object">,
  claim: string,
): string {
  return `${cluster}/${object.metadata.namespace ?? ""}/${claim}`;
}

/** The claims that the per-cluster object uses: those that it names, and those of its ordinals. */
function claimNamesOf(
  { resource, object }: AssignedObject,
  workload: string | undefined,
): readonly string[] {
  const template = podTemplateOf(resource as never, object as never);
  const { volumes = [] } = (template?.["spec"] ?? {}) as { readonly volumes?: readonly unknown[] };
  const named = (Array.isArray(volumes) ? volumes : []).flatMap((volume) => {
    const name = (volume as { persistentVolumeClaim?: { claimName?: unknown } } | null)
      ?.persistentVolumeClaim?.claimName;
    return typeof name === "string" ? [name] : [];
  });
  if (resource.kind !== "StatefulSet" || workload === undefined) return named;
  const { replicas = 1, ordinals } = object.spec ?? {};
  const first = ordinals?.start ?? 0;
  const numbered = claimTemplatesOf(object as never).flatMap(({ name }) =>
    Array.from({ length: Math.min(replicas, ordinalsMax) }, (_, index) =>
      ordinalClaimName(name, workload, first + index),
    ),
  );
  return [...named, ...numbered];
}

/** Beyond it, a refusal of a claim is not attributed to the StatefulSet. */
const ordinalsMax = 1000;

/**
 * What the workload's status reports. A workload without conditions, such as a CronJob, is blocked
 * when its placement history contains no other cluster.
 */
export function pendingReasonOf(
  workload: Workload,
  target: string,
  record: WorkloadPlacementStatus | undefined,
  nowMs: number,
): PendingReason | undefined {
  const placed = findCondition(workload.status?.conditions, "Scheduled");
  if (placed === undefined) return noFeasibleCluster(record, target);
  if (placed.status === "True") return undefined;
  const { reason = "Unknown", message = "", lastUpdateTime } = placed;
  if (resolvedByTime.has(reason)) {
    // The message counts what is available: it changes when the move makes progress.
    const since = lastUpdateTime ?? record?.history?.[0]?.time;
    if (since === undefined || !stalling.has(reason)) return { reason, message, isBlocked: false };
    const stallsAtMs = Date.parse(since) + stalledAfterMs;
    if (nowMs < stallsAtMs) return { reason, message, isBlocked: false, stallsAtMs };
    return { reason, message: `${message}; no progress since ${since}`, isBlocked: true };
  }
  const shown = isUnschedulable.has(reason) ? "NoFeasibleCluster" : reason;
  return { reason: shown, message, isBlocked: true };
}

function noFeasibleCluster(
  record: WorkloadPlacementStatus | undefined,
  target: string,
): PendingReason | undefined {
  const [newest] = record?.history ?? [];
  if (newest === undefined || Object.keys(newest.assigned).some((cluster) => cluster !== target))
    return undefined;
  const why = newest.reasons.length === 0 ? "its migrations are paused" : newest.reasons.join(", ");
  const message = `no other cluster is available: ${why}`;
  return { reason: "NoFeasibleCluster", message, isBlocked: true };
}

interface ClaimPending {
  /** Whether a migration that a workload requested was rejected. */
  readonly isRefused: boolean;
  /** Whether the claim is on its way to another cluster. */
  readonly isMoving: boolean;
  readonly pending: PendingReason | undefined;
}

/**
 * A claim leaves with the workload that uses it, unless it must not move, or no workload uses it.
 */
function claimPendingOf({ object, target }: AssignedObject): ClaimPending {
  const text = stringMember(object.metadata.annotations, volumesAnnotation);
  const places = Object.entries(jsonObjectOf(text, annotationCharactersMax) ?? {});
  const others = places.filter(([cluster]) => cluster !== target);
  const refusal = others
    .map(([, place]) => place as { state?: string; reason?: string; message?: string })
    .find(({ state }) => state === "refused");
  if (refusal !== undefined) {
    const { reason = "VolumeMigrationRejected", message = "" } = refusal;
    const next = nextStepFor(reason, { ...object.metadata, kind: "PersistentVolumeClaim" });
    const pending = { reason, message, isBlocked: true, ...(next && { next }) };
    return { isRefused: true, isMoving: false, pending };
  }
  if (others.length > 0) return { isRefused: false, isMoving: true, pending: undefined };
  const { namespace, name } = object.metadata;
  const pending = {
    reason: "VolumeNotMovable",
    message: "its volume is in this cluster, and no workload that uses it moves",
    next: `kubectl delete pvc ${name} -n ${namespace}, if the claim is not needed`,
    isBlocked: true,
  };
  return { isRefused: false, isMoving: false, pending };
}

const annotationCharactersMax = 16_384;

/** Reasons that time alone resolves. */
const resolvedByTime: ReadonlySet<string> = new Set([
  "Migrating",
  "SurgeLimited",
  "WaitingForVolumes",
  "WaitingForTermination",
  "AllReplicasScheduled",
]);

/** Of these, reasons that a broken workload never leaves. */
const stalling: ReadonlySet<string> = new Set(["Migrating", "SurgeLimited"]);
/** Most Pods are ready earlier. */
const stalledAfterMs = 60_000;

const isUnschedulable: ReadonlySet<string> = new Set(["Unschedulable", "PartiallyScheduled"]);
