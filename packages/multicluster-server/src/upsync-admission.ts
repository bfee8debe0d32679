/**
 * Admission of upsynced objects of all kinds: only the syncer of a physical cluster may write the
 * copies of its objects.
 *
 * The server identifies upsynced objects by their label: the label is present from the first to the
 * last write, and only on objects that a syncer has created. Because of it, objects that a cluster
 * has written are never scheduled, followed by Secrets, or given access to the control plane. Users
 * may delete upsynced objects, which restarts a Pod, and set the conditions of its readiness gates.
 */
import type { AdmissionPlugin, AdmissionRequest } from "@kcp-ts/apiserver";
import { isSystemMaster } from "@kcp-ts/apiserver/request/user";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import {
  assignedTargets,
  clusterLabels,
  registrationFieldManager,
  type SyncTargetReference,
  serviceNameOf,
  stateLabel,
  stateLabelPrefix,
  stateUpsync,
  syncerFieldManager,
} from "@kcp-ts/multicluster";
import type { Client, StringMap } from "@kcp-ts/sdk";
import { services } from "@kcp-ts/sdk/kinds";
import { syncerScopeOf } from "@kcp-ts/tenancy";
import { isChangeOfGates } from "./gate-conditions.ts";
import { namespaceNotSynced, type SyncedNamespaces } from "./synced-namespaces.ts";

export interface UpsyncAdmissionOptions {
  /** Resolves the name of a SyncTarget in a logical cluster that it is not in. */
  readonly sharedPlace: (
    cluster: ClusterName,
    name: string,
  ) => Promise<SyncTargetReference | undefined>;
  readonly syncedNamespaces: Pick<SyncedNamespaces, "has">;
  /** A client that may read Services everywhere. */
  readonly client: () => Client;
}

export function upsyncAdmission(options: UpsyncAdmissionOptions): AdmissionPlugin {
  return {
    name: "CopiesOfClusters",
    validate(request, object, old) {
      const { operation, subresource } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
      // Ephemeral containers are added to the Pod in the cluster, and the copy follows.
      if (subresource === "ephemeralcontainers") return undefined;
      const now = copiedFrom(object);
      const before = old === undefined ? none : copiedFrom(old);
      if (now.length === 0 && before.length === 0) return undefined;
      if (old !== undefined) checkSameCopy(request, now, before);
      if (old !== undefined && isPod(request) && isChangeOfGates(request, object, old))
        return undefined;
      checkUnassigned(request, object);
      return checkCopy(request, object, { now, before }, options);
    },
  };
}

async function checkCopy(
  request: AdmissionRequest,
  object: JsonObject,
  copied: UpsyncedWrite,
  options: UpsyncAdmissionOptions,
): Promise<void> {
  // Other clients may annotate a copy, except Pods: the annotation changes nothing in the cluster.
  if (request.operation === "CREATE" || isPod(request)) await checkWriter(request, copied, options);
  if (request.operation === "CREATE") await checkSyncedNamespace(request, copied.now, options);
  await checkService(request, object, copied.now, options);
}

/**
 * A cluster writes only to namespaces with objects that are assigned to it: no Pod of other
 * namespaces can run there.
 */
async function checkSyncedNamespace(
  { cluster, namespace, name, group, resource }: AdmissionRequest,
  targets: readonly string[],
  { syncedNamespaces }: UpsyncAdmissionOptions,
): Promise<void> {
  // Cluster-scoped objects of the cluster are synced up to its owner alone.
  if (namespace === "") return;
  for (const target of targets) {
    if (await syncedNamespaces.has({ cluster, namespace }, target)) continue;
    throw statusError.forbidden({ group, resource }, name, namespaceNotSynced(namespace, target));
  }
}

/** A cluster provides endpoints of Services that are assigned to it, and of no others. */
async function checkService(
  request: AdmissionRequest,
  object: JsonObject,
  targets: readonly string[],
  { client }: UpsyncAdmissionOptions,
): Promise<void> {
  const { cluster, namespace, name, group, resource } = request;
  const labels = labelsOf(object) as StringMap;
  const service = serviceNameOf(request, { name, labels });
  const isLeaving =
    isJsonObject(object["metadata"] ?? null) &&
    "deletionTimestamp" in (object["metadata"] as JsonObject);
  if (service === undefined || isLeaving) return;
  const found = await client()
    .inCluster(cluster)
    .resource(services)
    .find({ namespace, name: service });
  const assigned = assignedTargets(found?.metadata.labels);
  const unassigned = targets.find((target) => !assigned.has(target));
  if (unassigned === undefined) return;
  throw statusError.forbidden(
    { group, resource },
    name,
    `Service ${service} is not assigned to the cluster ${unassigned}, which can therefore have no endpoints of it`,
  );
}

interface UpsyncedWrite {
  readonly now: readonly string[];
  readonly before: readonly string[];
}

/**
 * The source of an object is set at its creation: a later change could make an object of a cluster
 * look like an object of a user.
 */
function checkSameCopy(
  { group, resource, name }: AdmissionRequest,
  now: readonly string[],
  before: readonly string[],
): void {
  for (const target of new Set([...now, ...before])) {
    if (now.includes(target) && before.includes(target)) continue;
    throw statusError.forbidden(
      { group, resource },
      name,
      before.includes(target)
        ? `the label ${stateLabel(target)}: ${stateUpsync} stays on a copy of what runs in ${target} as long as the copy is there: delete it instead`
        : `the label ${stateLabel(target)}: ${stateUpsync} says that it was copied up from ${target}, which is said when an object is created`,
    );
  }
}

/** A copy of an object in one cluster must not be synced to another. */
function checkUnassigned({ group, resource, name }: AdmissionRequest, object: JsonObject): void {
  const labels = labelsOf(object);
  const assigning = Object.keys(labels).find(
    (label) =>
      labels[label] !== "" &&
      (clusterLabels.includes(label) ||
        (label.startsWith(stateLabelPrefix) && labels[label] !== stateUpsync)),
  );
  if (assigning === undefined) return;
  throw statusError.forbidden(
    { group, resource },
    name,
    `it is a copy of what runs in a cluster, and the label ${assigning} would have it run in another`,
  );
}

function isPod({ group, resource }: AdmissionRequest): boolean {
  return resource === "pods" && group === "";
}

async function checkWriter(
  request: AdmissionRequest,
  { now, before }: UpsyncedWrite,
  options: UpsyncAdmissionOptions,
): Promise<void> {
  for (const target of new Set([...before, ...now])) {
    if (await isSyncer(request, target, options)) continue;
    const { group, resource, name } = request;
    throw statusError.forbidden(
      { group, resource },
      name,
      before.includes(target)
        ? `it is a copy of a ${request.kind} in ${target} and cannot be changed here: change what the ${request.kind} was made from, or delete it to have it restarted`
        : `the label ${stateLabel(target)}: ${stateUpsync} says that it runs in ${target}, which only the syncer of ${target} can say`,
    );
  }
}

/** The SyncTargets that an object is a copy from, by its labels. */
function copiedFrom(object: JsonObject): readonly string[] {
  const targets: string[] = [];
  const { labels = {} } = (object["metadata"] ?? {}) as { labels?: StringMap };
  for (const label of Object.keys(labels)) {
    if (labels[label] !== stateUpsync || !label.startsWith(stateLabelPrefix)) continue;
    targets.push(label.slice(stateLabelPrefix.length));
  }
  return targets;
}

const none: readonly string[] = [];

function labelsOf({ metadata }: JsonObject): JsonObject {
  const labels = metadata !== undefined && isJsonObject(metadata) ? metadata["labels"] : undefined;
  return labels !== undefined && isJsonObject(labels) ? labels : {};
}

/** The syncer; and the controller that releases its objects when there is no syncer any more. */
const writers: ReadonlySet<JsonValue | undefined> = new Set([
  syncerFieldManager,
  registrationFieldManager,
]);

/**
 * Whether the connection proves the syncer of the cluster: the view of its SyncTarget, which opens
 * to its syncer alone; or the server's own control loops. An operator with kubectl is no syncer.
 */
async function isSyncer(
  { user, cluster, options, service }: AdmissionRequest,
  name: string,
  { sharedPlace }: UpsyncAdmissionOptions,
): Promise<boolean> {
  const view = syncerScopeOf(service);
  if (view === undefined) return isSystemMaster(user) && writers.has(options["fieldManager"]);
  // The owner's workspace decides who may sync to its clusters, not the workspaces that use them.
  const place = (await sharedPlace(cluster, name)) ?? { cluster, name };
  return place.cluster === view.cluster && place.name === view.target;
}
